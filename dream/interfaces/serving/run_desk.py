"""Runs the dreams that clients ask for, and tells how runs get on."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final, TypeAlias

from agentcore.clock import Clock
from agentcore.domain.scope import Scope
from agentcore.errors import AgentcoreError
from agentcore.hosting.lifecycle import BackgroundService, WorkerFailure
from agentcore.stores.acting import acting_as
from agentcore.stores.storage import ReadView, Storage, UnitOfWork
from dream.domain.reasons import Deferral
from dream.domain.report import Outcome, RunKind, RunReport
from dream.errors import NotAdmittedError, UnknownRunError
from dream.interfaces.serving.problems import Problem
from dream.interfaces.serving.scoped_call import ScopedCall
from dream.stores import dream_stores

OnBegin: TypeAlias = Callable[[UnitOfWork, str], None]
"""Called in the transaction that opens a run, with its id."""
RunCall: TypeAlias = Callable[..., Awaitable[RunReport]]
"""Runs a dream; takes `on_begin` and what else whoever asks gives it."""

_DONE: Final = "done"
_LOOK: Final = timedelta(milliseconds=50)
_LOOK_LONGER: Final = timedelta(milliseconds=500)
_OPENING: Final = 10
"""Looks for the run of who holds the lease, before a client is refused without its id."""
_PATIENCE: Final = 60
"""Looks at a run before a client is told that it is still under way."""
_HEARTBEAT: Final = timedelta(seconds=15)
"""How long a stream is silent before it says that it is alive."""


class _Running(BackgroundService):
    """One dream that a client asked for; goes on when the client is gone."""

    def __init__(
        self, call: ScopedCall, run: RunCall | None, on_begin: OnBegin | None, options: dict[str, Any]
    ) -> None:
        super().__init__(name=f"asked-dream-{call.scope}", on_failure=WorkerFailure.KEEP_RUNNING)
        self._call = call
        self._is_dream = run is None
        self._run = run or call.services.dreams.run
        self._on_begin = on_begin
        self._options = options
        self._loop = asyncio.get_running_loop()
        self.run_id: asyncio.Future[str] = self._loop.create_future()
        self.report: asyncio.Future[RunReport] = self._loop.create_future()

    async def run(self) -> None:
        try:
            with acting_as(self._call.caller.actor):
                report = await self._run(on_begin=self._begin, **self._options)
        except asyncio.CancelledError:
            self.report.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - it belongs to who asked, or to the report of the run
            self.report.set_exception(error)
            self.report.exception()
        else:
            self.report.set_result(report)

    @property
    def is_broken_off(self) -> bool:
        """Whether it is a dream of all passes that began, and was stopped before its end."""
        is_whole = self._is_dream and not any(self._options.get(name) for name in ("passes", "plan"))
        return is_whole and self.run_id.done() and self.report.cancelled()

    async def asked_for_again(self) -> None:
        """Have whoever watches the scope next go on with it."""
        with suppress(AgentcoreError):  # such as a database that is gone: then there is nothing to go on with
            await self._call.services.dreams.schedule()

    def _begin(self, unit: UnitOfWork, run_id: str) -> None:
        if self._on_begin is not None:
            self._on_begin(unit, run_id)
        self._loop.call_soon_threadsafe(self._tell, run_id)

    def _tell(self, run_id: str) -> None:
        if not self.run_id.done():
            self.run_id.set_result(run_id)


class _WatchedRun(BackgroundService):
    """A run that somebody follows: it is looked at once for all of them, however many; lives as long as they do."""

    def __init__(self, clock: Clock, storage: Storage, scope: Scope, run_id: str) -> None:
        super().__init__(name=f"followed-run-{run_id}", on_failure=WorkerFailure.KEEP_RUNNING)
        self._clock = clock
        self._storage = storage
        self._scope = scope
        self._run_id = run_id
        self.followers = 0
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.fault: AgentcoreError | None = None
        self.is_over = False
        self.news = asyncio.Event()

    async def run(self) -> None:
        try:
            while not (self.told and self.told[-1][0] == _DONE):
                await self._look()
        except AgentcoreError as error:
            self.fault = error  # it belongs to those who follow
        finally:
            self.is_over = True
            self._tell(*self.told)

    async def _look(self) -> None:
        report, steps = await self._storage.read(self._scope, lambda view: _state(view, self._run_id))
        if report.finished_at is not None:
            self._tell((_DONE, report.to_json()))
            return
        progress = ("progress", {"run_id": self._run_id, **steps})
        if [progress] != self.told:
            self._tell(progress)
        await self._clock.sleep(_LOOK_LONGER)

    def _tell(self, *events: tuple[str, dict[str, Any]]) -> None:
        """Let followers know: of what lies between two looks, the latest stands for all."""
        self.told = list(events)
        self.news.set()
        self.news = asyncio.Event()


class RunDesk:
    """Starts dreams for clients and watches runs, its own and those of other processes; lives as long as the app.

    Args:
        clock: Tells when to look again.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: set[_Running] = set()
        self._followed: dict[tuple[Scope, str], _WatchedRun] = {}

    async def begin(
        self,
        call: ScopedCall,
        *,
        run: RunCall | None = None,
        on_begin: OnBegin | None = None,
        **options: Any,
    ) -> RunReport:
        """Start a dream, and return its report as soon as it has begun: of a short one when it is over.

        Args:
            call: Who asks, and of whose memory.
            run: What runs it; `Dreams.run` by default.
            on_begin: Called in the transaction that opens the run, with its id.
            options: More for *run*.

        Raises:
            Problem: somebody dreams on the scope already, or its dreams are paused.
        """
        self._running = {one for one in self._running if not one.report.done()}
        running = _Running(call, run, on_begin, options)
        await running.start()
        self._running.add(running)
        await asyncio.wait({running.run_id, running.report}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({running.report}, timeout=_LOOK.total_seconds())
        while not running.report.done():
            # The run tells its id just before the transaction that opens it is committed.
            with suppress(UnknownRunError):
                return await call.services.dreams.report(running.run_id.result())
            await asyncio.wait({running.report}, timeout=_LOOK.total_seconds())
        report = running.report.result()
        if report.outcome is Outcome.DEFERRED:
            raise await self._deferred(call, report)
        return report

    async def gone_on(self, call: ScopedCall, report: RunReport, **begun: Any) -> RunReport:
        """Go on with a dream that was cut off, unless somebody does already, and return its report as it is then.

        Args:
            call: Who asks, and of whose memory.
            report: What is known of it.
            begun: What it was begun with.
        """

        def only_that(_: UnitOfWork, run_id: str) -> None:
            if run_id != report.run_id:
                raise NotAdmittedError(reason="over already")

        with suppress(Problem):
            await self.begin(call, on_begin=only_that, **begun)
        return await call.services.dreams.report(report.run_id)

    async def ended(self, call: ScopedCall, report: RunReport) -> RunReport:
        """Return the report of a run at its end, or as it is after half a minute."""
        for _ in range(_PATIENCE):
            if report.finished_at is not None:
                break
            await self._clock.sleep(_LOOK_LONGER)
            report = await call.services.dreams.report(report.run_id)
        return report

    async def _deferred(self, call: ScopedCall, report: RunReport) -> Problem:
        reason = report.reason or "deferred"
        code = reason.split(":")[0].split(" ")[0]
        present = await self._present(call) if code != Deferral.PAUSED else report if report.run_id else None
        told = {} if present is None else {"run_id": present.run_id}
        detail = f"No dream was begun ({reason}): wait until that is over, or ask for one with `dream schedule`."
        return Problem(status=409, code=code, detail=detail, more=told)

    async def _present(self, call: ScopedCall) -> RunReport | None:
        """Return the run of whatever kind that holds the lease; it is opened a moment after the lease is taken."""
        for _ in range(_OPENING):
            found = await unfinished(call.host.storage, call.scope, *RunKind)
            if found is not None:
                return found
            await self._clock.sleep(_LOOK)
        return None

    async def stop(self) -> None:
        """End what is under way between two of its steps; who serves next goes on with whole dreams within a minute."""
        for one in self._running:
            await one.stop()
            if one.is_broken_off:
                await one.asked_for_again()

    async def events(self, storage: Storage, scope: Scope, run_id: str) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
        """Yield what becomes of a run: `progress` whenever a step is committed, `done` with its report at the end.

        An event without a name says that nothing is new.
        """
        place = (scope, run_id)
        followed = self._followed.get(place)
        if followed is None:
            followed = self._followed[place] = _WatchedRun(self._clock, storage, scope, run_id)
            await followed.start()
        followed.followers += 1  # nothing is waited for before this
        try:
            seen: list[tuple[str, dict[str, Any]]] = []
            while not (seen and seen[-1][0] == _DONE):
                news = followed.news
                if followed.fault is not None:
                    raise followed.fault
                if followed.told != seen:
                    seen = followed.told
                    for event in seen:
                        yield event
                    continue
                if followed.is_over:
                    return
                try:
                    async with asyncio.timeout(_HEARTBEAT.total_seconds()):
                        await news.wait()
                except TimeoutError:
                    yield "", {}
        finally:
            followed.followers -= 1
            if not followed.followers:
                self._followed.pop(place, None)
                await followed.stop()


async def unfinished(storage: Storage, scope: Scope, *kinds: RunKind) -> RunReport | None:
    """Return the report, as it begins, of the run that is under way or was interrupted; None if there is none.

    Args:
        storage: Where runs are kept.
        scope: Whose runs.
        kinds: Which; dreams by default.
    """

    def find(view: ReadView) -> RunReport | None:
        runs = dream_stores(view).runs
        found = [one.run_id for kind in kinds or (RunKind.DREAM,) for one in runs.unfinished(kind)[-1:]]
        return max((one for one in map(runs.report, found) if one), key=lambda one: one.started_at, default=None)

    return await storage.read(scope, find)


def _state(view: ReadView, run_id: str) -> tuple[RunReport, dict[str, Any]]:
    runs = dream_stores(view).runs
    report = runs.report(runs.resolve(run_id))
    if report is None:
        raise AssertionError
    passes: dict[str, int] = {}
    steps = [] if report.finished_at is not None else runs.steps(run_id)
    for step in steps:
        name = step.pass_name.partition("/")[0]
        passes[name] = passes.get(name, 0) + step.report.accepted
    return report, {"steps": len(steps), "changes": sum(passes.values()), "passes": passes}
