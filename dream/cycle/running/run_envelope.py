"""Opens and closes a run: takes the lease of its scope, renews it while the run lasts, and gives it back."""

from __future__ import annotations

import asyncio
import dataclasses
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

from agentcore.domain.busy_reach import BusyReach
from agentcore.errors import AgentcoreError, LeaseLostError, StorageError
from agentcore.hosting.lifecycle import BackgroundService, WorkerFailure
from agentcore.stores.storage import Origin
from dream.domain.reasons import Deferral
from dream.domain.report import Outcome, RunReport
from dream.domain.storage_names import DREAM_LEASE, PAUSED_SETTING
from dream.errors import DreamBrokenOffError, NotAdmittedError
from dream.stores import dream_stores

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
    from datetime import datetime, timedelta
    from types import TracebackType

    from agentcore.domain.scope import Scope
    from agentcore.hosting.busy import BusyWatch
    from agentcore.hosting.services import HostServices
    from agentcore.stores.storage import UnitOfWork
    from agentcore.stores.values import Lease
    from dream.cycle.documents.delivery import Documents
    from dream.domain.report import PassReport, RunKind
    from dream.options import DreamOptions


class _Renewal(BackgroundService):
    """Renews a lease six times per duration; a lost one ends what is done under it, so that no call is made any more.

    What is written before that checks the fencing token.
    """

    def __init__(
        self, parts: HostServices, scope: Scope, lease: Lease, duration: timedelta, held: asyncio.Timeout
    ) -> None:
        super().__init__(name=f"dream-lease-{scope}", on_failure=WorkerFailure.KEEP_RUNNING)
        self._parts = parts
        self._scope = scope
        self._lease = lease
        self._duration = duration
        self._held = held

    async def run(self) -> None:
        while True:
            await self._parts.clock.sleep(self._duration / 6)
            try:
                await self._parts.storage.write(
                    self._scope,
                    lambda unit: unit.leases.renew(self._lease, duration=self._duration),
                )
            except LeaseLostError:
                self._held.reschedule(0)
                return
            except StorageError:
                continue  # five more tries before it runs out


@asynccontextmanager
async def dream_lease(
    parts: HostServices, scope: Scope, duration: timedelta, *, admit: Callable[[UnitOfWork], None] | None = None
) -> AsyncGenerator[Lease]:
    """Hold the lease for the length of the block.

    Args:
        parts: What the host offers.
        scope: Whose memory.
        duration: How long a silent holder keeps it.
        admit: Called in the transaction that takes it, if given; what it raises leaves the lease where it was.

    Raises:
        NotAdmittedError: another holder has it.
        LeaseLostError: another one took it over meanwhile, while this process stood still.
    """
    holder = parts.ids.new()

    def take(unit: UnitOfWork) -> Lease:
        taken = unit.leases.acquire(DREAM_LEASE, holder=holder, duration=duration)
        if taken is None:
            other = unit.leases.holder(DREAM_LEASE)
            who = f" by process {other.pid} on {other.host}" if other else ""
            raise NotAdmittedError(reason=f"{Deferral.LEASE_HELD}{who}")
        if admit is not None:
            admit(unit)
        return taken

    lease = await parts.storage.write(scope, take)
    held = asyncio.timeout(None)
    renewal = _Renewal(parts, scope, lease, duration, held)
    await renewal.start()
    try:
        async with held:
            yield lease
    except TimeoutError:
        if held.expired():
            raise LeaseLostError(name=DREAM_LEASE) from None
        raise
    finally:
        await renewal.stop()
        await parts.storage.write(scope, lambda unit: unit.leases.release(lease))


def people_before(parts: HostServices, options: DreamOptions, scope: Scope) -> BusyWatch:
    """Return what tells whether people are served who hold back the dreams of *scope*.

    A model that is marked as shared answers people of all scopes: it is waited for whosever turn it is.
    """
    reach = BusyReach.ALL if parts.shares_endpoint else options.schedule.busy_reach
    return parts.watch.of(scope, reach)


async def is_paused(parts: HostServices, scope: Scope) -> bool:
    """Tell whether a person paused the dreams of *scope*."""
    return bool(await parts.storage.read(scope, lambda view: view.settings.get(PAUSED_SETTING)))


@contextmanager
def scope_boundary(scope: Scope) -> Generator[None]:
    """Let nothing but the library's own errors out of the block.

    Raises:
        DreamBrokenOffError: something else was raised, which it names.
    """
    try:
        yield
    except AgentcoreError:
        raise
    except Exception as error:
        raise DreamBrokenOffError(scope=str(scope), problem=f"{type(error).__name__}: {error}") from error


T = TypeVar("T")


