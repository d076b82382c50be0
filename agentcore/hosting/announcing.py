"""BusyAnnouncer: other processes on the database learn that this host serves people."""

import logging
from datetime import datetime, timedelta

from agentcore.clock import Clock
from agentcore.domain.scope import Scope
from agentcore.errors import StorageError
from agentcore.hosting.service import BackgroundService, WorkerFailure
from agentcore.llm.gate import BusyGate
from agentcore.stores.protocols import Storage

DURATION = timedelta(seconds=30)
"""How long an announcement counts where nobody can see whether its process lives."""
RENEWAL = timedelta(seconds=10)
"""How often it is made again while people are served: two may fail."""
LOOK = timedelta(milliseconds=200)
"""How often a busy gate is looked at. An announcement outlives the last turn by one to two looks, so that a storm of
short turns costs at most five writes per second, and mostly one in ten seconds."""

_ANYWHERE = Scope.default()
_log = logging.getLogger(__name__)


class BusyAnnouncer(BackgroundService):
    """Announces in the storage that people are served, and withdraws that; lives as long as the host.

    A turn never waits for it: it watches the gate. An idle host writes nothing. What the database refuses is tried
    again at the next look, and reported once until it succeeds.

    Args:
        storage: Where others look.
        clock: What it waits by.
        gate: Tells whether people are served.
        holder: Under which name; no other host on that storage has the same.
    """

    def __init__(self, *, storage: Storage, clock: Clock, gate: BusyGate, holder: str) -> None:
        super().__init__(name="busy-announcer", on_failure=WorkerFailure.KEEP_RUNNING)
        self._storage = storage
        self._clock = clock
        self._gate = gate
        self._holder = holder
        self._seen = (False, 0)
        self._may_stand = False
        self._announced_at: datetime | None = None
        self._fails = False

    async def run(self) -> None:
        """Announce whenever people are served, as long as they are."""
        try:
            while True:
                await self._gate.wait_until_serving()
                while await self._stands():
                    await self._clock.sleep(LOOK)
        finally:
            await self._withdraw()

    async def _stands(self) -> bool:
        """Announce or withdraw, as the gate looks; tell whether there is anything left to withdraw."""
        before, self._seen = self._seen, (self._gate.is_serving, self._gate.served)
        if self._gate.is_serving or self._seen != before:
            await self._announce()
            return True
        return not await self._withdraw()

    async def _announce(self) -> None:
        now = self._clock.now()
        # A clock that was set back must not put the renewal off.
        if self._announced_at is not None and timedelta() <= now - self._announced_at < RENEWAL:
            return
        self._may_stand = True  # also when the write is cancelled or fails: nobody knows how far it came
        try:
            await self._storage.write(_ANYWHERE, lambda unit: unit.busy.announce(self._holder, duration=DURATION))
        except StorageError as error:
            self._complain(error)
        else:
            self._announced_at = now
            self._fails = False

    async def _withdraw(self) -> bool:
        """Tell whether nothing stands any more."""
        if self._may_stand:
            try:
                await self._storage.write(_ANYWHERE, lambda unit: unit.busy.withdraw(self._holder))
            except StorageError as error:
                self._complain(error)
                return False
            self._fails = False
        self._may_stand, self._announced_at = False, None
        return True

    def _complain(self, error: StorageError) -> None:
        if not self._fails:
            self._fails = True
            _log.warning("busy_not_announced", extra={"error": type(error).__name__})
