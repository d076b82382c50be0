import asyncio
import logging
import time
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from serving import NOON, BusyStorage, pass_time, settle, until

from agentcore.errors import StorageUnavailableError
from agentcore.hosting import DURATION, LOOK, RENEWAL, BusyAnnouncer
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


@pytest.fixture
async def announcer(storage: BusyStorage, clock: ManualClock, gate: BusyGate) -> AsyncIterator[BusyAnnouncer]:
    announcer = BusyAnnouncer(storage=storage, clock=clock, gate=gate, holder="me")
    await announcer.start()
    yield announcer
    await announcer.stop()


@pytest.mark.usefixtures("announcer")
async def test_an_idle_host_writes_nothing(storage: BusyStorage, clock: ManualClock):
    await pass_time(clock, timedelta(seconds=30), timedelta(seconds=1))
    assert storage.writes == 0


@pytest.mark.usefixtures("announcer")
async def test_a_turn_is_announced_at_once_and_withdrawn_soon_after_it(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    async with gate.foreground():
        await until(lambda: clock.sleepers == 1)
        (found,) = await storage.holders()
        assert (found.holder, found.since, found.expires_at) == ("me", NOON, NOON + DURATION)
    await pass_time(clock, LOOK)
    assert len(await storage.holders()) == 1
    await pass_time(clock, LOOK)
    assert await storage.holders() == []
    assert (storage.writes, clock.sleepers) == (2, 0)


@pytest.mark.usefixtures("announcer")
async def test_a_waiting_message_is_announced_and_people_served_elsewhere_are_not(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    with gate.foreign():
        await settle()
        assert storage.writes == 0
        with gate.pending():
            await until(lambda: clock.sleepers == 1)
            assert len(await storage.holders()) == 1
        await pass_time(clock, 3 * LOOK)
        assert gate.is_busy
        assert await storage.holders() == []


@pytest.mark.usefixtures("announcer")
async def test_a_long_turn_is_announced_again_before_it_expires(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    async with gate.foreground():
        await until(lambda: clock.sleepers == 1)
        for _ in range(9):
            await pass_time(clock, RENEWAL, timedelta(seconds=1))
            (found,) = await storage.holders()
            assert found.since == NOON
            assert found.expires_at >= clock.now() + 2 * RENEWAL
    assert 9 <= storage.writes <= 11


@pytest.mark.usefixtures("announcer")
async def test_a_storm_of_short_turns_costs_one_write_in_ten_seconds(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    """Each is over before the announcer looks; between them nobody is served."""
    for _ in range(250):
        async with gate.foreground():
            await asyncio.sleep(0)
        await pass_time(clock, timedelta(milliseconds=100))
        assert len(await storage.holders()) == 1
    assert storage.writes == 3
    await pass_time(clock, 3 * LOOK)
    assert await storage.holders() == []


@pytest.mark.usefixtures("announcer")
@pytest.mark.parametrize("gap_ms", [150, 250, 390, 450, 700])
async def test_whatever_their_rhythm_turns_cost_at_most_five_writes_a_second(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate, gap_ms: int
):
    while clock.now() < NOON + timedelta(seconds=6):
        async with gate.foreground():
            await settle()
        await pass_time(clock, timedelta(milliseconds=gap_ms), timedelta(milliseconds=50))
    assert 1 <= storage.writes <= 5 * 6


@pytest.mark.usefixtures("announcer")
async def test_a_turn_does_not_wait_for_the_database(storage: BusyStorage, gate: BusyGate):
    storage.may_write.clear()
    began = time.perf_counter()
    async with gate.foreground():
        await until(lambda: storage.writes == 1)
    assert not gate.is_busy
    assert time.perf_counter() - began < 1
    storage.may_write.set()


@pytest.mark.usefixtures("announcer")
async def test_a_database_that_fails_breaks_no_turn_is_reported_once_and_tried_again(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate, caplog: pytest.LogCaptureFixture
):
    storage.is_broken = True
    async with gate.foreground():
        await until(lambda: clock.sleepers == 1)
        await pass_time(clock, 5 * LOOK)
        assert storage.writes >= 3
        assert [record.message for record in caplog.records] == ["busy_not_announced"]
        storage.is_broken = False
        await pass_time(clock, LOOK)
        assert len(await storage.holders()) == 1
    storage.is_broken = True
    await pass_time(clock, 4 * LOOK)
    assert len(await storage.holders()) == 1
    assert [record.message for record in caplog.records] == ["busy_not_announced"] * 2
    storage.is_broken = False
    await pass_time(clock, LOOK)
    assert await storage.holders() == []


async def test_a_host_that_stops_in_the_middle_of_a_turn_withdraws(
    announcer: BusyAnnouncer, storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    async with gate.foreground():
        await until(lambda: clock.sleepers == 1)
        await announcer.stop()
        assert await storage.holders() == []


async def test_a_host_that_stops_while_it_announces_leaves_nothing_behind(
    announcer: BusyAnnouncer, storage: BusyStorage, gate: BusyGate
):
    async with gate.foreground():
        await until(lambda: storage.writes == 1)
        await announcer.stop()
        assert await storage.holders() == []


async def test_a_host_stops_without_error_though_the_database_fails(
    announcer: BusyAnnouncer, storage: BusyStorage, gate: BusyGate, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.WARNING)
    async with gate.foreground():
        await until(lambda: storage.writes == 1)
        storage.is_broken = True
        await announcer.stop()
    assert [getattr(record, "error", None) for record in caplog.records] == [StorageUnavailableError.__name__]


@pytest.mark.usefixtures("announcer")
async def test_a_clock_that_is_set_back_does_not_put_the_renewal_off(
    storage: BusyStorage, clock: ManualClock, gate: BusyGate
):
    async with gate.foreground():
        await until(lambda: clock.sleepers == 1)
        clock.set(NOON + LOOK)  # the announcer looks again,
        clock.set(NOON - timedelta(hours=1))  # and by then the clock was set back
        await until(lambda: storage.writes == 2)
        await until(lambda: clock.sleepers == 1)
        (found,) = await storage.holders()
        assert found.expires_at == NOON - timedelta(hours=1) + DURATION
