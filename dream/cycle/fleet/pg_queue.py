"""Carries offers between the workers of a fleet, on pgqueuer in the same PostgreSQL database.

The queue stands in a schema of its own, `dream_queue`. What it holds can be lost without loss: offers run out, and what
is due is offered again.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import asyncpg
import orjson
from pgqueuer import Queries
from pgqueuer.adapters.drivers.asyncpg import AsyncpgPoolDriver
from pgqueuer.adapters.persistence import qb
from pgqueuer.core.qm import QueueManager
from pgqueuer.domain.errors import PgqException, RetryRequested
from pgqueuer.domain.settings import DBSettings

from agentcore.domain.scope import Scope
from agentcore.errors import StorageUnreachableError
from dream.cycle.scheduling.queue import Offer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence

    from pgqueuer.domain.models import Job

    from agentcore.clock import Clock
    from dream.cycle.scheduling.queue import Handler

SILENCE: Final = timedelta(seconds=20)
"""After how long without a sign of life another worker takes a dream over."""
_ENTRYPOINT: Final = "dream"
SETTINGS: Final = DBSettings(db_schema="dream_queue", channel="dream_queue")  # pyright: ignore[reportArgumentType]
_POLLS_EVERY: Final = timedelta(seconds=5)
_LOCK: Final = 0x64_72_65_61
"""The key of the advisory lock under which the queue's schema is made: "drea"."""
_WITHDRAW: Final = "DELETE FROM dream_queue.pgqueuer WHERE dedupe_key = ANY($1::text[]) AND status = 'queued'"
_PRUNE: Final = "DELETE FROM dream_queue.pgqueuer_log WHERE created < now() - interval '1 hour'"
_FAULTS: Final = (
    *(OSError, TimeoutError, PgqException),
    *(asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError),
)
"""What comes of a database that goes away; its driver also loses its own state over it."""
_OPENS_WITHIN: Final = timedelta(seconds=20)
_ANSWERS_WITHIN: Final = timedelta(seconds=10)
_ENDS_WITHIN: Final = timedelta(seconds=3)
"""A call to a server that is gone may never return: nothing waits longer for it."""
_LONGEST_PAUSE: Final = timedelta(seconds=30)
_Pool: TypeAlias = Any
_create_pool: Final[Any] = cast("Any", asyncpg).create_pool  # asyncpg brings no types
_log = logging.getLogger(__name__)


