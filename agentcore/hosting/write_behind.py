"""Writes what no turn waits for, in batches and in the background: activity, recall hits, vectors."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from agentcore.domain.scope import Scope
from agentcore.domain.signals import RecallHit
from agentcore.domain.text import query_key
from agentcore.errors import AgentcoreError, StorageError
from agentcore.hosting.lifecycle import BackgroundService, WorkerFailure
from agentcore.stores.values import Peer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from agentcore.clock import Clock
    from agentcore.recall.dense import DenseRecall
    from agentcore.recall.results import Hit
    from agentcore.stores.storage import Storage, UnitOfWork

EVERY = timedelta(milliseconds=150)
"""How long activity is gathered before it is written: with the write itself, a kill costs at most 200 ms of it."""
_PEERS_AT_ONCE = 2_000
"""Peers in one transaction at most, so that no other writer waits for long."""

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
            batch = dict(waiting[:_PEERS_AT_ONCE])
            try:
                await self._storage.write(None, lambda unit: unit.activity.touch(batch))  # noqa: B023 - awaited
            except StorageError as error:
                self._keep(dict(waiting))
                if not self._fails:
                    _log.warning("activity_not_recorded", extra={"error": type(error).__name__})
                self._fails = True
                return
            except BaseException:
                self._keep(dict(waiting))
                raise
            waiting = waiting[_PEERS_AT_ONCE:]
        self._fails = False

    def _keep(self, moments: dict[Peer, datetime]) -> None:
        """Put back what was not written; what is newer stands."""
        self._moments = moments | self._moments
        self._any.set()


INTERVAL: Final = timedelta(seconds=5)
"""How long hits wait for others before they are written together."""
MOST_WAITING: Final = 10_000
"""Hits that wait at most; where the database takes none, the oldest are lost."""

_DROPPED_AT_ONCE: Final = 1_000


@dataclass(slots=True)
class _Need:
    """What one need found, kept small until it is written: a turn should not wait for it to be made into hits."""

    scope: Scope
    query: str
    recalled_at: datetime
    session_id: str | None
    found: list[tuple[str, float]]
    _first_rank: int = 1

    def drop(self, most: int) -> int:
        """Leave out the first *most* hits; return how many there were."""
        dropped = len(self.found[:most])
        del self.found[:most]
        self._first_rank += dropped
        return dropped

    def hits(self) -> Iterator[RecallHit]:
        for rank, (entry_id, score) in enumerate(self.found, start=self._first_rank):
            yield RecallHit(
                entry_id=entry_id,
                query=self.query,
                score=score,
                rank=rank,
                recalled_at=self.recalled_at,
                session_id=self.session_id,
            )


class RecallNotes(BackgroundService):
    """Records which entries needs recalled, for promotion to build on; lives as long as the host.

    Noting costs a recall no wait: hits are written every five seconds in which there were any, and when the host stops.
    With each batch those older than they are kept go. What the database refuses is tried again with the next batch.

    Args:
        storage: Where hits are kept.
        clock: When they happened.
        keep: How long they are kept; zero records nothing.
    """

    def __init__(self, storage: Storage, *, clock: Clock, keep: timedelta) -> None:
        super().__init__(name="recall-notes", on_failure=WorkerFailure.KEEP_RUNNING)
        self._storage = storage
        self._clock = clock
        self._keep = keep
        self._waiting: deque[_Need] = deque()
        self._hits_waiting = 0
        self._noted = asyncio.Event()

    def note(self, scope: Scope, query: str, hits: Sequence[Hit], *, session_id: str | None) -> None:
        """Have *hits* recorded, the best first."""
        if self._keep <= timedelta() or not hits:
            return
        found = [(hit.entry.id, hit.score) for hit in hits]
        self._waiting.append(_Need(scope, query_key(query), self._clock.now(), session_id, found))
        self._hits_waiting += len(found)
        self._bound()
        self._noted.set()

    async def run(self) -> None:
        """Write whatever was noted, a while after its first hit."""
        try:
            while True:
                await self._noted.wait()
                await self._clock.sleep(INTERVAL)
                await self.flush()
        finally:
            await self.flush()

    async def flush(self) -> None:
        """Write what waits now."""
        self._noted.clear()
        refused: list[_Need] = []
        # Taken out scope by scope: what a cancellation cuts off is still there for the last flush.
        while self._waiting:
            scope = self._waiting[0].scope
            needs = [need for need in self._waiting if need.scope == scope]
            self._waiting = deque(need for need in self._waiting if need.scope != scope)
            count = sum(len(need.found) for need in needs)
            self._hits_waiting -= count
            try:
                await self._storage.write(scope, partial(self._write, needs=needs))
            except StorageError as error:
                _log.warning("recall_hits_not_written", extra={"error": type(error).__name__, "hits": count})
                refused += needs
        if refused:
            self._waiting.extendleft(reversed(refused))
            self._hits_waiting += sum(len(need.found) for need in refused)
            self._bound()
            self._noted.set()

    def _bound(self) -> None:
        """Let the oldest hits go if more wait than may."""
        while self._hits_waiting > MOST_WAITING:
            oldest = self._waiting[0]
            self._hits_waiting -= oldest.drop(self._hits_waiting - MOST_WAITING)
            if not oldest.found:
                self._waiting.popleft()

    def _write(self, unit: UnitOfWork, *, needs: Sequence[_Need]) -> None:
        unit.recall_hits.append([hit for need in needs for hit in need.hits()])
        unit.activity.notify()  # what was needed often enough may be promoted by a dream
        unit.recall_hits.drop_expired(recalled_before=unit.now - self._keep, limit=_DROPPED_AT_ONCE)


class EmbeddingFiller(BackgroundService):
    """Asks the embedding model for what recall lacks, one batch after the other; lives as long as the host.

    A model that gives nothing is left alone for a while and asked again; until then words alone answer.

    Args:
        dense: What lacks vectors.
        clock: What it waits by.
    """

    def __init__(self, dense: DenseRecall, *, clock: Clock) -> None:
        super().__init__(name="embedding-filler", on_failure=WorkerFailure.KEEP_RUNNING)
        self._dense = dense
        self._clock = clock

    async def run(self) -> None:
        """Fill until cancelled."""
        while True:
            try:
                await self._dense.fill()
            except (AgentcoreError, ValueError, OSError) as error:
                reason = str(getattr(error, "failure", None) or type(error).__name__)
                _log.warning("embedding_failed", extra={"reason": reason})
                await self._clock.sleep(self._dense.rest())
