"""RecallNotes: what turns needed is written down in batches, beside them."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from agentcore.clock import Clock
from agentcore.domain.scope import Scope
from agentcore.domain.signals import RecallHit
from agentcore.domain.text import query_key
from agentcore.errors import StorageError
from agentcore.hosting.service import BackgroundService, WorkerFailure
from agentcore.recall.hit import Hit
from agentcore.stores.protocols import Storage, UnitOfWork

INTERVAL: Final = timedelta(seconds=5)
"""How long hits wait for others before they are written together."""
MOST_WAITING: Final = 10_000
"""Hits that wait at most; where the database takes none, the oldest are lost."""

_DROPPED_AT_ONCE: Final = 1_000
_log = logging.getLogger(__name__)


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
        self._waiting: list[tuple[Scope, RecallHit]] = []
        self._noted = asyncio.Event()

    def note(self, scope: Scope, query: str, hits: Sequence[Hit], *, session_id: str | None) -> None:
        """Have *hits* recorded, the best first."""
        if self._keep <= timedelta() or not hits:
            return
        key, now = query_key(query), self._clock.now()
        self._waiting += [
            (
                scope,
                RecallHit(
                    entry_id=hit.entry.id,
                    query=key,
                    score=hit.score,
                    rank=rank,
                    recalled_at=now,
                    session_id=session_id,
                ),
            )
            for rank, hit in enumerate(hits, start=1)
        ]
        del self._waiting[:-MOST_WAITING]
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
        refused: list[tuple[Scope, RecallHit]] = []
        # Taken out scope by scope: what a cancellation cuts off is still there for the last flush.
        while self._waiting:
            scope = self._waiting[0][0]
            hits = [hit for one, hit in self._waiting if one == scope]
            self._waiting = [one for one in self._waiting if one[0] != scope]
            try:
                await self._storage.write(scope, partial(self._write, hits=hits))
            except StorageError as error:
                _log.warning("recall_hits_not_written", extra={"error": type(error).__name__, "hits": len(hits)})
                refused += ((scope, hit) for hit in hits)
        if refused:
            self._waiting = [*refused, *self._waiting][-MOST_WAITING:]
            self._noted.set()

    def _write(self, unit: UnitOfWork, *, hits: Sequence[RecallHit]) -> None:
        unit.recall_hits.append(hits)
        unit.activity.notify()  # what was needed often enough may be promoted by a dream
        unit.recall_hits.drop_expired(recalled_before=unit.now - self._keep, limit=_DROPPED_AT_ONCE)
