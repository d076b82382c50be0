"""Slots of calls: never more than the bound, and none of them for a scope that hangs while another has none."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from agentcore import Scope
from agentcore.llm import CallSlots

ANA, BEN = Scope("acme", "agent", "ana"), Scope("acme", "agent", "ben")


@pytest.mark.parametrize(
    ("bound", "scopes", "alone"), [(8, 1, 8), (8, 2, 7), (8, 4, 5), (8, 64, 4), (2, 4, 1), (1, 4, 1), (64, 4, 61)]
)
async def test_a_scope_leaves_a_slot_to_each_of_the_others_up_to_half(bound: int, scopes: int, alone: int):
    slots = CallSlots(bound)
    slots.share_among(scopes)
    hanging = [asyncio.create_task(hold(slots, ANA)) for _ in range(2 * bound)]
    await asyncio.sleep(0.01)
    assert slots.in_flight == alone
    if alone < bound:
        async with asyncio.timeout(1), slots.one(BEN):
            assert slots.in_flight == alone + 1
    for task in hanging:
        task.cancel()
    await asyncio.wait(hanging)
    assert slots.in_flight == 0


async def test_without_a_bound_nobody_waits():
    slots = CallSlots()
    calls = [asyncio.create_task(hold(slots, ANA)) for _ in range(1_000)]
    await asyncio.sleep(0.01)
    assert slots.in_flight == 1_000
    for task in calls:
        task.cancel()
    await asyncio.wait(calls)


@given(
    bound=st.integers(1, 6),
    scopes=st.integers(1, 5),
    calls=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.booleans()), min_size=1, max_size=40),
)
def test_whatever_is_asked_for_or_cancelled_the_bound_holds_and_all_others_come_to_their_turn(
    bound: int, scopes: int, calls: list[tuple[int, int, bool]]
):
    most, done = 0, Counter[bool]()

    async def call(slots: CallSlots, scope: Scope, steps: int) -> None:
        nonlocal most
        async with slots.one(scope):
            most = max(most, slots.in_flight)
            for _ in range(steps):
                await asyncio.sleep(0)
        done[True] += 1

    async def play() -> None:
        slots = CallSlots(bound)
        slots.share_among(scopes)
        tasks: list[asyncio.Task[None]] = []
        for number, steps, is_cancelled in calls:
            task = asyncio.create_task(call(slots, Scope("acme", "agent", f"p{number}"), steps))
            await asyncio.sleep(0)
            if is_cancelled:
                task.cancel()
            tasks.append(task)
        async with asyncio.timeout(5):
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(one is None for one in ended) == done[True] >= sum(not is_cancelled for *_, is_cancelled in calls)
        assert slots.in_flight == 0

    asyncio.run(play())
    assert most <= bound


async def hold(slots: CallSlots, scope: Scope) -> None:
    async with slots.one(scope):
        await asyncio.sleep(3600)
