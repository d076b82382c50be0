import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from serving import NOON, BusyStorage, pass_time, settle, until

from agentcore.errors import StorageUnavailableError
from agentcore.hosting import ROWS_EVERY, SOURCES_EVERY, BusyWatch
from agentcore.llm import BusyGate
from agentcore.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
async def storage(clock: ManualClock) -> AsyncIterator[BusyStorage]:
    storage = BusyStorage(clock)
    await storage.start()
    yield storage
    await storage.stop()


@pytest.fixture
def gate() -> BusyGate:
    return BusyGate()


def a_watch(storage: BusyStorage, clock: ManualClock, gate: BusyGate, *sources: Any) -> BusyWatch:
    return BusyWatch(storage=storage, clock=clock, gate=gate, holder="me", sources=sources)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelname == "WARNING"]


async def test_who_is_served_elsewhere_is_known_when_the_watch_begins(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    await storage.announce("other")
    async with a_watch(storage, clock, gate).watching():
        assert (gate.is_busy, gate.is_serving) == (True, False)
    assert not gate.is_busy


async def test_a_turn_elsewhere_is_noticed_within_a_second_and_so_is_its_end(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    async with a_watch(storage, clock, gate).watching():
        for _ in range(2):
            await storage.announce("other")
            assert not gate.is_busy
            await pass_time(clock, timedelta(seconds=1))
            assert gate.is_busy
            await storage.withdraw("other")
            await pass_time(clock, timedelta(seconds=1))
            assert not gate.is_busy


async def test_the_hosts_own_announcement_keeps_its_dreams_from_nothing(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    await storage.announce("me")
    async with a_watch(storage, clock, gate).watching():
        await pass_time(clock, timedelta(seconds=1))
        assert not gate.is_busy


async def test_an_announcement_that_nobody_renews_lets_dreams_go_on(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    await storage.announce("other", timedelta(seconds=30))
    async with a_watch(storage, clock, gate).watching():
        await pass_time(clock, timedelta(seconds=29), ROWS_EVERY)
        assert gate.is_busy
        await pass_time(clock, timedelta(seconds=2), ROWS_EVERY)
        assert not gate.is_busy


async def test_two_watches_of_one_host_hold_the_gate_each_for_itself(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    await storage.announce("other")
    watch = a_watch(storage, clock, gate)
    async with watch.watching():
        async with watch.watching():
            assert gate.is_busy
        assert gate.is_busy
    assert not gate.is_busy


async def test_nothing_is_read_before_or_after(storage: BusyStorage, clock: ManualClock, gate: BusyGate):
    watch = a_watch(storage, clock, gate)
    await settle()
    assert storage.reads == 0
    async with watch.watching():
        assert storage.reads == 1
    await pass_time(clock, timedelta(seconds=5), ROWS_EVERY)
    assert (storage.reads, clock.sleepers) == (1, 0)


async def test_while_the_database_fails_what_was_seen_last_stands_and_it_is_reported_once(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate, caplog: pytest.LogCaptureFixture
):
    await storage.announce("other")
    async with a_watch(storage, clock, gate).watching():
        storage.is_broken = True
        await pass_time(clock, timedelta(seconds=5), ROWS_EVERY)
        assert gate.is_busy
        assert warnings(caplog) == ["busy_unknown"]
        storage.is_broken = False
        await storage.withdraw("other")
        await pass_time(clock, ROWS_EVERY)
        assert not gate.is_busy


async def test_a_step_waits_for_a_turn_that_the_watch_has_not_seen_yet(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    watch = a_watch(storage, clock, gate)
    async with watch.watching():
        await storage.announce("other")
        step = asyncio.create_task(watch.wait_until_idle())
        await settle()
        assert not gate.is_busy
        assert not step.done()
        await storage.withdraw("other")
        await pass_time(clock, 2 * ROWS_EVERY)
        await asyncio.wait_for(step, 10)


async def test_a_step_waits_for_a_turn_that_begins_while_the_announcements_are_read(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    watch = a_watch(storage, clock, gate)
    storage.may_read.clear()
    step = asyncio.create_task(watch.wait_until_idle())
    await until(lambda: storage.reads == 1)
    async with gate.foreground():
        storage.may_read.set()
        await until(lambda: storage.answers == 1)
        await settle()
        assert not step.done()
    await asyncio.wait_for(step, 10)
    assert storage.reads == 2


async def test_a_step_is_not_taken_when_nobody_knows(storage: BusyStorage, clock: ManualClock, gate: BusyGate):
    storage.is_broken = True
    with pytest.raises(StorageUnavailableError):
        await a_watch(storage, clock, gate).wait_until_idle()


class Source:
    """Answers what it is told to, and counts."""

    def __init__(self) -> None:
        self.answer: Any = False
        self.asked = 0
        self.threads: set[int] = set()

    def __call__(self) -> Any:
        self.asked += 1
        self.threads.add(threading.get_ident())
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def wait(self) -> Any:
        return self()


def returned(source: Source) -> Any:
    return source.wait()


@pytest.mark.parametrize("kind", ["function", "coroutine", "partial", "returns an awaitable"])
async def test_a_source_is_asked_at_once_and_every_five_seconds(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate, kind: str
):
    source = Source()
    asked: Any = {
        "function": source,
        "coroutine": source.wait,
        "partial": partial(source),
        "returns an awaitable": partial(returned, source),
    }[kind]
    source.answer = 1
    async with a_watch(storage, clock, gate, asked).watching():
        assert gate.is_busy
        assert source.asked == 1
        source.answer = 0
        await pass_time(clock, SOURCES_EVERY - timedelta(milliseconds=100), ROWS_EVERY)
        assert source.asked == 1
        await pass_time(clock, timedelta(milliseconds=100))
        await until(lambda: not gate.is_busy)
        assert source.asked == 2


async def test_a_function_that_may_block_is_called_beside_the_event_loop(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    source = Source()
    async with a_watch(storage, clock, gate, source).watching():
        assert threading.get_ident() not in source.threads


async def test_one_busy_source_of_several_is_enough(storage: BusyStorage, clock: ManualClock, gate: BusyGate):
    first, second = Source(), Source()
    first.answer = second.answer = True
    async with a_watch(storage, clock, gate, first, second).watching():
        first.answer = False
        await pass_time(clock, SOURCES_EVERY, ROWS_EVERY)
        await until(lambda: first.asked == second.asked == 2)
        await settle()
        assert gate.is_busy
        second.answer = False
        await pass_time(clock, SOURCES_EVERY, ROWS_EVERY)
        await until(lambda: not gate.is_busy)


async def test_a_source_that_fails_counts_as_not_busy_and_is_reported_once_until_it_answers(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate, caplog: pytest.LogCaptureFixture
):
    source = Source()
    source.answer = True
    async with a_watch(storage, clock, gate, source.wait).watching():
        source.answer = ValueError("the secret name of the person")
        for _ in range(3):
            await pass_time(clock, SOURCES_EVERY, ROWS_EVERY)
            assert not gate.is_busy
        assert warnings(caplog) == ["busy_source_failed"]
        assert "secret" not in caplog.text
        source.answer = True
        await pass_time(clock, SOURCES_EVERY, ROWS_EVERY)
        assert gate.is_busy
        source.answer = KeyError()
        await pass_time(clock, SOURCES_EVERY, ROWS_EVERY)
        assert warnings(caplog) == ["busy_source_failed"] * 2
    assert source.asked == 6


async def test_a_source_that_hangs_counts_as_not_busy_and_holds_nothing_up(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("agentcore.hosting.busy.PATIENCE_SECONDS", 0.02)
    never = asyncio.Event()
    async with a_watch(storage, clock, gate, never.wait).watching():
        assert not gate.is_busy
        await storage.announce("other")
        await pass_time(clock, ROWS_EVERY)
        assert gate.is_busy


async def test_a_function_that_hangs_is_not_called_a_second_time_beside_itself(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("agentcore.hosting.busy.PATIENCE_SECONDS", 0.02)
    let_go, calls = threading.Event(), []

    def hang() -> bool:
        calls.append(1)
        let_go.wait(10)
        return True

    async with a_watch(storage, clock, gate, hang).watching():
        await pass_time(clock, 3 * SOURCES_EVERY, ROWS_EVERY)
        assert calls == [1]
        let_go.set()
        await settle()
        await pass_time(clock, SOURCES_EVERY, ROWS_EVERY)
        await until(lambda: gate.is_busy)
        assert calls == [1, 1]


async def test_a_watch_that_is_cancelled_at_any_moment_lets_the_gate_go(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    await storage.announce("other")

    async def watch() -> None:
        async with a_watch(storage, clock, gate, lambda: True).watching():
            await asyncio.Event().wait()

    for turns in range(40):
        task = asyncio.create_task(watch())
        for _ in range(turns):
            await asyncio.sleep(0.0002)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert not gate.is_busy
    assert clock.sleepers == 0
