"""Runs the dreams that clients ask for, and tells how runs get on."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from agentcore.clock import Clock
from agentcore.domain.scope import Scope
from agentcore.hosting.lifecycle import BackgroundService, WorkerFailure
from agentcore.stores.acting import acting_as
from agentcore.stores.storage import ReadView, Storage
from dream.domain.reasons import Deferral
from dream.domain.report import Outcome, RunKind, RunReport
from dream.interfaces.serving.problems import Problem
from dream.interfaces.serving.scoped_call import ScopedCall
from dream.stores import dream_stores

_LOOK: Final = timedelta(milliseconds=50)
_LOOK_LONGER: Final = timedelta(milliseconds=500)
_OPENING: Final = 10
"""Looks for the run of who holds the lease, before a client is refused without its id."""
_PATIENCE: Final = 60
"""Looks at a run before a client is told that it is still under way."""
_HEARTBEAT: Final = 30
"""Looks without news after which a stream says that it is alive."""


class _Running(BackgroundService):
    """One dream that a client asked for; goes on when the client is gone."""

    def __init__(self, call: ScopedCall, passes: Collection[str] | None, options: dict[str, Any]) -> None:
        super().__init__(name=f"asked-dream-{call.scope}", on_failure=WorkerFailure.KEEP_RUNNING)
        self._call = call
        self._passes = passes
        self._options = options
        self.report: asyncio.Future[RunReport] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        try:
            with acting_as(self._call.caller.actor):
                report = await self._call.services.dreams.run(passes=self._passes, **self._options)
        except asyncio.CancelledError:
            self.report.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - it belongs to who asked, or to the report of the run
            self.report.set_exception(error)
            self.report.exception()
        else:
            self.report.set_result(report)


class RunDesk:
    """Starts dreams for clients and watches runs, its own and those of other processes; lives as long as the app.

    Args:
        clock: Tells when to look again.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: set[_Running] = set()

    async def begin(self, call: ScopedCall, *, passes: Collection[str] | None = None, **options: Any) -> RunReport:
        """Start a dream, and return its report as soon as it has an id: of a short one when it is over.

        Args:
            call: Who asks, and of whose memory.
            passes: Only these; all enabled ones by default.
            options: More for `Dreams.run`.

        Raises:
            Problem: somebody dreams on the scope already, or its dreams are paused.
        """
        self._running = {one for one in self._running if not one.report.done()}
        before = await unfinished(call.host.storage, call.scope)
        running = _Running(call, passes, options)
        await running.start()
        self._running.add(running)
        while not running.report.done():
            found = await unfinished(call.host.storage, call.scope)
            if found is not None and (before is None or found.run_id != before.run_id):
                return found
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK.total_seconds()):
                    await asyncio.shield(running.report)
        report = running.report.result()
        if report.outcome is Outcome.DEFERRED:
            raise await self._deferred(call, report)
        return report

    async def ended(self, call: ScopedCall, report: RunReport) -> RunReport:
        """Return the report of a run at its end, or as it is after half a minute."""
        for _ in range(_PATIENCE):
            if report.finished_at is not None:
                break
            await self._clock.sleep(_LOOK_LONGER)
            report = await call.services.dreams.report(report.run_id)
        return report

    async def _deferred(self, call: ScopedCall, report: RunReport) -> Problem:
        present = await self._present(call) if report.reason != Deferral.PAUSED else None
        told = {} if present is None else {"run_id": present.run_id}
        reason = report.reason or "deferred"
        code = reason.split(":")[0].split(" ")[0]
        detail = f"No dream was begun ({reason}): wait until that is over, or ask for one with POST /api/v1/schedule."
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
        """End what is under way between two of its steps; the next dream of each scope goes on with it."""
        for one in self._running:
            await one.stop()

    async def events(self, storage: Storage, scope: Scope, run_id: str) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
        """Yield what becomes of a run: `progress` whenever a step is committed, `done` with its report at the end.

        An event without a name says that nothing is new.
        """
        told, idle = -1, 0
        while True:
            report, steps = await storage.read(scope, lambda view: _state(view, run_id))
            if report.finished_at is not None:
                yield "done", report.to_json()
                return
            if steps["steps"] != told:
                told, idle = steps["steps"], 0
                yield "progress", {"run_id": run_id, **steps}
            idle += 1
            if idle % _HEARTBEAT == 0:
                yield "", {}
            await self._clock.sleep(_LOOK_LONGER)


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
