"""Judges the episodes of an answer: what their turns bear out, and which entries they make or reinforce."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import orjson

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import Level, MemoryEntry, SourceKind, SourceRef, Trust
from agentcore.domain.subject_time import SubjectTime, compatible
from agentcore.domain.text import clean_tags, fold_key, normalise
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import EPISODE_EXTRACTION
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.secrets import secret_in
from dream.guards.vocabulary import Vocabulary
from dream.passes.conversation.evidence import TurnEvidence, holds_quote
from dream.passes.conversation.evidence_times import EvidenceTimes, subject_time_of
from dream.passes.conversation.neighbours import are_related
from dream.passes.conversation.reconcile import Reconciliation, fresh_turns, is_forgotten, retells
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
from dream.passes.episodes.prompt import EpisodeItem, EventType

EPISODES: Final = EPISODE_EXTRACTION.categories[0]
"""The category of episodes, with the type of event below it."""
TAG: Final = "episodic"
SESSIONS: Final = "source_sessions"
"""Metadata: the sessions that were counted, with commas between them."""
_LEAST, _MOST = 0.2, 0.95
_LONGEST_ACTOR: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A checked episode.

    Args:
        item: As the model gave it.
        content: What happened.
        event_type: What kind of thing it was.
        actor: Whom it happened through.
        tags: Its tags.
        base: Its importance, below what protects.
        subject_time: The time it is about, if that follows from its turns.
        evidence: What it rests on.
        notes: What the host repaired: names of counts in the report.
    """

    item: EpisodeItem
    content: str
    event_type: EventType
    actor: str
    tags: tuple[str, ...]
    base: float
    subject_time: SubjectTime | None
    evidence: TurnEvidence
    notes: tuple[str, ...]

    @property
    def trust(self) -> Trust:
        """The least trust of its turns; a machine never calls a thing confirmed."""
        return least_trust(self.evidence)

    def entry(self, entry_id: str, as_of: datetime) -> MemoryEntry:
        """Return the entry it makes if nobody knows it yet: one observation per session that tells it."""
        said = [turn.occurred_at for turn in self.evidence.turns]
        sessions = sessions_of(self.evidence.turns)
        return MemoryEntry(
            id=entry_id,
            scope=self.evidence.quoted.scope,
            content=self.content,
            category=category_of(self.event_type),
            tags=self.tags,
            base=self.base,
            created_at=min(said),
            recorded_at=as_of,
            last_seen_at=min(max(said), as_of),
            own_count=max(1, len(sessions_of(self.evidence.heard))),
            subject_time=self.subject_time,
            metadata={"event_type": self.event_type, "actor": self.actor, SESSIONS: joined(sessions)},
            level=Level.DERIVED,
            sources=sources_of(self.evidence),
            trust=self.trust,
        )


def episode_of(item: EpisodeItem, evidence: TurnEvidence, terms: StatementRules) -> Episode | Refusal:
    """Check what an episode says against its turns; return it, or why it must not be remembered."""
    content = statement(item.content, item.label)
    if isinstance(content, Refusal):
        return content
    event_type = next((kind for kind in EventType if kind == item.event_type), None)
    category = category_of(event_type or EventType.CONVERSATION)
    told = EvidenceTimes.of(evidence)
    refusal = (
        secret_told(item.label, f"turn {evidence.quoted.id}", content, evidence.quote)
        or protected(item.label, category, terms)
        or made_up(item.label, content, category, evidence=evidence, told=told, terms=terms)
    )
    if refusal is not None:
        return refusal
    subject_time, dropped = subject_time_of(item.subject_time, told)
    actor = _actor(item.actor, evidence)
    return Episode(
        item=item,
        content=content,
        event_type=event_type or EventType.CONVERSATION,
        actor=actor or speaker_of(evidence.quoted),
        tags=clean_tags((*usable_tags(item.tags), TAG)),
        base=base_below(item.importance, terms.protect_importance, least=_LEAST, most=_MOST),
        subject_time=subject_time,
        evidence=evidence,
        notes=(
            *(["types_repaired"] if event_type is None else []),
            *(["actors_repaired"] if actor is None else []),
            *(["subject_times_dropped"] if dropped else []),
        ),
    )


def category_of(event_type: EventType) -> str:
    """Return where episodes of a type go."""
    return f"{EPISODES}/{event_type}"


def least_trust(evidence: TurnEvidence) -> Trust:
    """Return the least trust of the turns, stated at most."""
    return min([Trust.STATED, *(turn.trust for turn in evidence.turns)])


def sources_of(evidence: TurnEvidence) -> tuple[SourceRef, ...]:
    """Return references to the turns, sorted."""
    return tuple(sorted(SourceRef(SourceKind.TURN, turn.id) for turn in evidence.turns))


def sessions_of(turns: Iterable[Turn]) -> frozenset[str]:
    """Return the sessions in which turns were said."""
    return frozenset(turn.session_id for turn in turns)


def joined(sessions: Iterable[str]) -> str:
    """Return session ids as one text from which `counted` reads them again, whatever they hold."""
    return ",".join(sorted(session.replace("%", "%25").replace(",", "%2C") for session in sessions))


def counted(entry: MemoryEntry) -> frozenset[str]:
    """Return the sessions that an episode counts already.

    Example:
        >>> joined(["b,c", "a%"])
        'a%25,b%2Cc'
    """
    kept = [one for one in entry.metadata.get(SESSIONS, "").split(",") if one]
    return frozenset(one.replace("%2C", ",").replace("%25", "%") for one in kept)


