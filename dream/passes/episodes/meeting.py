"""Episodes meet what is known: a new entry, or one that is met again."""

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
from agentcore.stores.protocols import ReadView
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.vocabulary import Vocabulary
from dream.passes.conversation.evidence import Evidence
from dream.passes.conversation.neighbours import are_related
from dream.passes.conversation.reconcile import Meeting, fresh_turns, is_forgotten, retells
from dream.passes.conversation.statement import is_under, reason_of
from dream.passes.episodes.answer import Item
from dream.passes.episodes.episode import (
    EPISODES,
    SESSIONS,
    Episode,
    counted,
    joined,
    least_trust,
    sessions_of,
    sources_of,
)

EPISODE: Final = "episode"
"""Operation of a change set that adds an episode."""
REINFORCE: Final = "reinforce"
"""Operation of a change set that meets an episode again."""


@dataclass(frozen=True, slots=True)
class Again:
    """An item that meets an episode again by its handle, with what shows it."""

    item: Item
    entry_id: str
    evidence: Evidence


Told = Episode | Again


@dataclass(frozen=True, slots=True)
class Known:
    """What the store holds that some episodes could meet.

    Args:
        entries: Active episodes of equal text, made of the same turns, or named by their handle; oldest first.
        forgotten: When texts were forgotten that they say, by fold key.
    """

    entries: tuple[MemoryEntry, ...] = ()
    forgotten: Mapping[str, datetime] = field(default_factory=dict[str, datetime])

    @classmethod
    def of(cls, view: ReadView, told: Sequence[Told]) -> "Known":
        """Look up what is known of them."""
        keys = {fold_key(one.content) for one in told if isinstance(one, Episode)}
        found = {entry.id: entry for entry in view.entries.with_fold_keys(keys)}
        turn_ids = sorted({turn.id for one in told for turn in one.evidence.turns})
        made = view.entries.derived_from(SourceKind.TURN.value, *turn_ids)
        found |= {entry.id: entry for entry in made}
        named = [one.entry_id for one in told if isinstance(one, Again)]
        found |= {entry.id: entry for entry in view.entries.get_many(named)}
        episodes = [entry for entry in found.values() if entry.is_active and is_under(entry.category, (EPISODES,))]
        ordered = sorted(episodes, key=lambda entry: (entry.created_at, entry.recorded_at, entry.id))
        return cls(tuple(ordered), view.forgotten.since(keys))


@dataclass(slots=True)
class _Draft:
    """An entry as it will be, and what made it so."""

    before: MemoryEntry | None
    after: MemoryEntry
    told: list[Told] = field(default_factory=list[Told])


def mark_of(content: str, evidence: Iterable[Evidence]) -> str:
    """Return what a person declines by taking an episode back: these words, from these turns."""
    turns = sorted({turn.id for one in evidence for turn in one.turns})
    return hashlib.blake2b(orjson.dumps([EPISODE, normalise(content), turns]), digest_size=16).hexdigest()


def marks_of(told: Sequence[Told], known: Known) -> frozenset[str]:
    """Return the marks under which a person may have declined any of them."""
    texts = {entry.id: entry.content for entry in known.entries}
    named = {id(one): one.content if isinstance(one, Episode) else texts.get(one.entry_id, "") for one in told}
    return frozenset(mark_of(named[id(one)], [one.evidence]) for one in told)


def meet(
    told: Sequence[Told],
    known: Known,
    declined: frozenset[str],
    *,
    new_id: Callable[[], str],
    as_of: datetime,
    vocabulary: Vocabulary,
) -> Meeting:
    """Fold episodes into what is known and into each other; whatever brings nothing new changes nothing.

    The turns among an entry's sources are those that were counted, and so are the sessions that it names: the same
    answer twice is the same as once, and a session counts once however much is said in it.
    """
    drafts = [_Draft(entry, entry) for entry in known.entries]
    refused: list[Refusal] = []
    counts = Counter[str]()
    for one in told:
        draft = _met(one, drafts, vocabulary)
        refusal = _refusal(one, draft, known, declined)
        if refusal is not None:
            refused.append(refusal)
            continue
        counts.update(["episodes_found", *(one.notes if isinstance(one, Episode) else ())])
        if draft is None and isinstance(one, Episode):
            drafts.append(_Draft(None, one.entry(new_id(), as_of), [one]))
        elif draft is not None and (after := met_again(draft.after, one.evidence, as_of)) != draft.after:
            draft.after = after
            draft.told.append(one)
        else:
            counts["known"] += 1
    changed = [draft for draft in drafts if draft.told]
    counts["new"] = sum(draft.before is None for draft in changed)
    counts["reinforced"] = len(changed) - counts["new"]
    return Meeting(tuple(_change_set(draft) for draft in changed), tuple(refused), counts)


