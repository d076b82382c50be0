"""Defines what a reader of entries asks for."""

from dataclasses import dataclass
from datetime import datetime

from agentcore.domain.conclusion import Confidence, Pattern
from agentcore.domain.memory import Level, Status
from agentcore.domain.subject_time import SubjectTime


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFilter:
    """Conditions that all must hold of a turn; the default is every turn.

    Args:
        session_id: This conversation alone.
        besides: Any conversation but this.
        said_after: Said at or after this instant.
        said_before: Said before this instant.
    """

    session_id: str | None = None
    besides: str | None = None
    said_after: datetime | None = None
    said_before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFilter:
    """Conditions that all must hold; the default is every active entry.

    Args:
        statuses: Admitted states; empty admits all.
        category: This category and everything below it.
        tags: All of these tags.
        level: This level only.
        pattern: Conclusions of this sort of pattern only.
        confidence: Patterns that are so sure only.
        created_after: First said at or after this instant.
        created_before: First said before this instant.
    """

    statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    category: str | None = None
    tags: tuple[str, ...] = ()
    level: Level | None = None
    pattern: Pattern | None = None
    confidence: Confidence | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallFilter(EntryFilter):
    """Conditions that all must hold of an entry that is recalled; the default is every active entry.

    Args:
        any_tags: At least one of these tags.
        seen_after: Last reinforced at or after this instant.
        seen_before: Last reinforced before this instant.
        about: Said to be about a time that overlaps this one, or held then until another entry took its place; an entry
            without a subject time that neither took another's place nor lost its own is about none.
    """

    any_tags: tuple[str, ...] = ()
    seen_after: datetime | None = None
    seen_before: datetime | None = None
    about: SubjectTime | None = None
