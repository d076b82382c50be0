"""Judges the facts of an answer: what their turns bear out, and which entries they make or reinforce."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import orjson
import regex

from agentcore.domain.memory import Level, MemoryEntry, SourceKind, SourceRef, Trust
from agentcore.domain.subject_time import SubjectTime, compatible
from agentcore.domain.text import DEFAULT_CATEGORY, clean_category, fold_key, normalise
from agentcore.stores.storage import ReadView
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.vocabulary import Vocabulary
from dream.passes.conversation.evidence import TurnEvidence
from dream.passes.conversation.evidence_times import EvidenceTimes, subject_time_of
from dream.passes.conversation.reconcile import Reconciliation, fresh_turns, is_forgotten, says_the_same
from dream.passes.conversation.statement import (
    StatementRules,
    base_below,
    is_under,
    made_up,
    protected,
    reason_of,
    secret_told,
    speaker_of,
    statement,
    usable_tags,
)
from dream.passes.fact_mining.prompt import FactItem
from dream.passes.terms import CUTTER

_CATEGORY = regex.compile(r"[\p{L}\p{M}\p{N}_-]+(?:/[\p{L}\p{M}\p{N}_-]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A checked fact.

    Args:
        number: Its place in the answer.
        content: The statement.
        category: Where it goes.
        tags: Its tags.
        base: Its importance, below what protects.
        subject_time: The time it is about, if that follows from its turns.
        evidence: What it rests on.
        notes: What the host repaired: names of counts in the report.
    """

    number: int
    content: str
    category: str
    tags: tuple[str, ...]
    base: float
    subject_time: SubjectTime | None
    evidence: TurnEvidence
    notes: tuple[str, ...]

    @property
    def sources(self) -> tuple[SourceRef, ...]:
        """References to its turns, sorted."""
        return tuple(sorted(SourceRef(SourceKind.TURN, turn.id) for turn in self.evidence.turns))

    @property
    def trust(self) -> Trust:
        """The least trust of its turns; a machine never calls a fact confirmed."""
        return min([Trust.STATED, *(turn.trust for turn in self.evidence.turns)])

    def reason(self) -> str:
        """Return why it is remembered, in words for people."""
        return reason_of(self.evidence)

    def entry(self, entry_id: str, as_of: datetime) -> MemoryEntry:
        """Return the entry it makes if nobody knows it yet: one observation, however many turns tell it."""
        said = [turn.occurred_at for turn in self.evidence.turns]
        return MemoryEntry(
            id=entry_id,
            scope=self.evidence.quoted.scope,
            content=self.content,
            category=self.category,
            tags=self.tags,
            base=self.base,
            created_at=min(said),
            recorded_at=as_of,
            last_seen_at=min(max(said), as_of),
            subject_time=self.subject_time,
            level=Level.EXPLICIT,
            sources=self.sources,
            trust=self.trust,
        )


def fact_of(
    item: FactItem, evidence: TurnEvidence, terms: StatementRules, reserved: Sequence[str] = ()
) -> Fact | Refusal:
    """Check what a fact says against its turns; return it, or why it must not be remembered.

    Args:
        item: The fact as the model gave it.
        evidence: Its turns.
        terms: What statements are judged by.
        reserved: Categories that other passes alone write.
    """
    content = statement(item.content, item.label)
    if isinstance(content, Refusal):
        return content
    category, repaired = _category(item.category, reserved)
    told = EvidenceTimes.of(evidence)
    refusal = (
        secret_told(item.label, f"turn {evidence.quoted.id}", content, evidence.quote)
        or protected(item.label, category, terms)
        or made_up(
            item.label,
            content,
            category,
            evidence=evidence,
            told=told,
            terms=terms,
        )
    )
    if refusal is not None:
        return refusal
    subject_time, dropped = subject_time_of(item.subject_time, told)
    return Fact(
        number=item.number,
        content=content,
        category=category,
        tags=usable_tags(item.tags),
        base=base_below(item.importance, terms.protect_importance),
        subject_time=subject_time,
        evidence=evidence,
        notes=(*(["categories_repaired"] if repaired else []), *(["subject_times_dropped"] if dropped else [])),
    )


