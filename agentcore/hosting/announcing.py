"""BusyAnnouncer: other processes on the database learn that this host serves people."""

import logging
from datetime import datetime, timedelta

from agentcore.clock import Clock
from agentcore.domain.scope import Scope
from agentcore.errors import StorageError
from agentcore.hosting.service import BackgroundService, WorkerFailure
from agentcore.llm.gate import BusyGate
from agentcore.stores.storage import Storage, UnitOfWork

DURATION = timedelta(seconds=30)
"""How long an announcement counts where nobody can see whether its process lives."""
RENEWAL = timedelta(seconds=10)
"""How often it is made again while people of a scope are served: two may fail."""
LOOK = timedelta(milliseconds=200)
"""How often a busy gate is looked at. An announcement outlives the last turn by one to two looks, so that a storm of
short turns costs at most five writes per second, and mostly one in ten seconds, however many scopes they are of."""

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
        self._announced: dict[Scope | None, datetime | None] = {}
        self._fails = False

    async def run(self) -> None:
        """Announce whenever people are served, as long as they are."""
        try:
            while True:
                await self._gate.wait_until_serving()
                while await self._stands(self._gate.take_served()):
                    await self._clock.sleep(LOOK)
        finally:
            await self._stands(frozenset())

    async def _stands(self, served: frozenset[Scope | None]) -> bool:
        """Announce who is served and withdraw who no longer is; tell whether there is anything left to withdraw."""
        now = self._clock.now()
        wanting = {scope for scope in served if not self._is_fresh(scope, now)}
        over = self._announced.keys() - served
        if wanting or over:
            # Also when the write is cancelled or fails: nobody knows how far it came.
            self._announced |= dict.fromkeys(wanting)

            def tell(unit: UnitOfWork) -> None:
                if wanting:
                    unit.busy.announce(self._holder, duration=DURATION, scopes=wanting)
                if over:
                    unit.busy.withdraw(self._holder, scopes=over)

            try:
                await self._storage.write(_ANYWHERE, tell)
            except StorageError as error:
                self._complain(error)
            else:
                self._announced |= dict.fromkeys(wanting, now)
                for scope in over:
                    del self._announced[scope]
                self._fails = False
        return bool(self._announced)

    def _is_fresh(self, scope: Scope | None, now: datetime) -> bool:
        announced_at = self._announced.get(scope)
        # A clock that was set back must not put the renewal off.
        return announced_at is not None and timedelta() <= now - announced_at < RENEWAL

    def _complain(self, error: StorageError) -> None:
        if not self._fails:
            self._fails = True
            _log.warning("busy_not_announced", extra={"error": type(error).__name__})
