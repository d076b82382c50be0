"""Defines a memory entry: one thing the agent knows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Final

from agentcore.domain.conclusion import Confidence, Pattern, Premise
from agentcore.domain.evidence import (
    Evidence,
    EvidenceVerdict,
    SourceKind,
    SourceRef,
    exact_words,
    united_evidence,
    weakest,
)
from agentcore.domain.scope import Scope
from agentcore.domain.subject_time import PartialDate, SubjectTime
from agentcore.errors import InvalidContentError


class Level(StrEnum):
    """How an entry came to be known."""

    EXPLICIT = "explicit"
    """Said, observed or imported."""
    DERIVED = "derived"
    """Written by a dream from other records: a merge or a rewording."""
    DEDUCTIVE = "deductive"
    """Follows from its premises; gone where one of them goes."""
    INDUCTIVE = "inductive"
    """A pattern over several occasions, as sure as they are many."""


CONCLUSIONS: Final = frozenset({Level.DEDUCTIVE, Level.INDUCTIVE})
"""Levels of entries that rest on premises."""
PREMISE_GONE: Final = "premise_gone"
"""How the reason begins for which the host sets a conclusion aside that lacks what it rests on."""


class Trust(IntEnum):
    """How far the origin of a text is trusted; a derived entry carries the least of its sources."""

    UNTRUSTED = 0
    """Web pages, tool output, strangers."""
    INFERRED = 1
    """The agent's or a model's own words."""
    STATED = 2
    """Said by a participant, or imported by the host."""
    CONFIRMED = 3
    """Confirmed by a person."""


class Status(StrEnum):
    """Whether an entry is current."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    """A later fact replaced it; `successor` names that fact."""
    ARCHIVED = "archived"
    """Set aside with a reason; purged after the retention window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """One thing the agent knows; immutable, replaced whole under optimistic versions.

    Args:
        id: Unique within the scope.
        scope: Whose knowledge it is.
        content: The text, at most 100,000 characters.
        category: Slash path such as `people/ana`.
        tags: Sorted, distinct.
        base: Importance at the last reinforcement, 0..1; what is stored (see `agentcore.domain.decay`).
        importance: Importance as of the instant of reading, 0..1; never stored, equals `base` until decayed.
        created_at: When it was first said or seen (`occurred_at` of the first observation).
        recorded_at: When this store first held it.
        updated_at: Last rewrite of its text or filing; None if never rewritten.
        last_seen_at: Last reinforcement.
        own_count: Times it was observed itself; >= 1, or 0 where a model merged what it absorbed.
        absorbed: Distinct observations taken over from merged entries: `(entry id, times observed)`, sorted.
        subject_time: The time the content is about, if it is about one.
        metadata: Free string pairs; `requires_user_permission` is sticky through merges.
        level: How it came to be known.
        sources: Records it came from, sorted.
        evidence: The sentences it rests on, earliest said first, at most 20; they stay when their turns go.
        trust: Trust of its origin.
        pinned: Never decays out of sight, never dropped by a dream.
        status: Active, superseded or archived.
        status_reason: Why it is not active; None while active.
        successor: Id of the entry that took its place, if one did.
        status_at: When it left the active state.
        valid_until: When what it says stopped to hold, where it is superseded and that is known.
        pattern: What sort of pattern it tells; of an inductive conclusion alone.
        confidence: How sure that is, by its occasions.
        premises: What a conclusion rests on, sorted; of no other entry.
        version: Optimistic version; grows with every write, undo included.
    """

    id: str
    scope: Scope
    content: str
    category: str = "general"
    tags: tuple[str, ...] = ()
    base: float = 0.5
    importance: float = field(default=-1.0, compare=False)
    created_at: datetime
    recorded_at: datetime
    updated_at: datetime | None = None
    last_seen_at: datetime
    own_count: int = 1
    absorbed: tuple[tuple[str, int], ...] = ()
    subject_time: SubjectTime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    level: Level = Level.EXPLICIT
    sources: tuple[SourceRef, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    trust: Trust = Trust.STATED
    pinned: bool = False
    status: Status = Status.ACTIVE
    status_reason: str | None = None
    successor: str | None = None
    status_at: datetime | None = None
    valid_until: PartialDate | None = None
    pattern: Pattern | None = None
    confidence: Confidence | None = None
    premises: tuple[Premise, ...] = ()
    version: int = field(default=1, compare=False)

    def __post_init__(self) -> None:
        """Check the ranges, fill `importance` where nobody has decayed it yet, and bring evidence into its order."""
        if not 0.0 <= self.base <= 1.0:
            raise InvalidContentError(field="importance", problem=f"{self.base} is not between 0 and 1")
        least = 0 if self.absorbed else 1
        if self.own_count < least:
            raise InvalidContentError(field="reinforcement count", problem=f"{self.own_count} is below {least}")
        self._check_premises()
        if self.importance < 0.0:
            object.__setattr__(self, "importance", self.base)
        if self.evidence:
            object.__setattr__(self, "evidence", united_evidence([self.evidence]))

    @property
    def reinforcement_count(self) -> int:
        """Times observed, summed over distinct observations."""
        return self.own_count + sum(count for _, count in self.absorbed)

    @property
    def occurred_at(self) -> datetime:
        """When it was first said (the same instant as `created_at`)."""
        return self.created_at

    @property
    def was_said(self) -> bool:
        """Whether it is what people said, and not what was made of other entries: its sources are turns alone."""
        turns = {source.kind for source in self.sources} == {SourceKind.TURN}
        return self.level is Level.EXPLICIT and turns

    @property
    def verdict(self) -> EvidenceVerdict:
        """How it is known that it says what its evidence says: the weakest verdict; unverified without evidence."""
        return weakest(one.verdict for one in self.evidence)

    @property
    def is_conclusion(self) -> bool:
        """Whether it rests on premises, and stands as long as they do."""
        return self.level in CONCLUSIONS

    @property
    def lost_premises(self) -> bool:
        """Whether the host set it aside since it lacks what it rests on."""
        return self.status is Status.ARCHIVED and (self.status_reason or "").startswith(PREMISE_GONE)

    def _check_premises(self) -> None:
        if self.is_conclusion != bool(self.premises):
            problem = f"an entry of level {self.level} has {len(self.premises)}; conclusions alone have some"
            raise InvalidContentError(field="premises", problem=problem)
        unnamed = {SourceRef(SourceKind.ENTRY, one.entry_id) for one in self.premises} - set(self.sources)
        if unnamed:
            problem = f"{min(unnamed)} is none of its sources; name each premise among them"
            raise InvalidContentError(field="premises", problem=problem)
        is_pattern = self.level is Level.INDUCTIVE
        if (self.pattern is not None) != is_pattern or (self.confidence is not None) != is_pattern:
            problem = "inductive conclusions, and these alone, have a pattern and a confidence"
            raise InvalidContentError(field="pattern", problem=problem)

    @property
    def is_active(self) -> bool:
        """Whether readers see it."""
        return self.status is Status.ACTIVE


def own_words(entry: MemoryEntry, at: datetime, by: str) -> Evidence:
    """Return the evidence of a text that somebody wrote by hand: the text itself.

    Args:
        entry: What was written.
        at: When.
        by: Who vouches for it.
    """
    return Evidence(
        source=SourceRef(SourceKind.ENTRY, entry.id),
        said_at=at,
        sentence=exact_words(entry.content),
        verdict=EvidenceVerdict.PROVEN,
        verified_by=by,
    )


def last_rewrite(entries: Iterable[MemoryEntry]) -> datetime | None:
    """Return when a text among *entries*, or its filing, was rewritten last; None if never."""
    return max((entry.updated_at for entry in entries if entry.updated_at is not None), default=None)