class RunEnvelope:
    """One run under way, from the opening of its row to the report that closes it; use it by `async with`.

    At the end of the block, documents are written to their files and the row is closed. A block that raises leaves the
    row open: the next dream of the scope resumes the run, or gives it up.

    Args:
        parts: What the host offers.
        lease: The right to dream.
        report: What is known of it as it begins.
        freeze: Returns what the run's row freezes, in the transaction that opens it; None for a run that is resumed.
        reads_documents: Whether what people wrote in the files of the workspace is read first.
        ending: Called in the transaction that closes it; by default whoever plans dreams looks again.
        on_begin: Called with its id in the transaction that opens it, or before it goes on; None for nobody.
    """

    def __init__(
        self,
        parts: HostServices,
        lease: Lease,
        report: RunReport,
        *,
        freeze: Callable[[UnitOfWork], Mapping[str, Any]] | None = lambda _: {"passes": []},
        reads_documents: bool = True,
        ending: Callable[[UnitOfWork, RunReport], None] = lambda unit, _: unit.activity.notify(),
        on_begin: Callable[[UnitOfWork, str], None] | None = None,
    ) -> None:
        self._parts = parts
        self._freeze = freeze
        self._reads_documents = reads_documents and parts.workspaces is not None
        self._ending = ending
        self._on_begin = on_begin
        self._documents: Documents | None = None
        self.lease = lease
        self.report = report
        self.frozen: Mapping[str, Any] = {}
        self.obstacle: str | None = None
        """Why documents must be left alone; None if they need not."""
        self.passes: list[PassReport] = []
        """What its passes did, in order; the block adds to it."""

    async def __aenter__(self) -> Self:
        """Open the run's row, and read the files of the workspace."""
        from dream.cycle.documents.delivery import Documents  # noqa: PLC0415 - a host that only looks needs none

        if self._freeze is not None or self._on_begin is not None:
            self.frozen = await self._parts.storage.write(self.report.scope, self._open)
        self._documents = Documents(self._parts, self.report.scope)
        if self._reads_documents:
            self.obstacle = await self._documents.prepare()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write documents to their files, and close the row."""
        if kind is not None:
            return
        passes = tuple(self.passes)
        if self.obstacle is None and self._documents is not None:
            passes = tuple(map((await self._documents.deliver()).told_in, passes))
        self.report = self.report.with_passes(passes, self._parts.clock.now())
        await self._parts.storage.write(self.report.scope, self._close)

    async def write(self, work: Callable[[UnitOfWork], T], *, origin: Origin = Origin.DREAM) -> T:
        """Do *work* in one transaction; LeaseLostError if another process took over."""

        def held(unit: UnitOfWork) -> T:
            unit.leases.assert_held(self.lease)
            return work(unit)

        return await self._parts.storage.write(self.report.scope, held, origin=origin)

    def _open(self, unit: UnitOfWork) -> Mapping[str, Any]:
        frozen = {} if self._freeze is None else dict(self._freeze(unit))
        if self._freeze is not None:
            dream_stores(unit).runs.open(self.report, frozen)
        if self._on_begin is not None:
            self._on_begin(unit, self.report.run_id)
        return frozen

    def _close(self, unit: UnitOfWork) -> None:
        dream_stores(unit).runs.close(self.report)
        self._ending(unit, self.report)


async def carry_out(
    parts: HostServices,
    options: DreamOptions,
    opening: RunReport,
    work: Callable[[RunEnvelope], Awaitable[None]],
    **particulars: Any,
) -> RunReport:
    """Do what a person asked for as a run of its own, and return its report; while somebody dreams, it says so.

    Args:
        parts: What the host offers.
        options: The host's options.
        opening: What is known of the run as it begins; without an id it is given one.
        work: Does it, and adds to the reports of the run.
        particulars: More for the envelope.
    """
    try:
        async with dream_lease(parts, opening.scope, options.lease) as lease:
            report = opening if opening.run_id else dataclasses.replace(opening, run_id=parts.ids.new())
            async with RunEnvelope(parts, lease, report, **particulars) as run:
                await work(run)
            return run.report
    except NotAdmittedError as error:
        return deferred(opening, error.reason)


def asked_for(
    parts: HostServices, scope: Scope, kind: RunKind, target: str | None, *, as_of: datetime | None = None
) -> RunReport:
    """Return the report of a run that a person asks for, as it begins; it has no id yet."""
    now = parts.clock.now()
    return RunReport(
        run_id="",
        scope=scope,
        kind=kind,
        outcome=Outcome.UNCHANGED,
        as_of=as_of or now,
        started_at=now,
        target=target,
    )


def deferred(opening: RunReport, reason: str) -> RunReport:
    """Return the report of a run that did not start."""
    return dataclasses.replace(
        opening, run_id="", outcome=Outcome.DEFERRED, reason=reason, finished_at=opening.started_at
    )