class PgQueue:
    """A `DreamQueue` in PostgreSQL; lives as long as the worker, on its event loop.

    An offer whose worker dies is brought to another one after `SILENCE`, at most five seconds later. A worker that
    stops hands what it has under way back at once.

    Args:
        url: The database, as asyncpg takes it.
        at_once: Dreams that this worker has under way at once.
        clock: What waits.
        before_stop: Awaited when the worker stops, before dreams under way are broken off.
    """

    def __init__(
        self, url: str, *, at_once: int, clock: Clock, before_stop: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._url = url
        self._at_once = at_once
        self._clock = clock
        self._before_stop = before_stop
        self._pool: _Pool | None = None
        self._queries: Queries | None = None
        self._opening = asyncio.Lock()
        self._serving: dict[asyncio.Task[None], QueueManager] = {}
        self._under_way: set[asyncio.Task[Any]] = set()
        self._places = asyncio.Semaphore(max(2, at_once))
        self._is_stopping = False

    async def offer(self, offers: Sequence[Offer]) -> Collection[int]:
        """Put offers into the queue, all in one statement.

        One of a scope that is in it already is dropped; return the keys of those.
        """
        if not offers:
            return ()
        async with _reached():
            queries = await self.opened()
            taken = await queries.enqueue(
                [_ENTRYPOINT] * len(offers),
                [_packed(one) for one in offers],
                [one.priority for one in offers],
                dedupe_key=[str(one.key) for one in offers],
                on_conflict="skip",
            )
        return [one.key for one, number in zip(offers, taken, strict=True) if number is None]

    async def withdraw(self, keys: Collection[int]) -> None:
        """Take offers of scopes out of the queue that no worker has yet."""
        if keys:
            async with _reached():
                await (await self.opened()).driver.execute(_WITHDRAW, list(map(str, keys)))

    async def serve(self, handler: Handler) -> None:
        """Handle offers until cancelled; where the database goes away, go on when it is back."""
        pause = timedelta(seconds=1)
        try:
            while True:
                began = self._clock.now()
                try:
                    await self._serve_once(handler)
                except _FAULTS as error:
                    _log.warning("dream_queue_lost", extra={"error": type(error).__name__})
                self._pool = self._queries = None  # what listened on a connection that broke does not listen again
                if self._clock.now() - began > _LONGEST_PAUSE:
                    pause = timedelta(seconds=1)
                await self._clock.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        finally:
            await self._stop()
            await self.close()

    async def close(self) -> None:
        """Close every connection."""
        pool, self._pool, self._queries = self._pool, None, None
        if pool is not None:
            pool.terminate()

    async def _serve_once(self, handler: Handler) -> None:
        """Serve until the database goes away, or notifications no longer come: what is under way then goes on."""
        manager = QueueManager(await self.opened(), channel=SETTINGS.channel)
        pool: _Pool = self._pool

        async def take(job: Job) -> None:
            await self._taken(handler, job)

        def ended(task: asyncio.Task[None]) -> None:
            self._serving.pop(task, None)
            pool.terminate()
            _ = task.cancelled() or task.exception()

        manager.entrypoint(_ENTRYPOINT, accepts_context=False)(take)
        serving = manager.run(
            dequeue_timeout=_POLLS_EVERY,
            batch_size=max(1, min(50, self._at_once // 2)),
            max_concurrent_tasks=max(2, self._at_once),
            heartbeat_timeout=SILENCE,
        )
        # No group owns it: one whose connection broke ends its dreams beside the next one, and `_stop` waits for all.
        running = asyncio.create_task(serving, name="dreams-pgqueuer")  # noqa: TID251
        self._serving[running] = manager
        running.add_done_callback(ended)
        async with asyncio.TaskGroup() as group:
            listening = group.create_task(self._watch_listener(manager), name="dreams-listener")
            await asyncio.wait({running, listening}, return_when=asyncio.FIRST_COMPLETED)
            listening.cancel()
        if running.done():
            running.result()

    async def _watch_listener(self, manager: QueueManager) -> None:
        """End the serving, to be begun anew, when notifications no longer come: their connection breaks silently.

        pgqueuer looks as well, and may do so before it listens, so that its first look can be wrong.
        """
        while True:
            await self._clock.sleep(_POLLS_EVERY)
            try:
                async with asyncio.timeout(_ANSWERS_WITHIN.total_seconds()):
                    await manager.listener_healthy(timeout=_POLLS_EVERY)
            except _FAULTS as error:
                _log.warning("dream_queue_deaf", extra={"error": type(error).__name__})
                manager.shutdown.set()
                return

    async def _stop(self) -> None:
        """Take nothing more, let calls that are being answered end, and hand the rest back."""
        for manager in self._serving.values():
            manager.shutdown.set()
        if self._before_stop is not None:
            await self._before_stop()
        self._is_stopping = True
        for task in self._under_way:
            task.cancel()
        for is_last in (False, True):
            serving = set(self._serving)
            for task in serving:
                if is_last:
                    task.cancel()
            if serving:
                await asyncio.wait(serving, timeout=_ENDS_WITHIN.total_seconds())

    async def _taken(self, handler: Handler, job: Job) -> None:
        mine = asyncio.current_task()
        assert mine is not None  # noqa: S101 - pgqueuer runs each job in a task
        self._under_way.add(mine)
        try:
            async with self._places:
                if self._is_stopping:
                    raise RetryRequested
                await handler(_unpacked(job.payload or b""))
        except asyncio.CancelledError:
            if not self._is_stopping:
                raise
            mine.uncancel()
            raise RetryRequested(reason="the worker stops") from None
        finally:
            self._under_way.discard(mine)

    async def opened(self) -> Queries:
        """Return what pgqueuer asks the database by, its schema made and its connections open."""
        async with self._opening, asyncio.timeout(_OPENS_WITHIN.total_seconds()):
            if self._queries is None:
                pool = await _create_pool(
                    self._url,
                    min_size=1,
                    max_size=4,
                    command_timeout=30,
                    timeout=10,
                    server_settings={"application_name": "dream-queue"},
                )
                queries = Queries(
                    AsyncpgPoolDriver(pool),
                    qbe=qb.QueryBuilderEnvironment(SETTINGS),
                    qbq=qb.QueryQueueBuilder(SETTINGS),
                    qbs=qb.QuerySchedulerBuilder(SETTINGS),
                )
                try:
                    await _install(pool, queries)
                except BaseException:
                    pool.terminate()
                    raise
                self._pool, self._queries = pool, queries
            return self._queries


@asynccontextmanager
async def _reached() -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(_OPENS_WITHIN.total_seconds()):
            yield
    except _FAULTS as error:
        problem, remedy = "cannot be reached for its queue", "check that the server runs; workers go on when it does"
        raise StorageUnreachableError(path="of the fleet", problem=problem, remedy=remedy) from error


async def _install(pool: _Pool, queries: Queries) -> None:
    """Create or upgrade the queue's schema, one worker at a time, and clear old lines of its log."""
    async with pool.acquire() as connection:
        await connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
        try:
            if not await queries.schema_is_installed():
                await queries.install()
            else:
                await queries.upgrade()
        finally:
            with suppress(asyncpg.PostgresError, asyncpg.InterfaceError):
                await connection.execute("SELECT pg_advisory_unlock($1)", _LOCK)
        await connection.execute(_PRUNE)


def _packed(one: Offer) -> bytes:
    scope = one.scope
    return orjson.dumps([one.key, one.number, one.priority, scope.workspace, scope.observer, scope.observed])


def _unpacked(payload: bytes) -> Offer:
    key, number, priority, *parts = orjson.loads(payload)
    return Offer(key=key, number=number, priority=priority, scope=Scope(*parts))
