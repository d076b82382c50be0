"""Judges each operation and makes its change set: merge, rewrite, supersede or drop."""

from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import combinations

from agentcore.domain.evidence import EvidenceVerdict, with_verdict
from agentcore.domain.memory import Level, MemoryEntry, Status, Trust
from agentcore.domain.records import Record
from agentcore.domain.subject_time import compatible
from agentcore.domain.temporal import absorb, merged_fields
from agentcore.domain.text import clean_category, clean_content, clean_tags, fold_key, normalise
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.detail import Detail, DetailKind
from dream.guards.merge_coverage import Coverage, Superseded, coverage, untold
from dream.passes.conflicts import ConflictVerdict, is_later, judge
from dream.passes.faithfulness import Unfaithful, unfaithful
from dream.passes.memory_consolidation.operations import ConsolidationInput, Dropping, Saving, Superseding
from dream.passes.memory_consolidation.prompt import ConsolidationHandles, SaveItem, is_clean


def compare(
    consolidation_input: ConsolidationInput,
    content: str,
    sources: Sequence[MemoryEntry],
    gives_way: Sequence[MemoryEntry],
    category: str,
) -> Coverage:
    """Compare a text with its sources; what it takes the place of need not be repeated if it is older, or corrected."""
    confirmed = next((source for source in sources if source.trust is Trust.CONFIRMED), None)
    categories = (category, *(source.category for source in (*sources, *gives_way)))
    exempt = not any(consolidation_input.vocabulary.numbers_matter(one) for one in categories)
    found = coverage(
        [source.content for source in sources],
        content,
        consolidation_input.vocabulary,
        # A text that moves into an exempt category does not leave its numbers behind.
        category=category if exempt else None,
        document_frequency=consolidation_input.document_frequency,
        superseded=[
            Superseded(
                content=old.content,
                is_older=is_later(
                    consolidation_input.evidence([old]),
                    consolidation_input.evidence(sources),
                    consolidation_input.as_of,
                ),
                correction=confirmed.content if confirmed and old.trust < Trust.CONFIRMED else None,
            )
            for old in gives_way
        ],
    )
    left_out = untold(
        [source.content for source in sources], content, consolidation_input.vocabulary, consolidation_input.tokenizer
    )
    return replace(found, lost=(*found.lost, *(Detail(DetailKind.SENTENCE, one[:200], one) for one in left_out)))


@dataclass(frozen=True, slots=True)
class CloseCall:
    """Entries of which a person should say which one holds."""

    entry_ids: tuple[str, ...]

    @property
    def refusal(self) -> Refusal:
        """Why nothing was changed."""
        return Refusal.of(Refused.CLOSE_CALL, self.entry_ids)


def may_give_way(
    old: MemoryEntry, to: Sequence[MemoryEntry], consolidation_input: ConsolidationInput
) -> Refusal | CloseCall | None:
    """Return why *old* must stay, or None if the evidence for *to* is better."""
    if consolidation_input.merge_only:
        return Refusal.of(Refused.MERGE_ONLY, [old.id])
    if old.pinned:
        return Refusal.of(Refused.PROTECTED_ENTRY, [old.id])
    if not any(consolidation_input.are_related(old, entry) for entry in to):
        return Refusal.of(Refused.NO_SUCCESSOR, [old.id])
    match judge(consolidation_input.evidence([old]), consolidation_input.evidence(to), consolidation_input.as_of):
        case ConflictVerdict.STAYS:
            return Refusal.of(Refused.WEAKER_EVIDENCE, [old.id])
        case ConflictVerdict.CLOSE_CALL:
            return CloseCall((old.id, *(entry.id for entry in to)))
        case ConflictVerdict.GIVES_WAY:
            return None


MERGE = "merge"
REWRITE = "rewrite"
_MOST_NEW_TAGS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeDraft:
    """A text that may be taken, and what it is made of.

    Args:
        content: The text, clean.
        category: Where it goes, clean.
        tags: As the model gave them.
        importance: As the model gave it, if it did.
        sources: Entries that it is made of.
        gives_way: Entries that it takes the place of.
    """

    content: str
    category: str
    tags: tuple[str, ...]
    importance: float | None
    sources: tuple[MemoryEntry, ...]
    gives_way: tuple[MemoryEntry, ...]

    @property
    def used(self) -> tuple[MemoryEntry, ...]:
        """All entries that it touches."""
        return (*self.sources, *self.gives_way)


