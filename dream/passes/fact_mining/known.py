"""Facts meet what is known: a new entry, or one that is seen again."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import orjson

from agentcore.domain.memory import MemoryEntry, SourceKind
from agentcore.domain.subject_time import compatible
from agentcore.domain.text import fold_key, normalise
from agentcore.recall.tokenizer import Tokenizer
from agentcore.stores.protocols import ReadView
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.coverage import coverage
from dream.guards.vocabulary import Vocabulary
from dream.passes.fact_mining.fact import Fact, speaker_of

MINE: Final = "mine"
"""Operation of a change set that adds a fact."""
REINFORCE: Final = "reinforce"
"""Operation of a change set that sees an entry again."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the store holds that could say the same as one of some facts.

    Args:
        entries: Active entries of equal text, or made of the same turns, oldest first.
        forgotten: Fold keys that a person asked to forget.
    """

    entries: tuple[MemoryEntry, ...] = ()
    forgotten: frozenset[str] = frozenset()

    @classmethod
    def of(cls, view: ReadView, facts: Sequence[Fact]) -> "Known":
        """Look up what is known of *facts*."""
        keys = {fold_key(fact.content) for fact in facts}
        found = {entry.id: entry for entry in view.entries.with_fold_keys(keys)}
        for turn_id in sorted({turn.id for fact in facts for turn in fact.evidence.turns}):
            for entry in view.entries.derived_from(SourceKind.TURN.value, turn_id):
                if entry.is_active:
                    found.setdefault(entry.id, entry)
        ordered = sorted(found.values(), key=lambda entry: (entry.created_at, entry.recorded_at, entry.id))
        return cls(tuple(ordered), frozenset(view.forgotten.contains(keys)))


@dataclass(frozen=True, slots=True)
class Meeting:
    """What becomes of some facts."""

    change_sets: tuple[ChangeSet, ...]
    refused: tuple[Refusal, ...]
    counts: Mapping[str, int]


@dataclass(slots=True)
class _Draft:
    """An entry as it will be, and the facts that made it so."""

    before: MemoryEntry | None
    after: MemoryEntry
    facts: list[Fact] = field(default_factory=list[Fact])


def mark_of(facts: Sequence[Fact]) -> str:
    """Return what a person declines by taking facts back: these words, from these turns."""
    turns = sorted({turn.id for fact in facts for turn in fact.evidence.turns})
    told = orjson.dumps([MINE, normalise(facts[0].content), turns])
    return hashlib.blake2b(told, digest_size=16).hexdigest()


def says_the_same(one: str, other: str, vocabulary: Vocabulary) -> bool:
    """Tell whether two statements of the same turns differ in nothing but little words.

    Example:
        >>> from dream.guards.vocabulary import builtin
        >>> says_the_same("Ana moved to Lisbon.", "Ana has moved to Lisbon", builtin())
        True
        >>> says_the_same("Ana moved to Lisbon.", "Ana has not moved to Lisbon", builtin())
        False
    """
    if normalise(one) == normalise(other):
        return True
    tokenizer = Tokenizer()
    return tokenizer.tokens(one) == tokenizer.tokens(other) and coverage([one], other, vocabulary).faithful


def meet(
    facts: Sequence[Fact],
    known: Known,
    declined: frozenset[str],
    *,
    new_id: Callable[[], str],
    as_of: datetime,
    vocabulary: Vocabulary,
) -> Meeting:
    """Fold facts into what is known and into each other; whatever brings nothing new changes nothing.

    A fact is one observation, and only if one of its turns is counted nowhere yet: the turns among an entry's sources
    are those that were counted, so that the same answer twice is the same as once.
    """
    drafts = [_Draft(entry, entry) for entry in known.entries]
    refused: list[Refusal] = []
    counts = Counter[str]()
    for fact in facts:
        refusal = _refusal(fact, known, declined)
        if refusal is not None:
            refused.append(refusal)
            continue
        counts.update(["facts_found", *fact.notes])
        draft = _same(fact, drafts, vocabulary)
        if draft is None:
            drafts.append(_Draft(None, fact.entry(new_id(), as_of), [fact]))
        elif (after := _seen_again(draft.after, fact, as_of)) != draft.after:
            draft.after = after
            draft.facts.append(fact)
        else:
            counts["known"] += 1
    changed = [draft for draft in drafts if draft.facts]
    counts["new"] = sum(draft.before is None for draft in changed)
    counts["reinforced"] = len(changed) - counts["new"]
    return Meeting(tuple(_change_set(draft) for draft in changed), tuple(refused), counts)


def _refusal(fact: Fact, known: Known, declined: frozenset[str]) -> Refusal | None:
    if fold_key(fact.content) in known.forgotten:
        return Refusal(Refused.FORGOTTEN, f"fact {fact.number}")
    if mark_of([fact]) in declined:
        return Refusal(Refused.UNDONE_BY_PERSON, f"fact {fact.number}")
    return None


def _same(fact: Fact, drafts: Iterable[_Draft], vocabulary: Vocabulary) -> _Draft | None:
    """Return the entry that says the same of a compatible time: of its own category if there is one."""
    fitting = [draft for draft in drafts if _fits(fact, draft.after, vocabulary)]
    return min(fitting, key=lambda draft: draft.after.category != fact.category, default=None)


def _fits(fact: Fact, entry: MemoryEntry, vocabulary: Vocabulary) -> bool:
    if not compatible(entry.subject_time, fact.subject_time):
        return False
    if normalise(fact.content) == normalise(entry.content):
        return True
    # Of two texts only those that rest on the same turn are known to be about the same thing.
    shared = set(entry.sources) & set(fact.sources)
    return bool(shared) and says_the_same(entry.content, fact.content, vocabulary)


def _seen_again(entry: MemoryEntry, fact: Fact, as_of: datetime) -> MemoryEntry:
    """Return an entry after a fact said the same: it counts once more for turns that are not counted yet.

    One that is trusted more takes nothing from a fact that is trusted less.
    """
    counted = {source.id for source in entry.sources if source.kind is SourceKind.TURN}
    fresh = [turn for turn in fact.evidence.heard if turn.id not in counted and turn.trust >= entry.trust]
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


def _change_set(draft: _Draft) -> ChangeSet:
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
