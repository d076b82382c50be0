"""Makes the change sets of what holds: merge, rewrite, supersede or drop."""

from collections.abc import Iterable, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace

from agentcore.domain.evidence import Evidence, EvidenceVerdict, SourceKind, SourceRef, exact_words, weakest
from agentcore.domain.memory import Level, MemoryEntry, Status
from agentcore.domain.records import Record
from agentcore.domain.subject_time import PartialDate, Precision, compatible
from agentcore.domain.temporal import absorb, merged_fields
from agentcore.domain.text import clean_tags, fold_key, normalise
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.guards.wording import sentences_of
from dream.passes.exchange_state import Settled
from dream.passes.memory_consolidation.operations import ConsolidationInput

MERGE = "merge"
REWRITE = "rewrite"
SUPERSEDE = "supersede"
DROP = "drop"
_MOST_NEW_TAGS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class GivesWay:
    """An entry that another text takes the place of.

    Args:
        old: The entry.
        to: What takes its place: an entry that stays, or the sources of a text that is saved.
        reason: Why, in the model's words; "" if they may not be kept.
        saving: The number of the item that saves that text, from 1; None if *to* stays.
    """

    old: MemoryEntry
    to: tuple[MemoryEntry, ...]
    reason: str = ""
    saving: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeDraft:
    """A text that may be taken, and what it is made of.

    Args:
        number: The number of its item, from 1.
        content: The text, clean.
        category: Where it goes, clean.
        tags: As the model gave them.
        importance: As the model gave it, if it did.
        sources: Entries that it is made of.
        gives_way: What it takes the place of.
    """

    number: int
    content: str
    category: str
    tags: tuple[str, ...]
    importance: float | None
    sources: tuple[MemoryEntry, ...]
    gives_way: tuple[GivesWay, ...] = ()

    @property
    def used(self) -> tuple[MemoryEntry, ...]:
        """All entries that it touches."""
        return (*self.sources, *(one.old for one in self.gives_way))


@dataclass(frozen=True, slots=True, kw_only=True)
class DropDraft:
    """An entry that may go, with nothing in its place.

    Args:
        entry: The entry.
        reason: Why, in the model's words; "" if they may not be kept.
    """

    entry: MemoryEntry
    reason: str = ""


def rooted(entry: MemoryEntry) -> MemoryEntry:
    """Return an entry with the sentences that it rests on: its own, where it has no others.

    What a person or an agent stored is its own evidence. What was derived before evidence was kept is unverified.
    """
    if entry.evidence:
        return entry
    verdict = EvidenceVerdict.UNVERIFIED if entry.sources else EvidenceVerdict.PROVEN
    own = tuple(
        Evidence(
            source=SourceRef(SourceKind.ENTRY, entry.id),
            said_at=entry.created_at,
            sentence=exact_words(sentence),
            verdict=verdict,
            verified_by="" if entry.sources else "host",
        )
        for sentence in sentences_of(entry.content)
    )
    return replace(entry, evidence=own)


def _stamped(evidence: Iterable[Evidence], settled: Settled[MergeDraft]) -> tuple[Evidence, ...]:
    """Return evidence with the verdict of a text that was made from it: never a stronger one than it had."""
    return tuple(
        one
        if weakest((one.verdict, settled.verdict)) is one.verdict
        else replace(
            one,
            verdict=settled.verdict,
            written_by=settled.written_by,
            verified_by=settled.verified_by,
            round=settled.round,
        )
        for one in evidence
    )


def merge_new(settled: Settled[MergeDraft], consolidation_input: ConsolidationInput) -> ChangeSet:
    """Write the text as a new entry and retire what it was made of.

    What gives way may show through in the text, so it counts among the sources, and for trust and safety marks; what
    was observed of it counts for nothing.
    """
    draft = settled.value
    fields, touched = merged_fields(list(map(rooted, draft.sources))), merged_fields(draft.used)
    merged = MemoryEntry(
        id=consolidation_input.new_id(),
        scope=draft.sources[0].scope,
        content=draft.content,
        category=draft.category,
        tags=_tags(draft, fields.tags),
        base=_base(draft, consolidation_input),
        created_at=fields.created_at,
        recorded_at=consolidation_input.as_of,
        last_seen_at=fields.last_seen_at,
        own_count=0,
        absorbed=fields.absorbed,
        subject_time=fields.subject_time,
        metadata=touched.metadata,
        level=Level.DERIVED,
        sources=touched.sources,
        evidence=_stamped(fields.evidence, settled),
        trust=touched.trust,
        pinned=fields.pinned,
    )
    made = Change[MemoryEntry](before=None, after=merged, reason=f"merged from {_names(draft.sources)}")
    return _set(MERGE, made, draft, draft.used, consolidation_input)


