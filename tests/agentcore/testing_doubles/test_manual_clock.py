import asyncio
import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from agentcore.clock import Clock
from agentcore.errors import InvalidOptionsError
from agentcore.ids import IdFactory
from agentcore.testing import ManualClock, SequentialIds

START = datetime(2025, 6, 14, 9, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


async def nap(clock: ManualClock, seconds: int, woken: list[int]) -> None:
    await clock.sleep(seconds * SECOND)
    woken.append(seconds)


async def test_time_stands_still_until_it_is_moved(clock: ManualClock):
    subject: Clock = clock
    assert subject.now() == subject.now() == START
    clock.advance(90 * SECOND)
    assert subject.now() == START + timedelta(seconds=90)


def test_an_instant_of_another_zone_is_given_in_utc():
    berlin = timezone(timedelta(hours=2))
    clock = ManualClock(datetime(2025, 6, 14, 11, 0, tzinfo=berlin))
    assert clock.now() == START
    assert clock.now().tzinfo is UTC
    clock.set(datetime(2025, 6, 14, 13, 0, tzinfo=berlin))
    assert clock.now() == START + timedelta(hours=2)
    assert clock.now().tzinfo is UTC


def test_an_instant_without_a_zone_is_refused(clock: ManualClock):
    naive = datetime(2025, 6, 14)  # noqa: DTZ001 - the naive instant is the case under test
    with pytest.raises(InvalidOptionsError, match=r"start.*time zone"):
        ManualClock(naive)
    with pytest.raises(InvalidOptionsError, match=r"instant.*time zone"):
        clock.set(naive)
    assert clock.now() == START


def test_a_negative_advance_is_refused_and_names_the_way_back(clock: ManualClock):
    with pytest.raises(InvalidOptionsError, match=r"use set\(\)"):
        clock.advance(-SECOND)
    assert clock.now() == START


async def test_a_sleeper_wakes_at_its_instant_and_not_before(clock: ManualClock):
    woken: list[int] = []
    async with asyncio.TaskGroup() as group:
        group.create_task(nap(clock, 10, woken))
        await clock.sleep(timedelta())
        assert clock.sleepers == 1
        clock.advance(10 * SECOND - timedelta(microseconds=1))
        await clock.sleep(timedelta())
        assert woken == []
        clock.advance(timedelta(microseconds=1))
        await clock.sleep(timedelta())
        assert woken == [10]
        assert clock.sleepers == 0


@given(naps=st.lists(st.integers(1, 5), max_size=8))
def test_sleepers_wake_in_the_order_of_their_instants_and_then_of_their_calls(naps: list[int]):
    async def scenario() -> list[tuple[int, int]]:
        clock = ManualClock(START)
        woken: list[tuple[int, int]] = []

        async def sleeper(number: int, seconds: int) -> None:
            await clock.sleep(seconds * SECOND)
            woken.append((seconds, number))

        async with asyncio.TaskGroup() as group:
            for number, seconds in enumerate(naps):
                group.create_task(sleeper(number, seconds))
            await clock.sleep(timedelta())
            clock.advance(timedelta(hours=1))
        return woken

    expected = sorted((seconds, number) for number, seconds in enumerate(naps))
    assert asyncio.run(scenario()) == expected


async def test_a_clock_set_back_leaves_sleepers_due_at_their_instant(clock: ManualClock):
    woken: list[int] = []
    async with asyncio.TaskGroup() as group:
        group.create_task(nap(clock, 10, woken))
        await clock.sleep(timedelta())
        clock.set(START - timedelta(hours=1))
        assert clock.now() == START - timedelta(hours=1)
        clock.advance(10 * SECOND)
        await clock.sleep(timedelta())
        assert woken == []
        clock.set(START + 10 * SECOND)
    assert woken == [10]


async def test_a_ticker_that_sleeps_again_counts_from_the_instant_the_clock_leapt_to(clock: ManualClock):
    ticks: list[datetime] = []

    async def ticker() -> None:
        while len(ticks) < 2:
            await clock.sleep(SECOND)
            ticks.append(clock.now())

    async with asyncio.TaskGroup() as group:
        group.create_task(ticker())
        await clock.sleep(timedelta())
        clock.advance(10 * SECOND)
        await clock.sleep(timedelta())
        clock.advance(SECOND)
    assert ticks == [START + 10 * SECOND, START + 11 * SECOND]


async def test_a_cancelled_sleeper_is_forgotten(clock: ManualClock):
    woken: list[int] = []
    task = asyncio.create_task(nap(clock, 10, woken))
    await clock.sleep(timedelta())
    task.cancel()
    await asyncio.wait({task})
    assert clock.sleepers == 0
    clock.advance(timedelta(days=1))
    assert woken == []


@pytest.mark.parametrize("duration", [timedelta(), -SECOND])
async def test_a_sleep_of_nothing_lets_others_run_once(clock: ManualClock, duration: timedelta):
    ran: list[str] = []
    asyncio.get_running_loop().call_soon(ran.append, "other")
    await clock.sleep(duration)
    assert ran == ["other"]
    assert clock.now() == START


def test_the_clock_can_be_read_from_other_threads(clock: ManualClock):
    seen: list[datetime] = []
    enough = threading.Event()

    def read() -> None:
        while not enough.is_set():
            seen.append(clock.now())

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(200):
        clock.advance(SECOND)
    enough.set()
    reader.join()
    assert seen == sorted(seen)


def test_ids_count_up_behind_their_prefix():
    ids: IdFactory = SequentialIds()
    assert [ids.new(), ids.new()] == ["id-000001", "id-000002"]
    assert SequentialIds("run-2").new() == "run-2-000001"


@pytest.mark.parametrize("prefix", ["", "Run", "a_b", "a b", "ä", "x" * 49, "a\n"])
def test_a_prefix_that_cannot_stand_in_an_id_is_refused(prefix: str):
    with pytest.raises(InvalidOptionsError, match="prefix"):
        SequentialIds(prefix)


def test_no_id_is_given_twice_to_several_threads():
    ids = SequentialIds()
    given: list[str] = []

    def take() -> None:
        given.extend([ids.new() for _ in range(500)])

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(given)) == len(given) == 2000
    assert max(given) == "id-002000"
