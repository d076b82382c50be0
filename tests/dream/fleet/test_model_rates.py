"""What a fleet asks of a model: no more than its rate, and nothing for as long as its server wants to be left alone."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from itertools import count, repeat

import pytest
from dreaming import NOW

from agentcore.clock import SystemClock
from agentcore.llm import ChatMessage, ChatOptions, ChatRequest, ChatRole
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ChatServer, ManualClock, ServedRequest
from agentcore.testing.chat_replies import ServerReply, refused
from dream.cycle.fleet.model_rates import FleetRates, PacedModel

PAUSE = 2
ASKED = ChatRequest(messages=(ChatMessage(ChatRole.USER, "Hi"),), max_output_tokens=9, purpose="a test")


class Limited:
    """A server that refuses one call, and notes when each came."""

    def __init__(self) -> None:
        self.numbers = count()
        self.came: list[float] = []
        self.refused_at: float | None = None

    async def answer(self, _: ServedRequest) -> ServerReply | str:
        self.came.append(time.monotonic())
        if next(self.numbers) == 5:
            self.refused_at = time.monotonic()
            reply = refused(429, message="Slow down.")
            return ServerReply(status=429, body=reply.body, headers={"Retry-After": str(PAUSE)})
        await asyncio.sleep(0.05)
        return "Hello."


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as held:
        yield held


async def a_worker(stack: AsyncExitStack, url: str, address: str) -> tuple[PacedModel, FleetRates]:
    """What a worker has of its own: its connections, its client, and what it has heard of pauses."""
    clock = SystemClock()
    storage = SqlStorage(url, clock=clock)
    await storage.start()
    stack.push_async_callback(storage.stop)
    model = await stack.enter_async_context(PacedModel(ChatOptions(model="tiny", base_url=address), clock=clock))
    model.rates = FleetRates(storage, clock, {})
    return model, model.rates


async def test_one_refusal_with_retry_after_holds_all_three_workers_back_for_as_long_as_the_server_wants(
    stack: AsyncExitStack, postgres_url: str
):
    limited = Limited()
    server = await stack.enter_async_context(ChatServer(repeat(limited.answer)))
    workers = [await a_worker(stack, postgres_url, server.base_url) for _ in range(3)]
    until = time.monotonic() + PAUSE + 2

    async def asks(model: PacedModel, rates: FleetRates) -> None:
        while time.monotonic() < until:
            await rates.refresh()  # as a worker does with each look
            assert (await model.complete(ASKED)).text == "Hello."

    await asyncio.gather(*(asks(*one) for one in workers))
    assert limited.refused_at is not None
    after = [came - limited.refused_at for came in limited.came if came > limited.refused_at]
    # A call that was under way when the refusal came may still arrive, and one that is begun before it is heard of.
    assert not [one for one in after if 0.5 < one < PAUSE - 0.1]
    assert [one for one in after if one < PAUSE + 1]
    assert len([one for one in after if one >= PAUSE - 0.1]) >= 6


async def test_all_workers_together_ask_no_more_tokens_than_the_rate_allows():
    clock = ManualClock(NOW)
    storage = SqlStorage(None, clock=clock)
    await storage.start()
    workers = [FleetRates(storage, clock, {"*": 600}) for _ in range(3)]
    asked: list[float] = []
    began = clock.now()

    async def asks(rates: FleetRates) -> None:
        for _ in range(6):
            await rates.admit("tiny", 20)
            asked.append((clock.now() - began).total_seconds())

    working = asyncio.gather(*map(asks, workers))
    while not working.done():
        await asyncio.sleep(0.01)
        clock.advance(timedelta(seconds=1))
    await working
    await storage.stop()
    # 600 a minute are 100 in each window of ten seconds: five calls of 20.
    assert len(asked) == 18
    assert max(sum(10 * n <= at < 10 * n + 10 for at in asked) for n in range(10)) <= 10
    assert 20 <= asked[-1] <= 50
