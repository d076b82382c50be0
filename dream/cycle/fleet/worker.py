"""Runs one worker of a fleet: plans, offers and dreams, and hands what it has under way over when it stops."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from agentcore.errors import StorageError
from agentcore.stores.sql.leases import machine
from dream.cycle.fleet.fleet_admission import FleetAdmission, FleetLimits
from dream.cycle.fleet.model_rates import FleetRates, PacedModel
from dream.cycle.fleet.pg_queue import PgQueue
from dream.cycle.scheduling.dream_handler import DreamHandler
from dream.cycle.scheduling.due_times import DueTimes
from dream.cycle.scheduling.planner import Planner
from dream.cycle.scheduling.scope_runners import ScopeRunners
from dream.cycle.scheduling.service import DreamService
from dream.stores import WorkerRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcore.hosting.services import HostServices
    from dream.cycle.listeners import DreamListeners
    from dream.options.levels import OptionLevels

_ANSWERED_WITHIN: Final = timedelta(seconds=12)
"""How long a worker that stops waits for calls that its model is answering: they are paid for."""
_LOOKS: Final = timedelta(milliseconds=100)
_log = logging.getLogger(__name__)


class FleetWorker:
    """A hosted service that dreams for a fleet; it hands over within 20 seconds when it stops.

    Args:
        parts: What the host offers; its storage is the fleet's database.
        levels: The options of each scope.
        watch: Who is told of runs.
        database: The URL of the database.
        at_once: Dreams under way at once.
        limits: How much the fleet has; by default as much as its workers can hold.
        rates: Tokens a minute that the fleet may ask of each model; those that are not named have no bound.
    """

    def __init__(
        self,
        parts: HostServices,
        levels: OptionLevels,
        watch: DreamListeners,
        *,
        database: str,
        at_once: int,
        limits: FleetLimits | None = None,
        rates: Mapping[str, int],
    ) -> None:
        self._parts = parts
        self._held = ExitStack()
        runners, planner = ScopeRunners(parts, levels), Planner(levels, parts.ids, parts.capabilities)
        due_times = DueTimes(parts, runners, planner)
        self._queue = PgQueue(asyncpg_url(database), at_once=at_once, clock=parts.clock, before_stop=self._before_stop)
        self._record = _record(parts, at_once, planner)
        paced = FleetRates(parts.storage, parts.clock, rates)
        if isinstance(parts.chat, PacedModel):
            parts.chat.rates = paced
        self._admission = FleetAdmission(parts, self._queue, self._record, limits or FleetLimits(), paced)
        self.service: Final = DreamService(
            parts=parts,
            due_times=due_times,
            handler=DreamHandler(parts=parts, runners=runners, due_times=due_times, watch=watch),
            queue=self._queue,
            admission=self._admission,
        )

    @property
    def holder(self) -> str:
        """The worker's id."""
        return self._record.holder

    async def start(self) -> None:
        """Begin to plan, to offer and to dream."""
        await self.service.start()

    async def stop(self) -> None:
        """Take nothing more, let calls that are being answered end, and hand the rest over to others at once."""
        try:
            await self.service.stop()
            await self._admission.left()
        except StorageError:
            _log.warning("worker_left_silently")  # others see by its silence that it is gone
        finally:
            self._held.close()

    async def _before_stop(self) -> None:
        try:
            await self._admission.stopping()
        except StorageError:
            _log.warning("worker_stops_silently")
        self._held.enter_context(self._parts.gate.foreign())  # no step and no call begins any more
        until = self._parts.clock.now() + _ANSWERED_WITHIN
        # A call holds its slot until its answer is stored.
        while self._parts.slots.in_flight and self._parts.clock.now() < until:
            await self._parts.clock.sleep(_LOOKS)


def _record(parts: HostServices, at_once: int, planner: Planner) -> WorkerRecord:

    now = parts.clock.now()
    return WorkerRecord(
        holder=parts.ids.new(),
        host=machine(),
        pid=os.getpid(),
        started_at=now,
        seen_at=now,
        stopping_at=None,
        at_once=at_once,
        under_way=0,
        handled=0,
        options_hash=planner.terms.options_hash[:32],
    )


def asyncpg_url(url: str) -> str:
    """Return the URL of a database in the words of asyncpg.

    Example:
        >>> asyncpg_url("postgresql+psycopg://ana@db/memory")
        'postgresql://ana@db/memory'
    """
    scheme, separator, rest = url.partition("://")
    return f"{scheme.partition('+')[0]}{separator}{rest}"