def met_again(entry: MemoryEntry, evidence: Evidence, as_of: datetime) -> MemoryEntry:
    """Return an episode after turns came back to it: it counts once more for each session not counted yet.

    One that is trusted more takes nothing from turns that are trusted less.
    """
    fresh = fresh_turns(entry, evidence.heard)
    if not fresh or least_trust(evidence) < entry.trust:
        return entry
    said = [turn.occurred_at for turn in fresh]
    sessions = counted(entry)
    return replace(
        entry,
        created_at=min(entry.created_at, *said),
        last_seen_at=max(entry.last_seen_at, min(max(said), as_of)),
        own_count=entry.own_count + len(sessions_of(fresh) - sessions),
        metadata={**entry.metadata, SESSIONS: joined(sessions | sessions_of(fresh))},
        sources=tuple(sorted({*entry.sources, *sources_of(evidence)})),
    )


def _met(one: Told, drafts: Iterable[_Draft], vocabulary: Vocabulary) -> _Draft | None:
    if isinstance(one, Again):
        return next((draft for draft in drafts if draft.after.id == one.entry_id), None)
    fitting = [draft for draft in drafts if _is_the_same(one, draft.after, vocabulary)]
    return min(fitting, key=lambda draft: normalise(draft.after.content) != normalise(one.content), default=None)


def _is_the_same(episode: Episode, entry: MemoryEntry, vocabulary: Vocabulary) -> bool:
    if not compatible(entry.subject_time, episode.subject_time):
        return False
    if normalise(entry.content) == normalise(episode.content):
        return True
    # Of two texts only those that rest on the same turn are known to be about the same thing.
    shares = not set(entry.sources).isdisjoint(sources_of(episode.evidence))
    return (
        shares
        and entry.metadata.get("event_type") == episode.event_type
        and retells(episode.content, entry.content, vocabulary)
    )


def _refusal(one: Told, draft: _Draft | None, known: Known, declined: frozenset[str]) -> Refusal | None:
    refusal = _refused(one, draft, known, declined)
    return None if refusal is None else refusal.at(one.item.number)


def _refused(one: Told, draft: _Draft | None, known: Known, declined: frozenset[str]) -> Refusal | None:
    label = one.item.label
    if isinstance(one, Again):
        if draft is None:
            return Refusal(Refused.STALE_SOURCE, one.entry_id)
        if not are_related([turn.content for turn in one.evidence.turns], draft.after.content):
            return Refusal(Refused.UNRELATED, f"{label} and {one.entry_id}")
        is_declined = mark_of(draft.after.content, [one.evidence]) in declined
        return Refusal(Refused.UNDONE_BY_PERSON, label) if is_declined else None
    if is_forgotten(one.content, one.evidence.quoted, known.forgotten):
        return Refusal(Refused.FORGOTTEN, label)
    if mark_of(one.content, [one.evidence]) in declined:
        return Refusal(Refused.UNDONE_BY_PERSON, label)
    return None


def _change_set(draft: _Draft) -> ChangeSet:
    reason = reason_of(draft.told[0].evidence)
    change = Change[MemoryEntry](
        before=draft.before,
        after=draft.after,
        reason=reason if draft.before is None else f"met again: {reason}",
    )
    return ChangeSet(
        operation=EPISODE if draft.before is None else REINFORCE,
        changes=(change,),
        fingerprints={draft.after.id: mark_of(draft.after.content, [one.evidence for one in draft.told])},
    )
