"""Reconciles statements with the memory: each makes a new entry, reinforces one that says the same, or is refused."""

import asyncio
import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import compress
from typing import Any, ClassVar, Final, Generic, Self

import orjson

from agentcore.domain.conversation import Turn
from agentcore.domain.evidence import SourceKind, SourceRef, united_evidence
from agentcore.domain.memory import MemoryEntry, Trust
from agentcore.domain.subject_time import compatible
from agentcore.domain.text import fold_key, normalise
from agentcore.stores.storage import ReadView
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.names import Vocabulary
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.passes.conversation.evidence import TurnEvidence
from dream.passes.conversation.neighbours import are_related
from dream.passes.conversation.statement import S, TurnStatement, is_under
from dream.passes.exchange_state import Settled
from dream.passes.protocol import ModelContext
from dream.passes.terms import terms_of

REINFORCE: Final = "reinforce"
"""Operation of a change set that sees an entry again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reinforcement:
    """An item of an answer that names the entry it reinforces by its handle.

    Args:
        number: Its place in the answer.
        label: What refusals call it.
        entry_id: The entry.
        evidence: The turns that show it.
        sources: All that shows it.
        said: What it is compared with the entry by.
        why: Why the entry is reinforced, in words for people.
    """

    number: int
    label: str
    entry_id: str
    evidence: TurnEvidence
    sources: tuple[SourceRef, ...]
    said: Sequence[str]
    why: str
    notes: ClassVar[tuple[str, ...]] = ()

    def settled(self, _: Settled[Any]) -> Self:
        """Return it as it is: what is met again is told by no new words."""
        return self

    def reason(self) -> str:
        """Return why the entry is reinforced, in words for people."""
        return self.why


@dataclass(frozen=True, slots=True)
class KnownEntries:
    """What the store holds that could say the same as some statements.

    Args:
        entries: Active entries of equal text, made of the same turns, or named by their handle; oldest first.
        elsewhere: The same of other categories than are reconciled.
        forgotten: When texts were forgotten that the statements say, by fold key.
        speakers: Who said the entries that statements contradict, by their ids, as far as turns show it.
    """

    entries: tuple[MemoryEntry, ...] = ()
    elsewhere: tuple[MemoryEntry, ...] = ()
    forgotten: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    speakers: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    @classmethod
    def of(cls, view: ReadView, statements: Sequence[TurnStatement | Reinforcement], within: str | None) -> Self:
        """Look up what is known of *statements*, in a category or in all."""
        made = [one for one in statements if not isinstance(one, Reinforcement)]
        keys = {fold_key(text) for one in made for text in one.texts}
        turn_ids = sorted({turn.id for one in statements for turn in one.evidence.turns})
        found = {entry.id: entry for entry in view.entries.with_fold_keys(keys)}
        found |= {entry.id: entry for entry in view.entries.derived_from(SourceKind.TURN.value, *turn_ids)}
        named = [one.entry_id for one in statements if isinstance(one, Reinforcement)]
        found |= {entry.id: entry for entry in view.entries.get_many(named)}
        active = [entry for entry in found.values() if entry.is_active]
        ordered = sorted(active, key=lambda entry: (entry.created_at, entry.recorded_at, entry.id))
        inside = [within is None or is_under(entry.category, (within,)) for entry in ordered]
        return cls(
            entries=tuple(compress(ordered, inside)),
            elsewhere=tuple(entry for entry, is_inside in zip(ordered, inside, strict=True) if not is_inside),
            forgotten=view.forgotten.since(keys),
        )


@dataclass(slots=True)
class EntryDraft(Generic[S]):
    """An entry as it will be, and the statements that made it so."""

    before: MemoryEntry | None
    after: MemoryEntry
    statements: list[S | Reinforcement] = field(default_factory=list[Any])


@dataclass(slots=True, kw_only=True)
class Reconciler(Generic[S]):
    """Folds the statements of one answer into what is known and into each other; lives as long as that.

    A statement is one observation, and only if one of its turns is counted nowhere yet: the turns among an entry's
    sources are those that were counted, so that the same answer twice is the same as once.

    Args:
        known: What the store holds.
        declined: Marks that a person declined.
        new_id: Returns a fresh record id.
        as_of: The instant the run judges by.
        vocabulary: Which words are ordinary.
    """

    adds: ClassVar[str]
    """Operation of a change set that adds an entry."""
    found: ClassVar[str]
    """The count of statements that hold, as reports call it."""
    again: ClassVar[str] = "seen again"
    """How the reason of a reinforcement begins."""
    within: ClassVar[str | None] = None
    """The category whose entries are compared; None for all."""

    known: KnownEntries
    declined: frozenset[str] = frozenset()
    new_id: Callable[[], str]
    as_of: datetime
    vocabulary: Vocabulary
    refused: list[Refusal] = field(default_factory=list[Refusal])
    counts: Counter[str] = field(default_factory=Counter[str])
    drafts: list[EntryDraft[S]] = field(default_factory=list[Any])
    _by_text: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict[str, list[int]](list))
    _by_source: defaultdict[SourceRef, list[int]] = field(
        default_factory=lambda: defaultdict[SourceRef, list[int]](list)
    )

    def __post_init__(self) -> None:
        """Begin with what is known."""
        for entry in self.known.entries:
            self._put(EntryDraft(entry, entry))

    @classmethod
    async def over(cls, context: ModelContext, statements: Sequence[S | Reinforcement]) -> Self:
        """Reconcile *statements* with what the store holds as of a run."""
        known = await context.read(lambda view: cls.candidates(view, statements))
        made = cls(known=known, new_id=context.new_id, as_of=context.as_of, vocabulary=context.vocabulary)
        texts = {entry.id: entry.content for entry in known.entries}
        marks = {
            cls.mark(texts.get(one.entry_id, "") if isinstance(one, Reinforcement) else one.content, [one])
            for one in statements
        }
        made.declined = frozenset(await context.declined(marks))
        # Hundreds of comparisons take longer than the event loop may stall.
        await asyncio.to_thread(made.add_all, statements)
        return made

    @classmethod
    def candidates(cls, view: ReadView, statements: Sequence[S | Reinforcement]) -> KnownEntries:
        """Look up what is known of *statements*."""
        return KnownEntries.of(view, statements, cls.within)

    @classmethod
    def mark(cls, content: str, statements: Iterable[S | Reinforcement]) -> str:
        """Return what a person declines by taking statements back: these words, from these sources."""
        shown = sorted({source for one in statements for source in cls.marked_sources(one)})
        return hashlib.blake2b(orjson.dumps([cls.adds, normalise(content), shown]), digest_size=16).hexdigest()

    @classmethod
    def marked_sources(cls, statement: S | Reinforcement) -> Iterable[str]:
        """Return the sources by which a mark tells statements of equal words apart."""
        return (turn.id for turn in statement.evidence.turns)

    def add_all(self, statements: Iterable[S | Reinforcement]) -> None:
        """Reconcile one statement after the other."""
        for statement in statements:
            self.add(statement)

    def add(self, statement: S | Reinforcement) -> None:
        """Reconcile one more; whatever brings nothing new changes nothing."""
        place = self._same(statement)
        draft = None if place is None else self.drafts[place]
        refusal = self.refusal(statement, draft)
        if refusal is not None:
            self.refused.append(refusal.at(statement.number))
            return
        self.counts.update([self.found, *statement.notes])
        if place is None or draft is None:
            if not isinstance(statement, Reinforcement):
                self._put(EntryDraft(None, statement.entry(self.new_id(), self.as_of), [statement]))
        elif (after := self.reinforced(draft, statement)) != draft.after:
            self._index(set(after.sources) - set(draft.after.sources), place)
            draft.after = after
            draft.statements.append(statement)
        else:
            self.counts["known"] += 1

    @property
    def changed(self) -> list[EntryDraft[S]]:
        """The drafts that statements made or changed."""
        return [draft for draft in self.drafts if draft.statements]

    @property
    def change_sets(self) -> tuple[ChangeSet, ...]:
        """What changes."""
        return tuple(self.change_set(draft) for draft in self.changed)

    def notes(self) -> Mapping[str, Any]:
        """Return the counts for the report."""
        new = sum(draft.before is None for draft in self.changed)
        return {**self.counts, "new": new, "reinforced": len(self.changed) - new}

    def is_same(self, statement: S, entry: MemoryEntry, *, is_equal: bool) -> bool:
        """Tell whether an entry of equal text, or with a source in common, says the same at a compatible time."""
        return compatible(entry.subject_time, statement.subject_time) and (
            is_equal or says_the_same(entry.content, statement.content, self.vocabulary)
        )

    def rank(self, statement: S, entry: MemoryEntry) -> bool:
        """Return what is false for the entry that is reinforced first, of those that say the same."""
        return normalise(entry.content) != normalise(statement.content)

    def refusal(self, statement: S | Reinforcement, draft: EntryDraft[S] | None) -> Refusal | None:
        """Return why a statement must not be remembered, or None."""
        label = statement.label
        if isinstance(statement, Reinforcement):
            if draft is None:
                return Refusal(Refused.STALE_SOURCE, statement.entry_id)
            if not are_related(statement.said, draft.after.content):
                return Refusal(Refused.UNRELATED, f"{label} and {statement.entry_id}")
            content = draft.after.content
        else:
            content = statement.content
            if any(is_forgotten(text, statement.evidence.quoted, self.known.forgotten) for text in statement.texts):
                return Refusal(Refused.FORGOTTEN, label)
        is_declined = self.mark(content, [statement]) in self.declined
        return Refusal(Refused.UNDONE_BY_PERSON, label) if is_declined else None

    def least_trust(self, statement: S | Reinforcement) -> Trust:
        """Return how far a statement is trusted that reinforces an entry."""
        return min([Trust.STATED, *(turn.trust for turn in statement.evidence.turns)])

    def reinforced(self, draft: EntryDraft[S], statement: S | Reinforcement) -> MemoryEntry:
        """Return an entry after a statement said the same: it counts once more for turns that are not counted yet.

        One that is trusted more takes nothing from a statement that is trusted less.
        """
        entry = draft.after
        fresh = fresh_turns(entry, statement.evidence.heard)
        if not fresh or self.least_trust(statement) < entry.trust:
            return entry
        said = [turn.occurred_at for turn in fresh]
        seen = replace(
            entry,
            created_at=min(entry.created_at, *said),
            last_seen_at=max(entry.last_seen_at, min(max(said), self.as_of)),
            sources=tuple(sorted({*entry.sources, *statement.sources})),
            evidence=united_evidence([entry.evidence, statement.evidence.sentences]),
        )
        return self.with_observation(seen, fresh)

    def with_observation(self, entry: MemoryEntry, fresh: Sequence[Turn]) -> MemoryEntry:  # noqa: ARG002
        """Return an entry with the observation that fresh turns are."""
        return replace(entry, own_count=entry.own_count + 1)

    def reason(self, draft: EntryDraft[S]) -> str:
        """Return why an entry is added or reinforced, in words for people."""
        return draft.statements[0].reason()

    def marked_text(self, draft: EntryDraft[S]) -> str:
        """Return the words by which a person declines a change set."""
        return draft.after.content

    def change_set(self, draft: EntryDraft[S]) -> ChangeSet:
        """Return the change set of one draft."""
        reason = self.reason(draft)
        change = Change[MemoryEntry](
            before=draft.before,
            after=draft.after,
            reason=reason if draft.before is None else f"{self.again}: {reason}",
        )
        return ChangeSet(
            operation=self.adds if draft.before is None else REINFORCE,
            changes=(change,),
            fingerprints={draft.after.id: self.mark(self.marked_text(draft), draft.statements)},
        )

    def _same(self, statement: S | Reinforcement) -> int | None:
        if isinstance(statement, Reinforcement):
            ids = (place for place, draft in enumerate(self.drafts) if draft.after.id == statement.entry_id)
            return next(ids, None)
        equal = set(self._by_text.get(normalise(statement.content), ()))
        # Of two texts only those that rest on the same source are known to be about the same thing.
        beside = {place for source in statement.sources for place in self._by_source.get(source, ())}
        fitting = [
            place
            for place in sorted(equal | beside)
            if self.is_same(statement, self.drafts[place].after, is_equal=place in equal)
        ]
        return min(fitting, key=lambda place: self.rank(statement, self.drafts[place].after), default=None)

    def _put(self, draft: EntryDraft[S]) -> None:
        self._by_text[normalise(draft.after.content)].append(len(self.drafts))
        self._index(draft.after.sources, len(self.drafts))
        self.drafts.append(draft)

    def _index(self, sources: Iterable[SourceRef], place: int) -> None:
        for source in sources:
            self._by_source[source].append(place)


def says_the_same(one: str, other: str, vocabulary: Vocabulary) -> bool:
    """Tell whether two statements of the same turns differ in nothing but little words.

    Example:
        >>> from dream.guards.names import builtin_vocabulary
        >>> says_the_same("Ana moved to Lisbon.", "Ana has moved to Lisbon", builtin_vocabulary())
        True
        >>> says_the_same("Ana moved to Lisbon.", "Ana moved to Porto.", builtin_vocabulary())
        False
    """
    if normalise(one) == normalise(other):
        return True
    return terms_of(one) == terms_of(other) and not any(
        judge(new, [EvidenceText(text=old)], whole=True, vocabulary=vocabulary).verdict is Verdict.REFUTED
        for new, old in ((one, other), (other, one))
    )


def is_forgotten(content: str, quoted: Turn, since: Mapping[str, datetime]) -> bool:
    """Tell whether a person asked to forget a text, and the turn that shows it is none in which it was said anew.

    Args:
        content: The text.
        quoted: The turn.
        since: When texts were forgotten, by fold key.
    """
    at = since.get(fold_key(content))
    return at is not None and quoted.recorded_at <= at


def fresh_turns(entry: MemoryEntry, heard: Iterable[Turn]) -> list[Turn]:
    """Return the turns of people that *entry* has not counted yet; one trusted less than it reinforces nothing."""
    known = {source.id for source in entry.sources if source.kind is SourceKind.TURN}
    return [turn for turn in heard if turn.id not in known and turn.trust >= entry.trust]