def merge_into(
    survivor: MemoryEntry, settled: Settled[MergeDraft], consolidation_input: ConsolidationInput
) -> ChangeSet | None:
    """Let an entry that says just this take over the others, as a fold does; None if that changes nothing."""
    draft = settled.value
    others = tuple(source for source in draft.sources if source.id != survivor.id)
    told = [replace(one, evidence=_stamped(rooted(one).evidence, settled)) for one in others]
    after = absorb(survivor, told)
    if survivor in draft.sources and draft.category != survivor.category:
        after = replace(after, category=draft.category, updated_at=consolidation_input.as_of)
    rest = replace(draft, sources=others)
    if after == survivor:
        return _set(MERGE, None, rest, (survivor, *rest.used), consolidation_input) if rest.used else None
    reason = f"took over {_names(others)}" if others else "filed better"
    kept = Change[MemoryEntry](before=survivor, after=after, reason=reason)
    return _set(MERGE if rest.used else REWRITE, kept, rest, (survivor, *rest.used), consolidation_input)


def rewrite(settled: Settled[MergeDraft], consolidation_input: ConsolidationInput) -> ChangeSet | None:
    """Write the text over the one entry it was made of; None if that changes nothing."""
    draft = settled.value
    (entry,) = draft.sources
    is_reworded = draft.content != entry.content
    after = replace(
        entry,
        content=draft.content,
        category=draft.category,
        tags=_tags(draft, entry.tags),
        evidence=_stamped(rooted(entry).evidence, settled) if is_reworded else entry.evidence,
    )
    if after == entry:
        return None
    kept = Change[MemoryEntry](
        before=entry,
        after=replace(after, updated_at=consolidation_input.as_of),
        reason="put in better words or filed better",
    )
    return _set(REWRITE, kept, replace(draft, sources=()), (entry,), consolidation_input)


def saved(
    settled: Settled[MergeDraft], consolidation_input: ConsolidationInput, taken: AbstractSet[str]
) -> ChangeSet | Refusal | None:
    """Return the changes of a text that holds, why there are none, or None if it changes nothing.

    Args:
        settled: The text, and how it was decided.
        consolidation_input: What it is judged by.
        taken: Ids that the answer's other operations use, or have changed.
    """
    draft = settled.value
    text = normalise(draft.content)
    own = [source for source in draft.sources if normalise(source.content) == text]
    twins = [
        twin
        for twin in consolidation_input.twins.get(fold_key(draft.content), ())
        if twin.category.casefold() == draft.category.casefold()
        and all(twin.id != entry.id for entry in draft.used)
        and all(compatible(twin.subject_time, source.subject_time) for source in draft.sources)
    ]
    survivor = own[0] if own else (twins[0] if twins else None)
    if len(draft.used) == 1 and (survivor is None or survivor in own):
        return rewrite(settled, consolidation_input)
    if survivor is None:
        # What gives way may show through in the text: as a source of its own entry it can be forgotten again.
        return merge_new(settled, consolidation_input)
    if survivor.id in taken and survivor not in own:
        return Refusal.of(Refused.HANDLE_REUSED, [survivor.id])
    return merge_into(survivor, settled, consolidation_input)


def superseded(one: GivesWay, consolidation_input: ConsolidationInput) -> ChangeSet:
    """Return the change that has a live entry take the place of an older one."""
    (successor,) = one.to
    change = _superseded(one, successor.id, consolidation_input)
    mark = fingerprint(SUPERSEDE, one.old, successor)
    return ChangeSet(operation=SUPERSEDE, changes=(change,), fingerprints={one.old.id: mark})


