"""Chooses which due scopes are offered to the workers of a fleet, and tells how this worker stands."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from agentcore.errors import StorageError
from dream.cycle.scheduling.queue import Offer
from dream.stores import dream_stores

if TYPE_CHECKING:
    from agentcore.hosting.services import HostServices
    from agentcore.stores.storage import UnitOfWork
    from dream.cycle.fleet.model_rates import FleetRates
    from dream.cycle.scheduling.queue import DreamQueue
    from dream.stores import AdmittedScope, WorkerRecord

BEATS_EVERY: Final = timedelta(seconds=5)
WORKER_SILENCE: Final = timedelta(seconds=30)
"""After how long without a beat a worker no longer counts."""
_OFFERED_FOR: Final = timedelta(minutes=1)
"""How long an offer stands; the worker that took it up has it stand as long again, with each beat."""
_DROPPED_FOR: Final = BEATS_EVERY
"""The same of one that the queue dropped, because an earlier one of the scope is still in it."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetLimits:
    """How much a fleet has under way at once.

    Args:
        per_tenant: Scopes of one workspace that are offered at once.
        in_fleet: Scopes that are offered at once in all; never more than twice what the workers can hold.
    """

    per_tenant: int = 1_000_000
    in_fleet: int = 1_000_000


class FleetAdmission:
    """Offers what is due to whichever worker is free; every worker does so, and one at a time.

    The due times, what is offered of them and who works stand in the database alone. Lives as long as the worker.

    Args:
        parts: What the host offers.
        queue: Takes what is chosen.
        worker: How the worker stands as it starts.
        limits: How much is offered at once.
        rates: What models may be asked; None for no bound.
    """

    tick: timedelta | None = timedelta(seconds=1)

    def __init__(
        self,
        parts: HostServices,
        queue: DreamQueue,
        worker: WorkerRecord,
        limits: FleetLimits,
        rates: FleetRates | None = None,
    ) -> None:
        self._parts = parts
        self._queue = queue
        self._worker = worker
        self._limits = limits
        self._rates = rates
        self._offers: dict[int, Offer] = {}
        self._released: list[tuple[int, int]] = []
        self._beat_at = datetime.min.replace(tzinfo=worker.started_at.tzinfo)

    @property
    def under_way(self) -> int:
        """How many dreams the worker has under way."""
        return len(self._offers)

    def begin_round(self) -> None:
        """Do nothing: all that counts is stored."""

    def begun(self, offer: Offer) -> None:
        """Count an offer that the worker has taken up."""
        self._offers[offer.key] = offer

    def ended(self, offer: Offer) -> None:
        """Have the offer taken back with the next look."""
        self._offers.pop(offer.key, None)
        self._released.append((offer.key, offer.number))
        self._worker = replace(self._worker, handled=self._worker.handled + 1)

    async def admit(self) -> datetime | None:
        """Offer what is due as far as the workers can hold it; return when to look again."""
        now = self._parts.clock.now()
        released, self._released = self._released, []
        is_beat = now >= self._beat_at + BEATS_EVERY or now < self._beat_at
        self._parts.slots.share_among(self._worker.at_once)
        if self._rates is not None:
            await self._rates.refresh()
        try:
            chosen = await self._parts.storage.write(None, lambda unit: self._stored(unit, released, is_beat=is_beat))
        except StorageError:
            self._released = released + self._released
            raise
        self._beat_at = now if is_beat else self._beat_at
        await self._brought(chosen)
        return now + (self.tick or BEATS_EVERY)

    async def _brought(self, chosen: _Chosen) -> None:
        """Have the queue carry what was chosen, and nothing that has run out; what it cannot take is taken back."""
        offers = [
            Offer(key=one.key, scope=one.scope, number=one.number, priority=one.priority) for one in chosen.admitted
        ]
        try:
            await self._queue.withdraw(chosen.expired)
            dropped = await self._queue.offer(offers)
        except StorageError:
            self._released += [(one.key, one.number) for one in offers]
            raise
        if dropped:
            await self._parts.storage.write(
                None, lambda unit: dream_stores(unit).offers.renew(dropped, until=unit.now + _DROPPED_FOR)
            )

    async def stopping(self) -> None:
        """Tell that the worker takes nothing more, so that no place of it counts."""
        self._worker = replace(self._worker, stopping_at=self._parts.clock.now())
        await self._parts.storage.write(None, self._told)

    async def left(self) -> None:
        """Tell that the worker is gone."""
        holder = self._worker.holder
        await self._parts.storage.write(None, lambda unit: dream_stores(unit).workers.leave(holder))

    def _told(self, unit: UnitOfWork) -> None:
        worker = replace(self._worker, under_way=self.under_way)
        dream_stores(unit).workers.beat(worker, silence=WORKER_SILENCE)

    def _stored(self, unit: UnitOfWork, released: list[tuple[int, int]], *, is_beat: bool) -> _Chosen:
        books = dream_stores(unit)
        books.offers.release(released)
        expired: list[int] = []
        if is_beat:
            self._told(unit)
            books.offers.renew(self._offers, until=unit.now + _OFFERED_FOR)
            expired = books.offers.expire()
            if expired:
                _log.info("offers_ran_out", extra={"count": len(expired)})
        most = min(2 * books.workers.capacity(silence=WORKER_SILENCE), self._limits.in_fleet)
        limit = self._limits.per_tenant
        return _Chosen(expired, books.offers.admit(most=most, per_tenant=limit, until=unit.now + _OFFERED_FOR))


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What one look came to: scopes whose offers had run out, and those that are offered."""

    expired: list[int]
    admitted: list[AdmittedScope]
