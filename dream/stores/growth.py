"""Counts what a memory holds, by the day it came and by its importance, whatever its size."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from sqlalchemy import func, literal_column, select

from agentcore.domain.memory import Status
from agentcore.domain.temporal import from_micros
from agentcore.stores.sql.schema import entries
from agentcore.stores.sql.transaction import of_my_scope

if TYPE_CHECKING:
    from agentcore.stores.sql.transaction import Transaction

_DAY: Final = 86_400_000_000
_BANDS: Final = 10
_ACTIVE: Final = of_my_scope(entries) & (entries.c.status == Status.ACTIVE.value)
# A literal, because PostgreSQL takes an expression with a parameter for another one where it groups by it.
_CAME: Final = entries.c.recorded_at.op("/")(literal_column(str(_DAY))).label("day")
_SEEN: Final = entries.c.last_seen_at.op("/")(literal_column(str(_DAY))).label("day")
_BY_DAY: Final = select(_CAME, func.count()).where(_ACTIVE).group_by(_CAME).order_by(_CAME)
_BY_IMPORTANCE: Final = select(_SEEN, entries.c.base, func.count()).where(_ACTIVE).group_by(_SEEN, entries.c.base)


class MemoryGrowth:
    """What one scope holds, counted in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def by_day(self) -> dict[str, int]:
        """Return how many active entries came on each day (UTC), the earliest day first."""
        rows = self._transaction.execute(_BY_DAY)
        return {_day(day).date().isoformat(): count for day, count in rows}

    def by_importance(self) -> list[int]:
        """Return how many active entries are of each tenth of importance now, the least first.

        Days are taken for instants, so that an entry at the edge of a tenth may stand in the next.
        """
        decay, now = self._transaction.decay, self._transaction.now
        found = Counter[int]()
        for day, base, count in self._transaction.execute(_BY_IMPORTANCE):
            value = decay.value(base, _day(day) + timedelta(hours=12), now)
            found[min(_BANDS - 1, int(value * _BANDS))] += count
        return [found[band] for band in range(_BANDS)]


def _day(day: int) -> datetime:
    return from_micros(day * _DAY).astimezone(UTC)