def _category(given: object, reserved: Sequence[str]) -> tuple[str, bool]:
    """Return a category that can be stored, and whether it is another than the model gave."""
    if given is None or (isinstance(given, str) and not given.strip()):
        return DEFAULT_CATEGORY, False
    cleaned = clean_category(given).lower() if isinstance(given, str) and given.isprintable() else ""
    usable = _CATEGORY.fullmatch(cleaned) is not None and not is_under(cleaned, reserved)
    return (cleaned, cleaned != given) if usable else (DEFAULT_CATEGORY, True)


MINE: Final = "mine"
"""Operation of a change set that adds a fact."""
REINFORCE: Final = "reinforce"
"""Operation of a change set that sees an entry again."""


@dataclass(frozen=True, slots=True)
class FactCandidates:
    """What the store holds that could say the same as one of some facts.

    Args:
        entries: Active entries of equal text, or made of the same turns, oldest first.
        forgotten: When texts were forgotten that they say, by fold key.
    """

    entries: tuple[MemoryEntry, ...] = ()
    forgotten: Mapping[str, datetime] = field(default_factory=dict[str, datetime])

    @classmethod
    def of(cls, view: ReadView, facts: Sequence[Fact]) -> "FactCandidates":
        """Look up what is known of *facts*."""
        keys = {fold_key(fact.content) for fact in facts}
        found = {entry.id: entry for entry in view.entries.with_fold_keys(keys)}
        turn_ids = sorted({turn.id for fact in facts for turn in fact.evidence.turns})
        made = view.entries.derived_from(SourceKind.TURN.value, *turn_ids)
        found |= {entry.id: entry for entry in made if entry.is_active and entry.id not in found}
        ordered = sorted(found.values(), key=lambda entry: (entry.created_at, entry.recorded_at, entry.id))
        return cls(tuple(ordered), view.forgotten.since(keys))


@dataclass(slots=True)
class _FactDraft:
    """An entry as it will be, and the facts that made it so."""

    before: MemoryEntry | None
    after: MemoryEntry
    facts: list[Fact] = field(default_factory=list[Fact])


@dataclass(slots=True)
class _FactDrafts:
    """Entries as they will be, in order, and which of them can say the same as a fact: its text, or its turns, too."""

    vocabulary: Vocabulary
    all: list[_FactDraft] = field(default_factory=list[_FactDraft])
    _by_text: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict[str, list[int]](list))
    _by_source: defaultdict[SourceRef, list[int]] = field(
        default_factory=lambda: defaultdict[SourceRef, list[int]](list)
    )

    def add(self, draft: _FactDraft) -> None:
        self._by_text[normalise(draft.after.content)].append(len(self.all))
        self.all.append(draft)
        self._put_under(draft.after.sources, len(self.all) - 1)

    def see_again(self, place: int, fact: Fact, after: MemoryEntry) -> None:
        draft = self.all[place]
        self._put_under(set(after.sources) - set(draft.after.sources), place)
        draft.after = after
        draft.facts.append(fact)

    def _put_under(self, sources: Iterable[SourceRef], place: int) -> None:
        for source in sources:
            self._by_source[source].append(place)

    def same(self, fact: Fact) -> int | None:
        """Return the place of what says the same of a compatible time: of its own category if there is one."""
        equal = set(self._by_text.get(normalise(fact.content), ()))
        # Of two texts only those that rest on the same turn are known to be about the same thing.
        beside = {place for source in fact.sources for place in self._by_source.get(source, ())} - equal
        fitting = [
            place
            for place in sorted(equal | beside)
            if compatible(self.all[place].after.subject_time, fact.subject_time)
            and (place in equal or self._says_the_same(self.all[place].after.content, fact.content))
        ]
        return min(fitting, key=lambda place: self.all[place].after.category != fact.category, default=None)

    def _says_the_same(self, one: str, other: str) -> bool:
        return says_the_same(one, other, self.vocabulary, CUTTER)


