"""DreamService: watches the schedules of all scopes, and runs each dream when it is due."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from agentcore.domain.scope import Scope
from agentcore.errors import AgentcoreError, StorageError
from agentcore.hosting.lifecycle import BackgroundService, WorkerFailure
from dream.cycle.option_edits import follow_edits
from dream.cycle.running.run_envelope import scope_boundary
from dream.cycle.scheduling.planner import ReadingBooking, ScheduledBooking, foreground_load
from dream.errors import DreamBrokenOffError
from dream.stores import dream_stores
from dream.triggers import Reason

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from agentcore.hosting.services import HostServices
    from agentcore.stores.storage import ReadView, UnitOfWork
    from dream.cycle.documents.edit_watch import EditWatch
    from dream.cycle.listeners import DreamListeners
    from dream.cycle.scheduling.planner import ForegroundLoad, Planner
    from dream.cycle.scheduling.scope_runners import ScopeRunners
    from dream.domain.report import RunReport

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
T = TypeVar("T")


class DreamService(BackgroundService):
    """Starts dreams by themselves, on every scope of the storage, a few side by side; lives as long as the host.

    Each dream is a task of the service and has one of `max_concurrent_dreams` places, also while its person is served;
    what is due beyond them waits until one ends. Dreams that people asked for come first, then interrupted ones, then
    timed ones; of each kind the workspace with the fewest under way, so that no tenant has to wait for all that
    another has due. What fails on one scope is counted against that scope alone, which backs off.

    All that it decides by is stored, so that any number of processes may watch the same scopes, and a restart loses
    nothing. It sleeps until the next scope is due and looks for what others stored once a minute at most, or every
    `busy_poll` while somebody who is served elsewhere holds a dream back.

    Args:
        parts: What the host offers.
        runners: What runs a cycle on each scope, and asks its passes.
        planner: What decides.
        watch: Who is told of runs.
    """

    def __init__(self, *, parts: HostServices, runners: ScopeRunners, planner: Planner, watch: DreamListeners) -> None:
        super().__init__(name="dreams", on_failure=WorkerFailure.STOP_HOST)
        self._parts = parts
        self._levels = runners.levels
        self._runners = runners
        self._planner = planner
        self._watch = watch
        self._news = asyncio.Event()
        self._ended = asyncio.Event()
        self._under_way: dict[int, Scope] = {}
        self._attended: dict[int, datetime] = {}
        self._armed: set[int] = set()
        self._turns: dict[str, int] = {}
        self._fault: StorageError | None = None
        self._known_hash = ""
        self._looked_at = datetime.min.replace(tzinfo=UTC)
        self._edits = _edit_watch(parts) if runners.reads_documents and parts.workspaces is not None else None
        self._fails = False

    def wake(self) -> None:
        """Have it look at once, because this host stored something that it must not sleep over."""
        self._news.set()

    async def run(self) -> None:
        """Watch until stopped; what is under way then is broken off, to be gone on with later."""
        unasked = self._levels.unasked_models() if self._parts.chat is None else ""
        if unasked:
            _log.warning("model_not_asked: %s", unasked)
        try:
            async with asyncio.TaskGroup() as dreams:
                while True:
                    self._news.clear()
                    self._attended.clear()
                    next_at = await self._look(dreams, self._plan)
                    while await self._wait(next_at) and self._parts.clock.now() < self._looked_at + LONGEST_WAIT:
                        next_at = await self._look(dreams, self._plan_changed)
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    async def _look(self, dreams: asyncio.TaskGroup, plan: Callable[[], Awaitable[None]]) -> datetime | None:
        """Plan, and start what is due and finds a place; return when to look again, None if nothing is known."""
        self._ended.clear()
        try:
            await follow_edits(self._parts.storage, self._levels)
            await plan()
            next_at = await self._start_due(dreams)
            if self._fault is not None:
                raise self._fault
        except StorageError as error:
            if not self._fails:
                _log.warning("schedule_unknown", extra={"error": type(error).__name__})
            self._fails, self._fault = True, None
            return None
        self._fails = False
        return next_at

    async def _start_due(self, dreams: asyncio.TaskGroup) -> datetime | None:
        """Start what is due as long as there are places; return when the next scope is due."""
        now, most = self._parts.clock.now(), self._levels.host.schedule.max_concurrent_dreams

        def look(view: ReadView) -> tuple[list[dict[int, Scope]], datetime | None, int]:
            fleet = dream_stores(view).fleet
            return fleet.due(now, limit=_DUE_AT_ONCE), fleet.next_due(now), fleet.count(limit=most)

        kinds, next_at, scopes = await self._parts.storage.read(_ANYWHERE, look)
        self._parts.slots.share_among(min(most, scopes))
        left = [key for kind in kinds for key in kind if key in self._under_way]
        for kind in kinds:
            waiting = {key: scope for key, scope in kind.items() if not self._was_attended(key, now)}
            while waiting and len(self._under_way) < most:
                key = self._next_of(waiting)
                self._begin(key, waiting.pop(key), now, dreams)
            left += waiting
        await self._arm(left)
        is_again = any(key not in self._under_way and key not in left for kind in kinds for key in kind)
        return now if is_again else next_at

    def _was_attended(self, key: int, now: datetime) -> bool:
        """Tell whether a scope is attended, or was a moment ago: what stays due even so must not become a storm."""
        at = self._attended.get(key)
        return key in self._under_way or (at is not None and at <= now < at + _SHORTEST_WAIT)

    def _next_of(self, waiting: Mapping[int, Scope]) -> int:
        """Return the first of the workspace with the fewest under way, of several the one whose turn is longest ago."""
        under_way = Counter(scope.workspace for scope in self._under_way.values())
        of = {key: scope.workspace for key, scope in waiting.items()}
        return min(waiting, key=lambda key: (under_way[of[key]], self._turns.get(of[key], 0)))

    def _begin(self, key: int, scope: Scope, now: datetime, dreams: asyncio.TaskGroup) -> None:
        self._attended[key], self._under_way[key] = now, scope
        self._turns[scope.workspace] = max(self._turns.values(), default=0) + 1
        dreams.create_task(self._attend(key, scope), name=f"dream-{scope}")

    async def _arm(self, left: Sequence[int]) -> None:
        """Plan scopes that wait for a place, once, so that their windows do not count as missed.

        So are those that dream when their lease would have run out: they are looked at when the renewed one would.
        """
        self._armed.intersection_update(left)
        news = [key for key in left if key not in self._armed]
        for first in range(0, len(news), _SCOPES_AT_ONCE):
            some = news[first : first + _SCOPES_AT_ONCE]
            await self._store(lambda unit: self._planner.plan(unit, some))  # noqa: B023 - awaited
        self._armed.update(key for key in news if key not in self._under_way)
        if not left:
            self._turns.clear()

    async def _plan(self) -> None:
        """Work out the due times of all that changed, a few at a time."""
        now, before = self._parts.clock.now(), self._looked_at
        self._looked_at = now
        if self._edits is not None:
            await self._edits.look()
        mark = await asyncio.to_thread(self._runners.directives_mark)
        if mark != self._planner.directives:
            self._planner = replace(self._planner, directives=mark)
        await self._plan_changed()
        options_hash = self._planner.terms.options_hash
        if options_hash != self._known_hash:
            # Also when the machine has travelled to another time zone, or somebody edited a directive.
            while await self._store(lambda unit: self._planner.plan_outdated(unit, limit=_SCOPES_AT_ONCE)):
                pass
            self._known_hash = options_hash
        if before - now > LONGEST_WAIT:
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

    async def _attend(self, key: int, scope: Scope) -> None:
        """Dream on a scope if it is due and has something to do, in the place it was given."""
        began_at = self._parts.clock.now()
        try:
            with scope_boundary(scope):
                decided = await self._decided(scope)
            if decided is not None:
                began_at = self._parts.clock.now()
                await self._dream(scope, *decided)
        except AgentcoreError as error:
            try:
                await self._put_off(key, scope, began_at, error)
            except StorageError as fault:
                self._fault = fault  # the database failed, for all scopes
        finally:
            del self._under_way[key]
            self._ended.set()

    async def _decided(self, scope: Scope) -> tuple[ForegroundLoad, Reason] | None:
        """Decide anew on what is stored now; return what that rests on and what is due, if it has something to do."""
        around = await foreground_load(self._parts, self._levels.of(scope), scope)
        storage = self._parts.storage
        _, decision = await storage.write(scope, lambda unit: self._planner.attend(unit, around))
        if decision.is_due(self._parts.clock.now()) and decision.reason not in {Reason.MANUAL, Reason.READING}:
            work = (await self._runners.backlog(scope).of(scope)).work
            _, decision = await storage.write(scope, lambda unit: self._planner.attend(unit, around, work))
        return (around, decision.reason) if decision.is_due(self._parts.clock.now()) else None

    async def _dream(self, scope: Scope, around: ForegroundLoad, reason: Reason) -> None:
        options = self._levels.of(scope)
        is_reading = reason is Reason.READING
        booking = ReadingBooking if is_reading else ScheduledBooking
        passes = options.readers_of_turns(self._parts.capabilities) if is_reading else None
        booked = booking(planner=self._planner, lease=options.lease, around=around)
        gone_on: list[RunReport] = []
        report = await self._runners.runner(scope).run(scope, passes=passes, booking=booked, gone_on=gone_on)
        for one in (*gone_on, report):
            await self._watch.told(one)

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
        _log.warning("dream_failed scope=%s error=%s: %s", scope, told["error"], told["problem"], extra=told)
        await self._store(lambda unit: self._planner.put_off(unit, key, began_at=began_at, problem=problem))

    async def _store(self, work: Callable[[UnitOfWork], T]) -> T:
        return await self._parts.storage.write(None, work)

    async def _wait(self, until: datetime | None) -> bool:
        """Return when something is due, asked for here, or a minute is over; True if it was a dream that ended."""
        now = self._parts.clock.now()
        left = LONGEST_WAIT if until is None else until - now
        most = min(LONGEST_WAIT, left) if left > timedelta() else _SHORTEST_WAIT
        async with asyncio.TaskGroup() as group:
            ended = group.create_task(self._ended.wait(), name="dreams-ended")
            waits = {
                group.create_task(self._parts.clock.sleep(most), name="dreams-due"),
                group.create_task(self._news.wait(), name="dreams-news"),
            }
            done, _ = await asyncio.wait({ended, *waits}, return_when=asyncio.FIRST_COMPLETED)
            for waiting in (ended, *waits):
                waiting.cancel()
        return done == {ended}


def _edit_watch(parts: HostServices) -> EditWatch:
    from dream.cycle.documents.edit_watch import EditWatch  # noqa: PLC0415 - most hosts have no workspace

    return EditWatch(parts)
