"""Judges the episodes of an answer: what their turns bear out, and which entries they make or reinforce."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Final

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import Level, MemoryEntry
from agentcore.domain.subject_time import compatible
from agentcore.domain.text import clean_tags
from dream.domain.built_in_passes import EPISODE_EXTRACTION
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.names import Vocabulary
from dream.guards.secrets import secret_in
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.passes.conversation.evidence import EvidenceTimes, TurnEvidence, subject_time_of
from dream.passes.conversation.quotes import holds_quote
from dream.passes.conversation.reconcile import EntryDraft, Reconciler, Reinforcement
from dream.passes.conversation.statement import (
    StatementRules,
    TurnStatement,
    base_below,
    protected,
    secret_told,
    speaker_of,
    statement,
    usable_tags,
)
from dream.passes.episodes.prompt import EpisodeItem, EventType
from dream.passes.terms import terms_of

EPISODES: Final = EPISODE_EXTRACTION.categories[0]
"""The category of episodes, with the type of event below it."""
TAG: Final = "episodic"
SESSIONS: Final = "source_sessions"
"""Metadata: the sessions that were counted, with commas between them."""
_LEAST, _MOST = 0.2, 0.95
_LONGEST_ACTOR: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode(TurnStatement):
    """A checked episode.

    Args:
        event_type: What kind of thing it was.
        actor: Whom it happened through.
    """

    level: ClassVar[Level] = Level.DERIVED

    event_type: EventType
    actor: str

    def entry(self, entry_id: str, as_of: datetime) -> MemoryEntry:
        """Return the entry it makes if nobody knows it yet: one observation per session that tells it."""
        sessions = sessions_of(self.evidence.turns)
        return replace(
            TurnStatement.entry(self, entry_id, as_of),
            own_count=max(1, len(sessions_of(self.evidence.heard))),
            metadata={"event_type": self.event_type, "actor": self.actor, SESSIONS: joined(sessions)},
        )


def episode_of(item: EpisodeItem, evidence: TurnEvidence, terms: StatementRules) -> Episode | Refusal:
    """Return an episode as far as it may be remembered whatever its turns say of it, or why it must not be."""
    content = statement(item.content, item.label)
    if isinstance(content, Refusal):
        return content
    event_type = next((kind for kind in EventType if kind == item.event_type), None)
    category = category_of(event_type or EventType.CONVERSATION)
    refusal = secret_told(item.label, f"turn {evidence.quoted.id}", content, evidence.quote) or protected(
        item.label, category, terms
    )
    if refusal is not None:
        return refusal
    subject_time, dropped = subject_time_of(item.subject_time, EvidenceTimes.of(evidence))
    actor = _actor(item.actor, evidence)
    return Episode(
        number=item.number,
        label=item.label,
        content=content,
        category=category,
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


JudgedEpisode = Episode | Reinforcement


class EpisodeReconciler(Reconciler[Episode]):
    """Reconciles episodes with known ones; a session counts once however much is said in it."""

    adds: ClassVar[str] = EPISODE
    found: ClassVar[str] = "episodes_found"
    again: ClassVar[str] = "met again"
    within: ClassVar[str | None] = EPISODES

    def is_same(self, statement: Episode, entry: MemoryEntry, *, is_equal: bool) -> bool:
        """Tell whether an episode of the same type, or of equal text, tells the same."""
        is_alike = is_equal or entry.metadata.get("event_type") == statement.event_type
        return is_alike and Reconciler[Episode].is_same(self, statement, entry, is_equal=is_equal)

    def refusal(self, statement: JudgedEpisode, draft: EntryDraft[Episode] | None) -> Refusal | None:
        """Return why an episode must not be remembered: also where a fact of the same turns tells all of it."""
        found = Reconciler[Episode].refusal(self, statement, draft)
        if found is not None or draft is not None or isinstance(statement, Reinforcement):
            return found
        told = any(_is_told_by(statement, entry, self.vocabulary) for entry in self.known.elsewhere)
        return Refusal(Refused.ALREADY_KNOWN, statement.label) if told else None

    def with_observation(self, entry: MemoryEntry, fresh: Sequence[Turn]) -> MemoryEntry:
        """Return an episode that counts once more for each session that is not counted yet."""
        known, sessions = counted(entry), sessions_of(fresh)
        return replace(
            entry,
            own_count=entry.own_count + len(sessions - known),
            metadata={**entry.metadata, SESSIONS: joined(known | sessions)},
        )


def _is_told_by(episode: Episode, entry: MemoryEntry, vocabulary: Vocabulary) -> bool:
    """Tell whether an entry made of the same turns has every word of an episode, and none of its values differs."""
    return (
        not set(entry.sources).isdisjoint(episode.sources)
        and compatible(entry.subject_time, episode.subject_time)
        and set(terms_of(episode.content)) <= set(terms_of(entry.content))
        and judge(episode.content, [EvidenceText(text=entry.content)], vocabulary=vocabulary).verdict
        is not Verdict.REFUTED
    )
