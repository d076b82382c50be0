"""DreamService: watches the schedules of all scopes, and runs each dream when it is due."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from agentcore.domain.scope import Scope
from agentcore.errors import AgentcoreError, StorageError
from agentcore.hosting.parts import HostParts
from agentcore.hosting.service import BackgroundService, WorkerFailure
from agentcore.stores.protocols import UnitOfWork
from dream.cycle.boundary import scope_boundary
from dream.cycle.edits import EditWatch
from dream.cycle.foreground import people_before
from dream.cycle.runner import Runner
from dream.cycle.scheduling.booking import ScheduledBooking
from dream.cycle.scheduling.planning import Planner, Surroundings, surroundings
from dream.cycle.scheduling.work import Backlog
from dream.cycle.watching import Watch
from dream.domain.report import RunReport
from dream.errors import DreamBrokenOffError
from dream.options import DreamOptions
from dream.stores import bookkeeping
from dream.stores.fleet import Fleet
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


class DreamService(BackgroundService):
    """Starts dreams by themselves, on every scope of the storage, one after the other; lives as long as the host.

    Dreams that people asked for come first, then interrupted ones, then timed ones. One whose person is served
    meanwhile holds up no other: it goes on beside them once that person's turn is over. What fails on one scope is
    counted against that scope alone, which backs off.

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
        self._edits = EditWatch(parts) if self._backlog.reads_documents else None
        self._fails = False

    def wake(self) -> None:
        """Have it look at once, because this host stored something that it must not sleep over."""
        self._news.set()

    async def run(self) -> None:
        """Watch until stopped."""
        try:
            async with asyncio.TaskGroup() as under_way:
                while True:
                    self._news.clear()
                    next_at = await self._look_once(under_way)
                    await self._wait(next_at)
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    async def _look_once(self, under_way: asyncio.TaskGroup) -> datetime | None:
        """Plan what changed and run what is due; return when something is due next."""
        try:
            await self._plan()
            attended: set[int] = set()
            for one in await self._due(Fleet.due):
                # Whoever asked meanwhile does not wait for all that was due before.
                for key, scope in [*await self._due(Fleet.requested), one]:
                    if key not in attended:
                        attended.add(key)
                        await self._attend(key, scope, under_way)
            if attended:
                await self._plan_changed()
            next_at = await self._parts.storage.read(_ANYWHERE, lambda view: bookkeeping(view).fleet.next_due())
        except StorageError as error:
            if not self._fails:
                _log.warning("schedule_unknown", extra={"error": type(error).__name__})
            self._fails = True
            return None
        self._fails = False
        return next_at

    async def _plan(self) -> None:
        """Work out the due times of all that changed, a few at a time."""
        now, before = self._parts.clock.now(), self._looked_at
        self._looked_at = now
        if self._edits is not None:
            await self._edits.look()
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

    async def _due(self, find: Callable[..., list[tuple[int, Scope]]]) -> list[tuple[int, Scope]]:
        return await self._parts.storage.read(
            _ANYWHERE, lambda view: find(bookkeeping(view).fleet, view.now, limit=_DUE_AT_ONCE)
        )

    async def _attend(self, key: int, scope: Scope, under_way: asyncio.TaskGroup) -> None:
        """Run if the scope is due and has something to do; return when that is over, or its person is served.

        Raises:
            StorageError: the database failed, for all scopes.
        """
        people = people_before(self._parts, self._options, scope)
        began_at = self._parts.clock.now()
        try:
            with scope_boundary(scope):
                around = await self._decided(scope)
        except AgentcoreError as error:
            await self._put_off(key, scope, began_at, error)
            return
        if around is None:
            return
        dream = under_way.create_task(self._dream(key, scope, around), name=f"dream-{scope}")
        served = under_way.create_task(people.wait_until_busy(), name=f"served-{scope}")
        await asyncio.wait({dream, served}, return_when=asyncio.FIRST_COMPLETED)
        served.cancel()
        if dream.done() and (error := dream.result()) is not None:
            raise error

    async def _decided(self, scope: Scope) -> Surroundings | None:
        """Decide anew on what is stored now; return what the decision rests on if it is due with something to do."""
        around = await surroundings(self._parts, self._options, scope)
        storage = self._parts.storage
        _, decision = await storage.write(scope, lambda unit: self._planner.attend(unit, around))
        if decision.is_due(self._parts.clock.now()) and decision.reason is not Reason.MANUAL:
            work = (await self._backlog.of(scope)).work
            _, decision = await storage.write(scope, lambda unit: self._planner.attend(unit, around, work))
        return around if decision.is_due(self._parts.clock.now()) else None

    async def _dream(self, key: int, scope: Scope, around: Surroundings) -> StorageError | None:
        """Run; return the error if the database failed for all scopes."""
        began_at = self._parts.clock.now()
        booking = ScheduledBooking(planner=self._planner, lease=self._options.lease, around=around)
        gone_on: list[RunReport] = []
        try:
            report = await self._runner.run(scope, booking=booking, gone_on=gone_on)
            for earlier in gone_on:
                await self._watch.told(earlier)
            await self._watch.told(report)
        except AgentcoreError as error:
            try:
                await self._put_off(key, scope, began_at, error)
            except StorageError as fault:
                return fault
        return None

    async def _put_off(self, key: int, scope: Scope, began_at: datetime, error: AgentcoreError) -> None:
        """Count what a scope raised as its failure, so that it backs off.

        Raises:
            StorageError: not even that can be stored: the database failed, for all scopes.
        """
        told = {"scope": str(scope), "error": type(error).__name__, "problem": str(error)}
        problem = str(error).rstrip(".")
        if isinstance(error, DreamBrokenOffError):
            # A foreign error may quote what is remembered: that stands where the scope's people look, not in the log.
            problem, told["error"], told["problem"] = error.problem, type(error.__cause__).__name__, "see dream explain"
            _log.debug("dream_failed_at", extra=told, exc_info=error.__cause__)
        _log.warning("dream_failed", extra=told)
        await self._store(lambda unit: self._planner.put_off(unit, key, began_at=began_at, problem=problem))

    async def _store(self, work: Callable[[UnitOfWork], int | None]) -> int | None:
        return await self._parts.storage.write(_ANYWHERE, work)

    async def _wait(self, until: datetime | None) -> None:
        """Return when something is due, when this host was asked for a dream, or after a minute."""
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
