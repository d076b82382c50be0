"""Tells people how a fleet stands: what is due and offered, who works, and what holds dreams back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from dream.stores import dream_stores

RATE_WINDOW = timedelta(seconds=10)
"""Over how long tokens of models are counted."""

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from agentcore.stores.storage import ReadView, Storage
    from dream.stores import TenantStanding, WorkerRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetStatus:
    """How a fleet stands.

    Args:
        at: When that was so.
        tenants: Those that have something due or offered, the most due first.
        workers: Who works, the newest first.
        overdue: Median and 99th percentile of how long scopes that are due wait to be offered; None if none does.
        pauses: Until when each model is asked nothing, of those that refused a call.
        tokens: Tokens asked of each model in the ten seconds that run now, of those whose rate is bounded.
    """

    at: datetime
    tenants: tuple[TenantStanding, ...]
    workers: tuple[WorkerRecord, ...]
    overdue: tuple[timedelta, timedelta] | None
    pauses: Mapping[str, datetime]
    tokens: Mapping[str, int]

    @property
    def due(self) -> int:
        """Scopes that are due and not offered, of the tenants that are shown."""
        return sum(one.due for one in self.tenants)

    @property
    def offered(self) -> int:
        """Scopes that are offered or dream, of the tenants that are shown."""
        return sum(one.offered for one in self.tenants)

    @property
    def running(self) -> int:
        """Dreams under way, as workers told last."""
        return sum(one.under_way for one in self.workers)

    def held_back_by(self, silence: timedelta) -> list[str]:
        """Return why due scopes wait, in sentences.

        Args:
            silence: After how much of it a worker counts as gone.
        """
        living = [one for one in self.workers if one.seen_at > self.at - silence and one.stopping_at is None]
        capacity = sum(one.at_once for one in living)
        said: list[str] = []
        if not living and (self.due or self.offered):
            said.append("No worker lives: start one with `dream work`.")
        elif self.due and self.offered >= 2 * capacity:
            said.append(f"All places are taken: the workers hold {capacity:,} dreams at once; start another one.")
        elif self.due and self.offered:
            said.append("Some tenants have as much under way as --per-tenant or --in-fleet allows.")
        if len({one.options_hash for one in living}) > 1:
            said.append("Workers with unequal options work here: due times go by the one that started last.")
        said += [f"The model {model} refused a call and is asked again later." for model in self.pauses]
        return said


async def read_fleet_status(storage: Storage, *, tenants: int) -> FleetStatus:
    """Return how the fleet of a database stands.

    Args:
        storage: The database.
        tenants: So many at most.
    """

    def look(view: ReadView) -> FleetStatus:
        books = dream_stores(view)
        return FleetStatus(
            at=view.now,
            tenants=tuple(books.offers.standing(limit=tenants)),
            workers=tuple(books.workers.all()),
            overdue=books.offers.overdue(),
            pauses=books.rates.pauses(),
            tokens=books.rates.tokens(window=RATE_WINDOW),
        )

    return await storage.read(None, look)
