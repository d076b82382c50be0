"""Decides whether a filter admits an entry that has been read."""

from collections.abc import Collection

from agentcore.domain.filters import RecallFilter
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.subject_time import overlaps


def admits(where: RecallFilter, entry: MemoryEntry) -> bool:
    """Tell whether *entry* meets every condition of *where*.

    Example:
        >>> from datetime import UTC, datetime
        >>> from agentcore.domain.scope import Scope
        >>> now = datetime(2025, 5, 1, tzinfo=UTC)
        >>> entry = MemoryEntry(id="a", scope=Scope.default(), content="Ana likes tea", category="people/ana",
        ...                     created_at=now, recorded_at=now, last_seen_at=now)
        >>> admits(RecallFilter(category="people"), entry), admits(RecallFilter(category="peo"), entry)
        (True, False)
    """
    return (
        (not where.statuses or entry.status in where.statuses)
        and (where.category is None or is_within(entry.category, where.category))
        and has_tags(where, entry.tags)
        and is_of_kind((where.level, where.pattern, where.confidence), (entry.level, entry.pattern, entry.confidence))
        and (where.created_after is None or entry.created_at >= where.created_after)
        and (where.created_before is None or entry.created_at < where.created_before)
        and (where.seen_after is None or entry.last_seen_at >= where.seen_after)
        and (where.seen_before is None or entry.last_seen_at < where.seen_before)
        and (where.about is None or (entry.subject_time is not None and overlaps(where.about, entry.subject_time)))
    )


def is_within(category: str, branch: str) -> bool:
    """Tell whether a category is a branch or stands below it."""
    return category == branch or category.startswith(f"{branch}/")


def is_of_kind(wanted: tuple[object, ...], found: tuple[object, ...]) -> bool:
    """Tell whether level, pattern and confidence are those that a filter names."""
    return all(asked is None or asked is given for asked, given in zip(wanted, found, strict=True))


def has_tags(where: RecallFilter, tags: Collection[str]) -> bool:
    """Tell whether *tags* are what a filter asks for: all of the one kind, any of the other."""
    return set(where.tags).issubset(tags) and (not where.any_tags or not set(where.any_tags).isdisjoint(tags))
