"""An episode: what is left of an item of the answer once the host has checked and computed all it can."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import Level, MemoryEntry, SourceKind, SourceRef, Trust
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.text import clean_tags
from dream.domain.built_in_passes import EPISODE_EXTRACTION
from dream.domain.proposal import Refusal
from dream.guards.secrets import secret_in
from dream.passes.conversation.evidence import Evidence, holds_quote
from dream.passes.conversation.statement import (
    Terms,
    base_below,
    made_up,
    protected,
    secret_told,
    speaker_of,
    statement,
    usable_tags,
)
from dream.passes.conversation.times import ToldTimes, subject_time_of
from dream.passes.episodes.answer import Item

EPISODES: Final = EPISODE_EXTRACTION.categories[0]
"""The category of episodes, with the type of event below it."""
TAG: Final = "episodic"
SESSIONS: Final = "source_sessions"
"""Metadata: the sessions that were counted, with commas between them."""
_LEAST, _MOST = 0.2, 0.95
_LONGEST_ACTOR: Final = 100


class EventType(StrEnum):
    """What kind of thing happened."""

    CONVERSATION = "conversation"
    TASK = "task"
    DECISION = "decision"
    DISCOVERY = "discovery"
    PROBLEM = "problem"


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

    item: Item
    content: str
    event_type: EventType
    actor: str
    tags: tuple[str, ...]
    base: float
    subject_time: SubjectTime | None
    evidence: Evidence
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


def episode_of(item: Item, evidence: Evidence, terms: Terms) -> Episode | Refusal:
    """Check what an episode says against its turns; return it, or why it must not be remembered."""
    content = statement(item.content, item.label)
    if isinstance(content, Refusal):
        return content
    event_type = next((kind for kind in EventType if kind == item.event_type), None)
    category = category_of(event_type or EventType.CONVERSATION)
    told = ToldTimes.of(evidence)
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


def least_trust(evidence: Evidence) -> Trust:
    """Return the least trust of the turns, stated at most."""
    return min([Trust.STATED, *(turn.trust for turn in evidence.turns)])


def sources_of(evidence: Evidence) -> tuple[SourceRef, ...]:
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


def _actor(given: object, evidence: Evidence) -> str | None:
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
