"""The queue of a fleet: what is offered is handled once, and handed over when a worker stops."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from agentcore.clock import SystemClock
from agentcore.domain.scope import Scope
from dream.cycle.scheduling.queue import Offer

pytest.importorskip("pgqueuer")
pytest.importorskip("asyncpg")
from dream.cycle.fleet.pg_queue import PgQueue
from dream.cycle.fleet.worker import asyncpg_url


def an_offer(key: int, *, priority: int = 0) -> Offer:
    return Offer(key=key, scope=Scope("acme", "agent", f"p{key}"), number=1, priority=priority)


@pytest.fixture
async def queue(new_postgres: Callable[[], str]) -> AsyncIterator[PgQueue]:
    opened = PgQueue(asyncpg_url(new_postgres()), at_once=4, clock=SystemClock())
    yield opened
    await opened.close()


@asynccontextmanager
async def served(queue: PgQueue, handler: Callable[[Offer], Awaitable[None]]) -> AsyncIterator[None]:
    serving = asyncio.ensure_future(queue.serve(handler))
    try:
        yield
    finally:
        serving.cancel()
        await asyncio.wait({serving})


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.02)


async def test_each_scope_is_handled_once_however_often_it_is_offered_meanwhile(queue: PgQueue):
    await queue.offer([an_offer(1), an_offer(2)])
    assert list(await queue.offer([an_offer(1), an_offer(3)])) == [1]
    await queue.withdraw([2])
    handled: list[Offer] = []

    async def handle(offer: Offer) -> None:
        handled.append(offer)

    async with served(queue, handle):
        await until(lambda: len(handled) == 2)
        await asyncio.sleep(0.3)
    assert sorted(one.key for one in handled) == [1, 3]
    assert handled[0].scope == Scope("acme", "agent", f"p{handled[0].key}")


async def test_a_worker_that_stops_hands_what_it_has_under_way_to_another_at_once(
    new_postgres: Callable[[], str],
):
    url = asyncpg_url(new_postgres())
    leaving, other = (PgQueue(url, at_once=4, clock=SystemClock()) for _ in range(2))
    begun: list[int] = []

    async def hang(offer: Offer) -> None:
        begun.append(offer.key)
        await asyncio.Event().wait()

    await leaving.offer([an_offer(7)])
    async with served(leaving, hang):
        await until(lambda: begun == [7])
    taken: list[int] = []

    async def take(offer: Offer) -> None:
        taken.append(offer.key)

    async with served(other, take):
        await until(lambda: taken == [7])