def merge_new(draft: MergeDraft, consolidation_input: ConsolidationInput) -> ChangeSet:
    """Write the text as a new entry and retire what it was made of.

    What gives way may show through in the text, so it counts among the sources, and for trust and safety marks; what
    was observed of it counts for nothing.
    """
    fields, touched = merged_fields(draft.sources), merged_fields(draft.used)
    merged = MemoryEntry(
        id=consolidation_input.new_id(),
        scope=draft.sources[0].scope,
        content=draft.content,
        category=draft.category,
        tags=_tags(draft, fields.tags, consolidation_input),
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
        evidence=with_verdict(fields.evidence, EvidenceVerdict.UNVERIFIED),
        trust=touched.trust,
        pinned=fields.pinned,
    )
    made = Change[MemoryEntry](before=None, after=merged, reason=f"merged from {_names(draft.sources)}")
    return _set(MERGE, made, draft, draft.used, consolidation_input)


def merge_into(survivor: MemoryEntry, draft: MergeDraft, consolidation_input: ConsolidationInput) -> ChangeSet | None:
    """Let an entry that says just this take over the others, as a fold does; None if that changes nothing."""
    others = tuple(source for source in draft.sources if source.id != survivor.id)
    after = absorb(survivor, others)
    if survivor in draft.sources and draft.category != survivor.category:
        after = replace(after, category=draft.category, updated_at=consolidation_input.as_of)
    rest = replace(draft, sources=others)
    if after == survivor:
        return _set(MERGE, None, rest, (survivor, *rest.used), consolidation_input) if rest.used else None
    reason = f"took over {_names(others)}" if others else "filed better"
    kept = Change[MemoryEntry](before=survivor, after=after, reason=reason)
    return _set(MERGE if rest.used else REWRITE, kept, rest, (survivor, *rest.used), consolidation_input)


def rewrite(draft: MergeDraft, consolidation_input: ConsolidationInput) -> ChangeSet | None:
    """Write the text over the one entry it was made of; None if that changes nothing."""
    (entry,) = draft.sources
    after = replace(
        entry,
        content=draft.content,
        category=draft.category,
        tags=_tags(draft, entry.tags, consolidation_input),
        updated_at=entry.updated_at,
    )
    if after.content != entry.content:
        after = replace(after, evidence=with_verdict(entry.evidence, EvidenceVerdict.UNVERIFIED))
    if after == entry:
        return None
    kept = Change[MemoryEntry](
        before=entry,
        after=replace(after, updated_at=consolidation_input.as_of),
        reason="put in better words or filed better",
    )
    return _set(REWRITE, kept, replace(draft, sources=()), (entry,), consolidation_input)


