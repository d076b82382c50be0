"""Which entries and turns a filter lets through, once they are at hand."""

from agentcore.domain.conversation import Turn
from agentcore.domain.filters import EntryFilter, TurnFilter
from agentcore.domain.memory import MemoryEntry


def admits(where: EntryFilter, entry: MemoryEntry) -> bool:
    """Tell whether *entry* meets every condition of *where*.

    Example:
        >>> from datetime import UTC, datetime
        >>> from agentcore.domain.scope import Scope
        >>> now = datetime(2025, 5, 1, tzinfo=UTC)
        >>> entry = MemoryEntry(id="a", scope=Scope.default(), content="Ana likes tea", category="people/ana",
        ...                     created_at=now, recorded_at=now, last_seen_at=now)
        >>> admits(EntryFilter(category="people"), entry), admits(EntryFilter(category="peo"), entry)
        (True, False)
    """
    return (
        (not where.statuses or entry.status in where.statuses)
        and (where.category is None or _is_within(entry.category, where.category))
        and set(where.tags).issubset(entry.tags)
        and (where.level is None or entry.level is where.level)
        and (where.created_after is None or entry.created_at >= where.created_after)
        and (where.created_before is None or entry.created_at < where.created_before)
    )


def admits_turn(where: TurnFilter, turn: Turn) -> bool:
    """Tell whether *turn* meets every condition of *where*.

    Example:
        >>> from datetime import UTC, datetime
        >>> from agentcore.domain.scope import Scope
        >>> now = datetime(2025, 5, 1, tzinfo=UTC)
        >>> turn = Turn(id="t", scope=Scope.default(), session_id="s1", role="user", content="Hi", occurred_at=now,
        ...             recorded_at=now)
        >>> admits_turn(TurnFilter(session_id="s1"), turn), admits_turn(TurnFilter(besides="s1"), turn)
        (True, False)
    """
    return (
        (where.session_id is None or turn.session_id == where.session_id)
        and (where.besides is None or turn.session_id != where.besides)
        and (where.said_after is None or turn.occurred_at >= where.said_after)
        and (where.said_before is None or turn.occurred_at < where.said_before)
    )


def _is_within(category: str, branch: str) -> bool:
    return category == branch or category.startswith(f"{branch}/")
