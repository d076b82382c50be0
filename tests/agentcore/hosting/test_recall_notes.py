"""What turns need is written down beside them, and what nobody needs is not."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.domain import MemoryEntry, Purpose
from agentcore.errors import StorageUnavailableError
from agentcore.hosting import INTERVAL, RecallNotes
from agentcore.recall import Hit
from agentcore.testing import ManualClock, SequentialIds

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def clock():
    return ManualClock(NOON)


@pytest.fixture
async def host(clock: ManualClock):
    async with AgentHostBuilder(None, clock=clock, ids=SequentialIds("e")).with_memory().build() as running:
        await running.memory.remember("Ana likes green tea")
        await running.memory.remember("Ben likes black tea")
        yield running


async def written(clock: ManualClock) -> None:
    """Let what was noted wait as long as it does."""
    for _ in range(20):
        if clock.sleepers:
            clock.advance(INTERVAL)
        await asyncio.sleep(0.005)


async def test_needs_are_counted_by_entry_query_and_day(host: Host, clock: ManualClock):
    for query in ("Who likes green tea?", "who likes  GREEN tea", "tea"):
        await host.memory.recall(query, session_id="s1")
    assert await host.memory.uses() == []
    await written(clock)
    clock.set(NOON + DAY)
    await host.memory.recall("green", k=1)
    await written(clock)
    green, black = await host.memory.uses()
    assert (green.entry_id, green.hits, green.queries, green.days, green.best_rank) == ("e-000001", 4, 3, 2, 1)
    assert (black.hits, black.queries, black.days, black.best_rank) == (3, 2, 1, 2)
    assert (green.first_at, green.last_at) == (NOON, NOON + DAY)
    assert [use.hits for use in await host.memory.uses(since=NOON + DAY)] == [1]


async def test_previews_explanations_and_other_readers_count_nothing(host: Host, clock: ManualClock):
    await host.memory.recall("tea", purpose=Purpose.PREVIEW)
    await host.memory.explain("tea")
    await host.memory.list()
    await host.memory.recall("volcano")
    await written(clock)
    assert await host.memory.uses() == []


async def test_the_agent_s_own_tool_is_a_need_of_its_session(host: Host, clock: ManualClock):
    await host.tools(session_id="s7").call("recall", {"query": "green tea"})
    await written(clock)
    assert [use.hits for use in await host.memory.uses()] == [1, 1]


async def test_what_still_waits_is_written_when_the_host_stops(tmp_path: Any, clock: ManualClock):
    def opened() -> Host:
        return AgentHostBuilder(tmp_path, clock=clock).with_memory().build()

    async with opened() as host:
        await host.memory.remember("Ana likes tea")
        await host.memory.recall("tea")
    async with opened() as host:
        assert [use.hits for use in await host.memory.uses()] == [1]


async def test_old_needs_go_with_the_next_batch_and_a_forgotten_entry_takes_its_own(host: Host, clock: ManualClock):
    await host.memory.recall("tea")
    await written(clock)
    clock.set(NOON + 91 * DAY)
    await host.memory.recall("green")
    await written(clock)
    (green,) = await host.memory.uses()
    assert (green.hits, green.first_at) == (1, NOON + 91 * DAY)
    await host.memory.forget(green.entry_id)
    assert await host.memory.uses() == []


async def test_a_host_that_keeps_nothing_records_nothing(clock: ManualClock):
    builder = AgentHostBuilder(None, clock=clock).with_memory(lambda o: o.replace(recall_log_retention=timedelta(0)))
    async with builder.build() as host:
        await host.memory.remember("Ana likes tea")
        await host.memory.recall("tea")
        assert clock.sleepers == 0
        await written(clock)
        assert await host.memory.uses() == []


class Refusing:
    """A storage that fails so many times."""

    def __init__(self, storage: Any, times: int) -> None:
        self._storage = storage
        self._times = times

    async def write(self, scope: Scope, work: Callable[[Any], Any]) -> Any:
        self._times -= 1
        if self._times >= 0:
            raise StorageUnavailableError(path="x", problem="is locked", remedy="wait")
        return await self._storage.write(scope, work)


async def test_a_batch_that_the_database_refuses_is_written_with_the_next(
    host: Host, clock: ManualClock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    storage: Any = Refusing(host.storage, times=1)
    notes = RecallNotes(storage, clock=clock, keep=DAY)
    (entry,) = await host.memory.list(limit=1)
    with caplog.at_level(logging.WARNING):
        note(notes, host, entry, 1)
        await notes.flush()
    assert [record.message for record in caplog.records] == ["recall_hits_not_written"]
    note(notes, host, entry, 1)
    await notes.flush()
    assert [use.hits for use in await host.memory.uses()] == [2]
    monkeypatch.setattr("agentcore.hosting.write_behind.MOST_WAITING", 3)
    note(notes, host, entry, 9)
    await notes.flush()
    assert [use.hits for use in await host.memory.uses()] == [5]


def note(notes: RecallNotes, host: Host, entry: MemoryEntry, count: int) -> None:
    notes.note(host.memory.scope, "tea", [Hit(entry, 1.0)] * count, session_id=None)