def retired(
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
    merged = [retired(one, Status.ARCHIVED, f"merged into {heir}", heir, consolidation_input) for one in rest.sources]
    gone = [
        retired(one, Status.SUPERSEDED, f"superseded by {heir}", heir, consolidation_input) for one in rest.gives_way
    ]
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


def _tags(draft: MergeDraft, known: Sequence[str], consolidation_input: ConsolidationInput) -> tuple[str, ...]:
    """Return the tags of the sources and such of the model's as name nothing that the text does not."""
    new = [tag for tag in clean_tags(draft.tags) if tag not in known][:_MOST_NEW_TAGS]
    borne_out = [tag for tag in new if not coverage((draft.content,), tag, consolidation_input.vocabulary).invented]
    return clean_tags((*known, *borne_out))


def _names(entries: Sequence[MemoryEntry]) -> str:
    return ", ".join(entry.id for entry in entries)


Judgement = ChangeSet | Refusal | CloseCall | Unfaithful | None


def judge_saving(
    saving: Saving,
    consolidation_handles: ConsolidationHandles,
    consolidation_input: ConsolidationInput,
    taken: AbstractSet[str],
) -> Judgement:
    """Return the changes that a save makes, why it makes none, or None if it changes nothing.

    Args:
        saving: The save, whose handles are in order.
        consolidation_handles: What the handles stand for.
        consolidation_input: What it is judged by.
        taken: Ids that the answer's other operations use, or have changed.
    """
    sources = [consolidation_handles.entries[handle] for handle in saving.sources]
    gives_way = [consolidation_handles.entries[handle] for handle in saving.gives_way]
    draft = _draft(saving.item, sources, gives_way)
    if isinstance(draft, Refusal):
        return draft
    fault = _fault(draft, consolidation_input)
    if fault is not None:
        return fault
    for old in gives_way:
        verdict = may_give_way(old, sources, consolidation_input)
        if verdict is not None:
            return verdict
    found = compare(consolidation_input, draft.content, sources, gives_way, draft.category)
    refusal = unfaithful(found, [entry.id for entry in draft.used])
    if refusal is not None:
        return Unfaithful(place=saving.item.number, coverage=found, refusal=refusal.at(saving.item.number + 1))
    return _change_set(draft, consolidation_input, taken)


def _draft(item: SaveItem, sources: Sequence[MemoryEntry], gives_way: Sequence[MemoryEntry]) -> MergeDraft | Refusal:
    if not sources:
        return Refusal.of(Refused.NO_SOURCES, [old.id for old in gives_way] or [f"item {item.number}"])
    if not is_clean(item.content):
        return Refusal.of(Refused.INVALID_CONTENT, [entry.id for entry in (*sources, *gives_way)])
    oldest = min(sources, key=lambda source: (source.created_at, source.id))
    return MergeDraft(
        content=clean_content(item.content),
        category=oldest.category if item.category is None else clean_category(item.category),
        tags=item.tags,
        importance=item.importance,
        sources=tuple(sources),
        gives_way=tuple(gives_way),
    )


def _fault(draft: MergeDraft, consolidation_input: ConsolidationInput) -> Refusal | None:
    protected = [entry.id for entry in draft.used if consolidation_input.is_protected_category(entry.category)]
    if protected or consolidation_input.is_protected_category(draft.category):
        return Refusal.of(Refused.PROTECTED_CATEGORY, protected or [entry.id for entry in draft.used])
    if not all(compatible(one.subject_time, other.subject_time) for one, other in combinations(draft.sources, 2)):
        return Refusal.of(Refused.DISTINCT_MOMENTS, [source.id for source in draft.sources])
    return None


def _change_set(
    draft: MergeDraft, consolidation_input: ConsolidationInput, taken: AbstractSet[str]
) -> ChangeSet | Refusal | None:
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
        return rewrite(draft, consolidation_input)
    if survivor is None:
        # What gives way may show through in the text: as a source of its own entry it can be forgotten again.
        return merge_new(draft, consolidation_input)
    if survivor.id in taken and survivor not in own:
        return Refusal.of(Refused.HANDLE_REUSED, [survivor.id])
    return merge_into(survivor, draft, consolidation_input)


SUPERSEDE = "supersede"
DROP = "drop"


def judge_superseding(
    superseding: Superseding, consolidation_handles: ConsolidationHandles, consolidation_input: ConsolidationInput
) -> ChangeSet | Refusal | CloseCall:
    """Return the change that has a live entry take the place of an older one, or why it must not."""
    old, successor = (
        consolidation_handles.entries[superseding.item.handle],
        consolidation_handles.entries.get(superseding.successor),
    )
    if successor is None:
        return Refusal.of(Refused.STALE_SOURCE, [consolidation_handles.ids[superseding.successor]])
    if consolidation_input.is_protected_category(old.category):
        return Refusal.of(Refused.PROTECTED_CATEGORY, [old.id])
    verdict = may_give_way(old, [successor], consolidation_input)
    if verdict is None:
        found = compare(consolidation_input, successor.content, [successor], [old], successor.category)
        verdict = unfaithful(found, [old.id])
    if verdict is not None:
        return verdict
    change = retired(old, Status.SUPERSEDED, f"superseded by {successor.id}", successor.id, consolidation_input)
    mark = fingerprint(SUPERSEDE, old, successor)
    return ChangeSet(operation=SUPERSEDE, changes=(change,), fingerprints={old.id: mark})


def judge_dropping(
    dropping: Dropping, consolidation_handles: ConsolidationHandles, consolidation_input: ConsolidationInput
) -> ChangeSet | Refusal:
    """Return the change that sets an entry aside for good, or why it must not."""
    entry = consolidation_handles.entries[dropping.item.handle]
    if consolidation_input.merge_only:
        return Refusal.of(Refused.MERGE_ONLY, [entry.id])
    if consolidation_input.is_protected_category(entry.category):
        return Refusal.of(Refused.PROTECTED_CATEGORY, [entry.id])
    if consolidation_input.is_worth_keeping(entry):
        return Refusal.of(Refused.PROTECTED_ENTRY, [entry.id])
    change = retired(entry, Status.ARCHIVED, _reason(dropping, entry, consolidation_input), None, consolidation_input)
    return ChangeSet(operation=DROP, changes=(change,), fingerprints={entry.id: fingerprint(DROP, entry)})


def _reason(dropping: Dropping, entry: MemoryEntry, consolidation_input: ConsolidationInput) -> str:
    """Return the model's reason if it tells nothing that the entry itself does not: so it is forgotten with it."""
    given = dropping.item.reason
    told = given and not coverage((entry.content,), given, consolidation_input.vocabulary).invented
    return f"of no lasting value: {given}" if told else "of no lasting value"


def is_over_eager(droppings: int, members: int) -> bool:
    """Tell whether an answer would drop more than three quarters of four records or more.

    Example:
        >>> is_over_eager(4, 4), is_over_eager(3, 4), is_over_eager(3, 3)
        (True, False, False)
    """
    return members >= 4 and 4 * droppings > 3 * members
