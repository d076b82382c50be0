"""Holds the right to dream on a scope: taken unless a person is served, renewed while the run lasts, given back."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from agentcore.domain.busy_reach import BusyReach
from agentcore.errors import AgentcoreError, LeaseLostError, StorageError
from agentcore.hosting.lifecycle import BackgroundService, WorkerFailure
from dream.domain.names import DREAM_LEASE
from dream.domain.reasons import Deferral
from dream.errors import DreamBrokenOffError, NotAdmittedError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator
    from datetime import timedelta

    from agentcore.domain.scope import Scope
    from agentcore.hosting.busy import BusyWatch
    from agentcore.hosting.parts import HostParts
    from agentcore.stores.storage import UnitOfWork
    from agentcore.stores.values import Lease
    from dream.options import DreamOptions


class _Renewal(BackgroundService):
    """Renews a lease six times per duration; a lost one shows at the next step, which checks the fencing token."""

    def __init__(self, parts: HostParts, scope: Scope, lease: Lease, duration: timedelta) -> None:
        super().__init__(name=f"dream-lease-{scope}", on_failure=WorkerFailure.KEEP_RUNNING)
        self._parts = parts
        self._scope = scope
        self._lease = lease
        self._duration = duration

    async def run(self) -> None:
        while True:
            await self._parts.clock.sleep(self._duration / 6)
            try:
                await self._parts.storage.write(
                    self._scope,
                    lambda unit: unit.leases.renew(self._lease, duration=self._duration),
                )
            except LeaseLostError:
                return
            except StorageError:
                continue  # five more tries before it runs out


@asynccontextmanager
async def dream_lease(
    parts: HostParts, scope: Scope, duration: timedelta, *, admit: Callable[[UnitOfWork], None] | None = None
) -> AsyncGenerator[Lease]:
    """Hold the lease for the length of the block.

    Args:
        parts: What the host offers.
        scope: Whose memory.
        duration: How long a silent holder keeps it.
        admit: Called in the transaction that takes it, if given; what it raises leaves the lease where it was.

    Raises:
        NotAdmittedError: another holder has it.
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
    renewal = _Renewal(parts, scope, lease, duration)
    await renewal.start()
    try:
        yield lease
    finally:
        await renewal.stop()
        await parts.storage.write(scope, lambda unit: unit.leases.release(lease))


def people_before(parts: HostParts, options: DreamOptions, scope: Scope) -> BusyWatch:
    """Return what tells whether people are served who hold back the dreams of *scope*.

    A model that is marked as shared answers people of all scopes: it is waited for whosever turn it is.
    """
    reach = BusyReach.ALL if parts.shares_endpoint else options.schedule.busy_reach
    return parts.watch.of(scope, reach)


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
