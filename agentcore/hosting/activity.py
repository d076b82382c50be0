"""ActivityRecorder: activity that comes without a record is written down in batches."""

import asyncio
import logging
from datetime import datetime, timedelta

from agentcore.clock import Clock
from agentcore.domain.scope import Scope
from agentcore.errors import StorageError
from agentcore.hosting.service import BackgroundService, WorkerFailure
from agentcore.stores.storage import Storage
from agentcore.stores.values import Peer

EVERY = timedelta(milliseconds=150)
"""How long activity is gathered before it is written: with the write itself, a kill costs at most 200 ms of it."""
_AT_ONCE = 2_000
"""Peers in one transaction at most, so that no other writer waits for long."""

_ANYWHERE = Scope.default()
_log = logging.getLogger(__name__)


class ActivityRecorder(BackgroundService):
    """Gathers who is active and writes it down, a batch at a time; lives as long as the host.

    Of one peer only the newest moment is kept, so that a storm of messages costs as little as one. What the database
    refuses is kept for the next batch, and reported once until it succeeds.

    Args:
        storage: Where it is written.
        clock: Gives each moment, and the rhythm.

    Example:
        >>> from agentcore.clock import SystemClock
        >>> from agentcore.stores.sql.sql_storage import SqlStorage
        >>> async def main() -> None:
        ...     storage = SqlStorage(None, clock=SystemClock())
        ...     await storage.start()
        ...     recorder = ActivityRecorder(storage=storage, clock=SystemClock())
        ...     await recorder.start()
        ...     recorder.touch(Scope.default())
        ...     await recorder.stop()
        ...     print(await storage.read(Scope.default(), lambda view: view.activity.last() is not None))
        ...     await storage.stop()
        >>> asyncio.run(main())
        True
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        super().__init__(name="activity-recorder", on_failure=WorkerFailure.KEEP_RUNNING)
        self._storage = storage
        self._clock = clock
        self._moments: dict[Peer, datetime] = {}
        self._any = asyncio.Event()
        self._fails = False

    def touch(self, scope: Scope) -> None:
        """Note that the scope's peer is active now; it never waits, and belongs to the event loop's thread."""
        self._moments[Peer.of(scope)] = self._clock.now()
        self._any.set()

    async def run(self) -> None:
        """Write what was gathered, until stopped."""
        while True:
            await self._any.wait()
            await self._clock.sleep(EVERY)
            await self._write()

    async def stop(self) -> None:
        """Write what is left."""
        try:
            await super().stop()
        finally:
            await self._write()

    async def _write(self) -> None:
        """Write everything; what came meanwhile is for the next time."""
        moments, self._moments = self._moments, {}
        self._any.clear()
        waiting = sorted(moments.items())
        while waiting:
            batch = dict(waiting[:_AT_ONCE])
            try:
                await self._storage.write(_ANYWHERE, lambda unit: unit.activity.touch(batch))  # noqa: B023 - awaited
            except StorageError as error:
                self._keep(dict(waiting))
                if not self._fails:
                    _log.warning("activity_not_recorded", extra={"error": type(error).__name__})
                self._fails = True
                return
            except BaseException:
                self._keep(dict(waiting))
                raise
            waiting = waiting[_AT_ONCE:]
        self._fails = False

    def _keep(self, moments: dict[Peer, datetime]) -> None:
        """Put back what was not written; what is newer stands."""
        self._moments = moments | self._moments
        self._any.set()
