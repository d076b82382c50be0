"""Reads what entries must meet to be recalled, as callers say it."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, TypedDict

from agentcore.domain.conclusion import Confidence, Pattern
from agentcore.domain.filters import RecallFilter
from agentcore.domain.memory import Level
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.text import clean_category, clean_tags
from agentcore.hosting.checks import clean_instant, clean_member, clean_subject_time, refuse_unknown


class RecallFilters(TypedDict, total=False):
    """What entries must meet to be recalled; all of it, and whatever is not given admits every entry."""

    category: str | None
    """This category and everything below it."""
    tags: Iterable[str]
    """All of these tags."""
    any_tags: Iterable[str]
    """At least one of these tags."""
    level: Level | str | None
    """Known in this way: `explicit`, `derived`, `deductive` or `inductive`."""
    pattern: Pattern | str | None
    """Conclusions of this sort of pattern, such as `preference`."""
    confidence: Confidence | str | None
    """Patterns that are so sure: `low`, `medium` or `high`."""
    created_after: datetime | None
    """First said at or after this instant, aware."""
    created_before: datetime | None
    """First said before this instant, aware."""
    seen_after: datetime | None
    """Last seen at or after this instant, aware."""
    seen_before: datetime | None
    """Last seen before this instant, aware."""
    about: SubjectTime | str | None
    """About a time that overlaps this one, such as `2025-05` or `1995..2003`."""


def _level(value: Level | str | None) -> Level | None:
    return None if value is None else clean_member(Level, "level", value)


def _pattern(value: Pattern | str | None) -> Pattern | None:
    return None if value is None else clean_member(Pattern, "pattern", value)


def _confidence(value: Confidence | str | None) -> Confidence | None:
    return None if value is None else clean_member(Confidence, "confidence", value)


def _category(value: str | None) -> str | None:
    return None if value is None else clean_category(value)


_CLEAN: Final[dict[str, Callable[[Any], object]]] = {
    "category": _category,
    "tags": clean_tags,
    "any_tags": clean_tags,
    "level": _level,
    "pattern": _pattern,
    "confidence": _confidence,
    "created_after": clean_instant,
    "created_before": clean_instant,
    "seen_after": clean_instant,
    "seen_before": clean_instant,
    "about": clean_subject_time,
}


def recall_filter(conditions: Mapping[str, Any]) -> RecallFilter | None:
    """Return the filter that `RecallFilters` say; None where they admit everything.

    Raises:
        InvalidInputError: a condition cannot be read.
        TypeError: there is no such condition.

    Example:
        >>> where = recall_filter({"category": "people/Ana ", "level": "derived"})
        >>> where.category, where.level
        ('people/Ana', <Level.DERIVED: 'derived'>)
        >>> recall_filter({"tags": []}) is None
        True
    """
    if not conditions:
        return None
    refuse_unknown(conditions, _CLEAN)
    where = RecallFilter(**{name: _CLEAN[name](value) for name, value in conditions.items()})  # pyright: ignore[reportArgumentType]
    return None if where == RecallFilter() else where
