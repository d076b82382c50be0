"""DreamService: watches the schedules of all scopes, and has each dream run when it is due."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from agentcore.errors import StorageError, StorageTooNewError
from agentcore.hosting.lifecycle import BackgroundService, WorkerFailure
from dream.cycle.option_edits import follow_edits
from dream.cycle.scheduling.dream_handler import DreamHandler
from dream.cycle.scheduling.due_times import LONGEST_WAIT, DueTimes
from dream.cycle.scheduling.host_admission import SHORTEST_WAIT, HostAdmission
from dream.cycle.scheduling.queue import InProcessQueue

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from agentcore.hosting.services import HostServices
    from dream.cycle.listeners import DreamListeners
    from dream.cycle.scheduling.host_admission import OfferAdmission
    from dream.cycle.scheduling.planner import Planner
    from dream.cycle.scheduling.queue import DreamQueue, Offer
    from dream.cycle.scheduling.scope_runners import ScopeRunners

_BETWEEN_TICKS = timedelta(milliseconds=200)
_log = logging.getLogger(__name__)


class DreamService(BackgroundService):
    """Starts dreams by themselves, on every scope of the storage, a few side by side; lives as long as the host.

    It plans what changed, lets an `OfferAdmission` choose what is offered, and handles what a `DreamQueue` brings. In a
    host both work in its process, and a dream has one of `max_concurrent_dreams` places, also while its person is
    served.

    All that it decides by is stored, so that any number of processes may watch the same scopes, and a restart loses
    nothing. It sleeps until the next scope is due and looks for what others stored once a minute at most, or every
    `busy_poll` while somebody who is served elsewhere holds a dream back.

    Args:
        parts: What the host offers.
        due_times: Plan.
        handler: Dreams on what is brought.
        queue: Brings offers.
        admission: Chooses what is offered.
    """

    def __init__(
        self,
        *,
        parts: HostServices,
        due_times: DueTimes,
        handler: DreamHandler,
        queue: DreamQueue,
        admission: OfferAdmission,
    ) -> None:
        super().__init__(name="dreams", on_failure=WorkerFailure.STOP_HOST)
        self._parts = parts
        self._due_times = due_times
        self._handler = handler
        self._queue = queue
        self._admission = admission
        self._news = asyncio.Event()
        self._ended = asyncio.Event()
        self._fault: StorageError | None = None
        self._fails = False

    @classmethod
    def of_host(
        cls, *, parts: HostServices, runners: ScopeRunners, planner: Planner, watch: DreamListeners
    ) -> DreamService:
        """Return the service of one host, whose dreams all run in its process.

        Args:
            parts: What the host offers.
            runners: What runs a cycle on each scope, and asks its passes.
            planner: What decides.
            watch: Who is told of runs.
        """
        due_times, queue = DueTimes(parts, runners, planner), InProcessQueue()
        return cls(
            parts=parts,
            due_times=due_times,
            handler=DreamHandler(parts=parts, runners=runners, due_times=due_times, watch=watch),
            queue=queue,
            admission=HostAdmission(parts, due_times, queue, places=runners.levels.host.schedule.max_concurrent_dreams),
        )

    def wake(self) -> None:
        """Have it look at once, because this host stored something that it must not sleep over."""
        self._news.set()

    async def run(self) -> None:
        """Watch until stopped; what is under way then is broken off, to be gone on with later."""
        unasked = self._due_times.planner.levels.unasked_models() if self._parts.chat is None else ""
        if unasked:
            _log.warning("model_not_asked: %s", unasked)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._queue.serve(self._handle), name="dreams-queue")
                await self._watch_over()
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    async def _watch_over(self) -> None:
        while True:
            self._news.clear()
            self._admission.begin_round()
            next_at = await self._look(self._due_times.plan)
            while await self._wait(next_at) and self._due_times.is_recent:
                next_at = await self._look(self._due_times.plan_changed)

    async def _handle(self, offer: Offer) -> None:
        self._admission.begun(offer)
        try:
            await self._handler.handle(offer)
        except StorageError as fault:
            self._fault = fault
        finally:
            self._admission.ended(offer)
            self._ended.set()

    async def _look(self, plan: Callable[[], Awaitable[None]]) -> datetime | None:
        """Plan, and offer what is due; return when to look again, None if nothing is known."""
        self._ended.clear()
        try:
            await follow_edits(self._parts.storage, self._due_times.planner.levels)
            await plan()
            next_at = await self._admission.admit()
            if self._fault is not None:
                raise self._fault
        except StorageTooNewError:
            raise  # this version cannot go on
        except StorageError as error:
            if not self._fails:
                _log.warning("schedule_unknown", extra={"error": type(error).__name__})
            self._fails, self._fault = True, None
            tick = self._admission.tick  # who shares the database with others tries again with the next tick
            return None if tick is None else self._parts.clock.now() + tick
        self._fails = False
        return next_at

    async def _wait(self, until: datetime | None) -> bool:
        """Return when something is due, or asked for, or a minute is over; True if a dream ended, or a tick passed."""
        now = self._parts.clock.now()
        left = LONGEST_WAIT if until is None else until - now
        most = min(LONGEST_WAIT, left) if left > timedelta() else SHORTEST_WAIT
        async with asyncio.TaskGroup() as group:
            ended = group.create_task(self._ended.wait(), name="dreams-ended")
            waits = {
                group.create_task(self._parts.clock.sleep(most), name="dreams-due"),
                group.create_task(self._news.wait(), name="dreams-news"),
            }
            done, _ = await asyncio.wait({ended, *waits}, return_when=asyncio.FIRST_COMPLETED)
            for waiting in (ended, *waits):
                waiting.cancel()
        if done == {ended} and self._admission.tick is not None:
            await self._parts.clock.sleep(_BETWEEN_TICKS)  # many may end at once, and each look is a transaction
        return done == {ended} or (self._admission.tick is not None and not self._news.is_set())
