"""DreamService: watches the schedules of all scopes, and runs each dream when it is due."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from agentcore.domain.scope import Scope
from agentcore.errors import AgentcoreError, StorageError
from agentcore.hosting.parts import HostParts
from agentcore.hosting.service import BackgroundService, WorkerFailure
from agentcore.stores.protocols import ReadView, UnitOfWork
from dream.cycle.runner import Runner
from dream.cycle.scheduling.booking import ScheduledBooking
from dream.cycle.scheduling.planning import Planner, Surroundings
from dream.cycle.scheduling.work import Backlog
from dream.cycle.watching import Watch
from dream.domain.report import RunReport
from dream.options import DreamOptions
from dream.stores import bookkeeping
from dream.triggers import Reason

LONGEST_WAIT: Final = timedelta(minutes=1)
"""How soon what other processes store is noticed at the latest."""
_SHORTEST_WAIT: Final = timedelta(seconds=1)
"""Between two looks when something is still due after the first, so that nothing can turn them into a storm."""
_PEERS_AT_ONCE = 50
_SCOPES_AT_ONCE = 50
"""So many are planned in one transaction, which takes about 50 ms."""
_DUE_AT_ONCE = 100
_ANYWHERE = Scope.default()
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Due:
    """What is to be looked at now, and when the next scope is."""

    scopes: tuple[Scope, ...]
    next_at: datetime | None


class DreamService(BackgroundService):
    """Starts dreams by themselves, on every scope of the storage, one after the other; lives as long as the host.

    All that it decides by is stored, so that any number of processes may watch the same scopes, and a restart loses
    nothing. It sleeps until the next scope is due and looks for what others stored once a minute at most, or every
    `busy_poll` while somebody who is served elsewhere holds a dream back.

    Args:
        parts: What the host offers.
        options: The host's options.
        runner: What runs a cycle.
        planner: What decides.
        watch: Who is told of runs.
    """

    def __init__(
        self, *, parts: HostParts, options: DreamOptions, runner: Runner, planner: Planner, watch: Watch
    ) -> None:
        super().__init__(name="dreams", on_failure=WorkerFailure.STOP_HOST)
        self._parts = parts
        self._options = options
        self._runner = runner
        self._planner = planner
        self._watch = watch
        self._backlog = Backlog(parts=parts, options=options, order=runner.order)
        self._news = asyncio.Event()
        self._known_hash = ""
        self._looked_at: datetime | None = None
        self._fails = False

    def wake(self) -> None:
        """Have it look at once, because this host stored something that it must not sleep over."""
        self._news.set()

    async def run(self) -> None:
        """Watch until stopped."""
        while True:
            self._news.clear()
            next_at = await self._look_once()
            await self._wait(next_at)

    async def _look_once(self) -> datetime | None:
        """Plan what changed and run what is due; return when something is due next."""
        try:
            await self._plan()
            due = await self._find_due()
            for scope in due.scopes:
                await self._attend(scope)
            if due.scopes:
                await self._plan_changed()
                due = await self._find_due()
        except StorageError as error:
            if not self._fails:
                _log.warning("schedule_unknown", extra={"error": type(error).__name__})
            self._fails = True
            return None
        self._fails = False
        return due.next_at

    async def _plan(self) -> None:
        """Work out the due times of all that changed, a few at a time."""
        now, before = self._parts.clock.now(), self._looked_at
        self._looked_at = now
        mark = await asyncio.to_thread(self._runner.directives_mark)
        if mark != self._planner.directives:
            self._planner = replace(self._planner, directives=mark)
        await self._plan_changed()
        options_hash = self._planner.terms.options_hash
        if options_hash != self._known_hash:
            # Also when the machine has travelled to another time zone, or somebody edited a directive.
            while await self._store(lambda unit: self._planner.plan_outdated(unit, limit=_SCOPES_AT_ONCE)):
                pass
            self._known_hash = options_hash
        if before is not None and before - now > LONGEST_WAIT:
            await self._plan_anew()

    async def _plan_changed(self) -> None:
        while await self._store(lambda unit: self._planner.plan_changed(unit, limit=_PEERS_AT_ONCE)):
            pass

    async def _plan_anew(self) -> None:
        """Plan everything again, because the clock was set back and due times may lie far ahead."""
        _log.warning("clock_set_back")
        after: int | None = 0
        while after is not None:
            last = after
            after = await self._store(lambda unit: self._planner.plan_all(unit, after=last, limit=_SCOPES_AT_ONCE))  # noqa: B023 - awaited

    async def _find_due(self) -> _Due:
        def find(view: ReadView) -> _Due:
            fleet = bookkeeping(view).fleet
            due = fleet.due(view.now, limit=_DUE_AT_ONCE)
            return _Due(tuple(scope for _, scope in due), fleet.next_due())

        return await self._parts.storage.read(_ANYWHERE, find)

    async def _attend(self, scope: Scope) -> None:
        """Decide anew on what is stored now; run if it is due, and has something to do."""
        around = Surroundings(await self._parts.watch.sees_anyone(), self._parts.gate.serving)
        storage = self._parts.storage
        _, decision = await storage.write(scope, lambda unit: self._planner.attend(unit, around))
        if decision.is_due(self._parts.clock.now()) and decision.reason is not Reason.MANUAL:
            work = await self._backlog.of(scope)
            _, decision = await storage.write(scope, lambda unit: self._planner.attend(unit, around, work))
        if decision.is_due(self._parts.clock.now()):
            await self._dream(scope, around)

    async def _dream(self, scope: Scope, around: Surroundings) -> None:
        booking = ScheduledBooking(planner=self._planner, lease=self._options.lease, around=around)
        gone_on: list[RunReport] = []
        try:
            report = await self._runner.run(scope, booking=booking, gone_on=gone_on)
        except StorageError:
            raise
        except AgentcoreError as error:
            # Its beginning counts as a failure, so that the next try backs off.
            _log.warning("dream_failed", extra={"scope": str(scope), "error": type(error).__name__})
            return
        for earlier in gone_on:
            await self._watch.told(earlier)
        await self._watch.told(report)

    async def _store(self, work: Callable[[UnitOfWork], int | None]) -> int | None:
        return await self._parts.storage.write(_ANYWHERE, work)

    async def _wait(self, until: datetime | None) -> None:
        """Return when something is due, when this host stored something, or after a minute."""
        now = self._parts.clock.now()
        left = LONGEST_WAIT if until is None else until - now
        most = min(LONGEST_WAIT, left) if left > timedelta() else _SHORTEST_WAIT
        async with asyncio.TaskGroup() as group:
            waits = {
                group.create_task(self._parts.clock.sleep(most), name="dreams-due"),
                group.create_task(self._news.wait(), name="dreams-news"),
            }
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for waiting in waits:
                waiting.cancel()