def dropped(draft: DropDraft, consolidation_input: ConsolidationInput) -> ChangeSet:
    """Return the change that sets an entry aside for good."""
    entry = draft.entry
    reason = f"of no lasting value: {draft.reason}" if draft.reason else "of no lasting value"
    change = _retired(entry, Status.ARCHIVED, reason, None, consolidation_input)
    return ChangeSet(operation=DROP, changes=(change,), fingerprints={entry.id: fingerprint(DROP, entry)})


def _superseded(one: GivesWay, heir: str, consolidation_input: ConsolidationInput) -> Change[MemoryEntry]:
    reason = f"superseded by {heir}: {one.reason}" if one.reason else f"superseded by {heir}"
    ended = replace(one.old, valid_until=_ended(one, consolidation_input))
    return replace(_retired(ended, Status.SUPERSEDED, reason, heir, consolidation_input), before=one.old)


def _ended(one: GivesWay, consolidation_input: ConsolidationInput) -> PartialDate | None:
    """Return when an old fact stopped to hold: when its successor began to, or was first said."""
    old, new = consolidation_input.evidence([one.old]), consolidation_input.evidence(one.to)
    if new.about is not None and (old.about is None or old.about.begins < new.about.begins):
        return new.about
    said = min(entry.created_at for entry in one.to)
    if said <= one.old.created_at:
        return None
    return PartialDate(said.replace(tzinfo=None), Precision.DAY)


def _retired(
    entry: MemoryEntry, status: Status, reason: str, successor: str | None, consolidation_input: ConsolidationInput
) -> Change[MemoryEntry]:
    """Return the change that sets an entry aside."""
    after = replace(
        entry, status=status, status_reason=reason, successor=successor, status_at=consolidation_input.as_of
    )
    return Change[MemoryEntry](before=entry, after=after, reason=reason)


def _set(
    operation: str,
    kept: Change[MemoryEntry] | None,
    rest: MergeDraft,
    marked: Sequence[MemoryEntry],
    consolidation_input: ConsolidationInput,
) -> ChangeSet:
    """Return the changes that stand or fall together: the text that stays, what was merged, and what gave way."""
    heir = marked[0].id if kept is None else kept.record_id
    merged = [_retired(one, Status.ARCHIVED, f"merged into {heir}", heir, consolidation_input) for one in rest.sources]
    gone = [_superseded(one, heir, consolidation_input) for one in rest.gives_way]
    first = () if kept is None else (kept,)
    changes: tuple[Change[Record], ...] = (*first, *merged, *gone)
    return ChangeSet(
        operation=operation,
        changes=changes,
        fingerprints={entry.id: fingerprint(operation, entry) for entry in marked},
    )


def _base(draft: MergeDraft, consolidation_input: ConsolidationInput) -> float:
    """Return the model's importance within its sources'; what a protection keeps stays above it."""
    bases = [source.base for source in draft.sources]
    least, most = min(bases), max(bases)
    protection = consolidation_input.options.consolidation.protect_importance
    if most >= protection:
        least = max(least, protection)
    return most if draft.importance is None else min(most, max(least, draft.importance))


def _tags(draft: MergeDraft, known: Sequence[str]) -> tuple[str, ...]:
    """Return the tags of the sources and such of the model's as name nothing that the text does not."""
    new = [tag for tag in clean_tags(draft.tags) if tag not in known][:_MOST_NEW_TAGS]
    return clean_tags((*known, *usable(new, [draft.content])))


def usable(tags: Iterable[str], texts: Sequence[str]) -> list[str]:
    """Return those tags that name nothing which the texts do not."""
    # A name is told by its capital, which the first word of a text has anyway.
    return [tag for tag in tags if not is_refuted(f"about {tag}", texts)]


def is_refuted(text: str, texts: Sequence[str]) -> bool:
    """Tell whether a text names what none of the texts does."""
    return judge(text, [EvidenceText(text=one) for one in texts]).verdict is Verdict.REFUTED


def _names(entries: Sequence[MemoryEntry]) -> str:
    return ", ".join(entry.id for entry in entries)