def _actor(given: object, evidence: TurnEvidence) -> str | None:
    """Return the actor that the model gave, if the turns know of one."""
    if not isinstance(given, str) or not given.isprintable() or secret_in(given) is not None:
        return None
    name = " ".join(given.split())
    if not name or len(name) > _LONGEST_ACTOR:
        return None
    if name in {"user", "assistant"}:
        return name if any(turn.role == name for turn in evidence.turns) else None
    speakers = {turn.speaker.casefold() for turn in evidence.turns if turn.speaker}
    known = name.casefold() in speakers or any(holds_quote(turn.content, name) for turn in evidence.turns)
    return name if known else None


EPISODE: Final = "episode"
"""Operation of a change set that adds an episode."""
REINFORCE: Final = "reinforce"
"""Operation of a change set that meets an episode again."""


@dataclass(frozen=True, slots=True)
class EpisodeReinforcement:
    """An item that meets an episode again by its handle, with what shows it."""

    item: EpisodeItem
    entry_id: str
    evidence: TurnEvidence


JudgedEpisode = Episode | EpisodeReinforcement


@dataclass(frozen=True, slots=True)
class EpisodeCandidates:
    """What the store holds that some episodes could meet.

    Args:
        entries: Active episodes of equal text, made of the same turns, or named by their handle; oldest first.
        forgotten: When texts were forgotten that they say, by fold key.
    """

    entries: tuple[MemoryEntry, ...] = ()
    forgotten: Mapping[str, datetime] = field(default_factory=dict[str, datetime])

    @classmethod
    def of(cls, view: ReadView, told: Sequence[JudgedEpisode]) -> "EpisodeCandidates":
        """Look up what is known of them."""
        keys = {fold_key(one.content) for one in told if isinstance(one, Episode)}
        found = {entry.id: entry for entry in view.entries.with_fold_keys(keys)}
        turn_ids = sorted({turn.id for one in told for turn in one.evidence.turns})
        made = view.entries.derived_from(SourceKind.TURN.value, *turn_ids)
        found |= {entry.id: entry for entry in made}
        named = [one.entry_id for one in told if isinstance(one, EpisodeReinforcement)]
        found |= {entry.id: entry for entry in view.entries.get_many(named)}
        episodes = [entry for entry in found.values() if entry.is_active and is_under(entry.category, (EPISODES,))]
        ordered = sorted(episodes, key=lambda entry: (entry.created_at, entry.recorded_at, entry.id))
        return cls(tuple(ordered), view.forgotten.since(keys))


@dataclass(slots=True)
class _EpisodeDraft:
    """An entry as it will be, and what made it so."""

    before: MemoryEntry | None
    after: MemoryEntry
    told: list[JudgedEpisode] = field(default_factory=list[JudgedEpisode])


def mark_of(content: str, evidence: Iterable[TurnEvidence]) -> str:
    """Return what a person declines by taking an episode back: these words, from these turns."""
    turns = sorted({turn.id for one in evidence for turn in one.turns})
    return hashlib.blake2b(orjson.dumps([EPISODE, normalise(content), turns]), digest_size=16).hexdigest()


def marks_of(told: Sequence[JudgedEpisode], known: EpisodeCandidates) -> frozenset[str]:
    """Return the marks under which a person may have declined any of them."""
    texts = {entry.id: entry.content for entry in known.entries}
    named = {id(one): one.content if isinstance(one, Episode) else texts.get(one.entry_id, "") for one in told}
    return frozenset(mark_of(named[id(one)], [one.evidence]) for one in told)


def reconcile(
    told: Sequence[JudgedEpisode],
    known: EpisodeCandidates,
    declined: frozenset[str],
    *,
    new_id: Callable[[], str],
    as_of: datetime,
    vocabulary: Vocabulary,
) -> Reconciliation:
    """Fold episodes into what is known and into each other; whatever brings nothing new changes nothing.

    The turns among an entry's sources are those that were counted, and so are the sessions that it names: the same
    answer twice is the same as once, and a session counts once however much is said in it.
    """
    drafts = [_EpisodeDraft(entry, entry) for entry in known.entries]
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
            drafts.append(_EpisodeDraft(None, one.entry(new_id(), as_of), [one]))
        elif draft is not None and (after := met_again(draft.after, one.evidence, as_of)) != draft.after:
            draft.after = after
            draft.told.append(one)
        else:
            counts["known"] += 1
    changed = [draft for draft in drafts if draft.told]
    counts["new"] = sum(draft.before is None for draft in changed)
    counts["reinforced"] = len(changed) - counts["new"]
    return Reconciliation(tuple(_change_set(draft) for draft in changed), tuple(refused), counts)


def met_again(entry: MemoryEntry, evidence: TurnEvidence, as_of: datetime) -> MemoryEntry:
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


def _met(one: JudgedEpisode, drafts: Iterable[_EpisodeDraft], vocabulary: Vocabulary) -> _EpisodeDraft | None:
    if isinstance(one, EpisodeReinforcement):
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


def _refusal(
    one: JudgedEpisode, draft: _EpisodeDraft | None, known: EpisodeCandidates, declined: frozenset[str]
) -> Refusal | None:
    refusal = _refused(one, draft, known, declined)
    return None if refusal is None else refusal.at(one.item.number)


def _refused(
    one: JudgedEpisode, draft: _EpisodeDraft | None, known: EpisodeCandidates, declined: frozenset[str]
) -> Refusal | None:
    label = one.item.label
    if isinstance(one, EpisodeReinforcement):
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


def _change_set(draft: _EpisodeDraft) -> ChangeSet:
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