def mark_of(facts: Sequence[Fact]) -> str:
    """Return what a person declines by taking facts back: these words, from these turns."""
    turns = sorted({turn.id for fact in facts for turn in fact.evidence.turns})
    told = orjson.dumps([MINE, normalise(facts[0].content), turns])
    return hashlib.blake2b(told, digest_size=16).hexdigest()


def reconcile(
    facts: Sequence[Fact],
    known: FactCandidates,
    declined: frozenset[str],
    *,
    new_id: Callable[[], str],
    as_of: datetime,
    vocabulary: Vocabulary,
) -> Reconciliation:
    """Fold facts into what is known and into each other; whatever brings nothing new changes nothing.

    A fact is one observation, and only if one of its turns is counted nowhere yet: the turns among an entry's sources
    are those that were counted, so that the same answer twice is the same as once.
    """
    drafts = _FactDrafts(vocabulary)
    for entry in known.entries:
        drafts.add(_FactDraft(entry, entry))
    refused: list[Refusal] = []
    counts = Counter[str]()
    for fact in facts:
        refusal = _refusal(fact, known, declined)
        if refusal is not None:
            refused.append(refusal)
            continue
        counts.update(["facts_found", *fact.notes])
        place = drafts.same(fact)
        if place is None:
            drafts.add(_FactDraft(None, fact.entry(new_id(), as_of), [fact]))
        elif (after := _seen_again(drafts.all[place].after, fact, as_of)) != drafts.all[place].after:
            drafts.see_again(place, fact, after)
        else:
            counts["known"] += 1
    changed = [draft for draft in drafts.all if draft.facts]
    counts["new"] = sum(draft.before is None for draft in changed)
    counts["reinforced"] = len(changed) - counts["new"]
    return Reconciliation(tuple(_change_set(draft) for draft in changed), tuple(refused), counts)


def _refusal(fact: Fact, known: FactCandidates, declined: frozenset[str]) -> Refusal | None:
    if is_forgotten(fact.content, fact.evidence.quoted, known.forgotten):
        return Refusal(Refused.FORGOTTEN, f"fact {fact.number}", fact.number)
    if mark_of([fact]) in declined:
        return Refusal(Refused.UNDONE_BY_PERSON, f"fact {fact.number}", fact.number)
    return None


def _seen_again(entry: MemoryEntry, fact: Fact, as_of: datetime) -> MemoryEntry:
    """Return an entry after a fact said the same: it counts once more for turns that are not counted yet.

    One that is trusted more takes nothing from a fact that is trusted less.
    """
    fresh = fresh_turns(entry, fact.evidence.heard)
    if not fresh or fact.trust < entry.trust:
        return entry
    said = [turn.occurred_at for turn in fresh]
    return replace(
        entry,
        created_at=min(entry.created_at, *said),
        last_seen_at=max(entry.last_seen_at, min(max(said), as_of)),
        own_count=entry.own_count + 1,
        sources=tuple(sorted({*entry.sources, *fact.sources})),
    )


def _change_set(draft: _FactDraft) -> ChangeSet:
    first, *more = draft.facts
    others = sorted({speaker_of(fact.evidence.quoted) for fact in more})
    reason = first.reason() + (f", and again by {', '.join(others)}" if others else "")
    change = Change[MemoryEntry](
        before=draft.before,
        after=draft.after,
        reason=reason if draft.before is None else f"seen again: {reason}",
    )
    return ChangeSet(
        operation=MINE if draft.before is None else REINFORCE,
        changes=(change,),
        fingerprints={draft.after.id: mark_of(draft.facts)},
    )
