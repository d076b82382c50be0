import asyncio
import time
from contextlib import AbstractContextManager
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentcore.domain import BusyReach, Scope
from agentcore.llm import BusyGate

ANA, BEN, EVA = Scope("acme", "agent", "ana"), Scope("acme", "agent", "ben"), Scope("other", "agent", "eva")


async def settle() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_a_fresh_gate_is_idle():
    gate = BusyGate()
    assert not gate.is_busy
    await gate.wait_until_idle()


async def test_the_gate_is_busy_during_a_turn_and_idle_after_it():
    gate = BusyGate()
    async with gate.foreground():
        assert gate.is_busy
    assert not gate.is_busy


async def test_turns_may_nest_and_the_outermost_one_counts():
    gate = BusyGate()
    async with gate.foreground():
        async with gate.foreground():
            pass
        assert gate.is_busy
    assert not gate.is_busy


async def test_turns_may_overlap_without_nesting():
    gate = BusyGate()
    first, second = gate.foreground(), gate.foreground()
    await first.__aenter__()
    await second.__aenter__()
    await first.__aexit__(None, None, None)
    assert gate.is_busy
    await second.__aexit__(None, None, None)
    assert not gate.is_busy


def test_a_pending_message_keeps_the_gate_busy():
    gate = BusyGate()
    with gate.pending(), gate.pending():
        assert gate.is_busy
    assert not gate.is_busy


async def test_the_gate_stays_busy_from_a_message_into_its_turn():
    gate = BusyGate()
    dreamed: list[bool] = []

    async def dream() -> None:
        await gate.wait_until_idle()
        dreamed.append(True)

    with gate.pending():
        task = asyncio.create_task(dream())
        await settle()
        turn = gate.foreground()
        await turn.__aenter__()
    await settle()
    assert dreamed == []
    await turn.__aexit__(None, None, None)
    await task
    assert dreamed == [True]


async def test_a_turn_that_fails_leaves_the_gate_idle():
    gate = BusyGate()
    with pytest.raises(ValueError, match="turn"):
        async with gate.foreground():
            raise ValueError("turn")
    assert not gate.is_busy


async def test_a_turn_that_is_cancelled_leaves_the_gate_idle():
    gate = BusyGate()

    async def turn() -> None:
        async with gate.foreground():
            await asyncio.Event().wait()

    task = asyncio.create_task(turn())
    await settle()
    assert gate.is_busy
    task.cancel()
    await asyncio.wait({task})
    assert not gate.is_busy


async def test_a_turn_begins_without_giving_anyone_else_a_go():
    gate = BusyGate()
    others: list[str] = []
    asyncio.get_running_loop().call_soon(others.append, "ran")
    async with gate.foreground():
        assert others == []


async def test_all_who_wait_go_on_together_when_the_last_turn_ends():
    gate = BusyGate()
    waiting = []
    async with gate.foreground():
        waiting = [asyncio.create_task(gate.wait_until_idle()) for _ in range(3)]
        await settle()
        assert not any(task.done() for task in waiting)
    await asyncio.wait(waiting, timeout=1)
    assert all(task.done() for task in waiting)


async def test_a_turn_that_begins_as_the_last_one_ends_keeps_the_waiter_waiting():
    gate = BusyGate()
    async with gate.foreground():
        waiter = asyncio.create_task(gate.wait_until_idle())
        await settle()
    async with gate.foreground():
        await settle()
        assert not waiter.done()
    await waiter


@given(steps=st.lists(st.integers(0, 3), max_size=30))
def test_the_gate_is_busy_exactly_while_somebody_holds_it(steps: list[int]):
    gate = BusyGate()
    held: dict[int, AbstractContextManager[None]] = {}
    for slot in steps:
        if slot in held:
            held.pop(slot).__exit__(None, None, None)
        else:
            held[slot] = gate.pending()
            held[slot].__enter__()
        assert gate.is_busy == bool(held)
    for hold in held.values():
        hold.__exit__(None, None, None)
    assert not gate.is_busy


async def test_people_served_elsewhere_make_it_busy_and_are_not_its_own():
    gate = BusyGate()
    with gate.foreign():
        assert (gate.is_busy, gate.is_serving, gate.take_served()) == (True, False, set())
        async with gate.foreground():
            assert (gate.is_busy, gate.is_serving, gate.take_served()) == (True, True, {None})
        assert (gate.is_busy, gate.is_serving) == (True, False)
    assert (gate.is_busy, gate.is_serving) == (False, False)


async def test_a_turn_and_people_served_elsewhere_both_have_to_end():
    gate = BusyGate()
    with gate.foreign():
        async with gate.foreground():
            waiter = asyncio.create_task(gate.wait_until_idle())
            await settle()
        await settle()
        assert not waiter.done()
    await asyncio.wait_for(waiter, 1)


@pytest.mark.parametrize("hold", [BusyGate.pending, BusyGate.foreign])
async def test_what_is_under_way_learns_at_once_that_the_gate_is_busy(hold: Any):
    gate = BusyGate()
    noticed: list[float] = []

    async def call() -> None:
        await gate.wait_until_busy()
        noticed.append(time.perf_counter())

    calls = [asyncio.create_task(call()) for _ in range(8)]
    await settle()
    assert noticed == []
    began = time.perf_counter()
    with hold(gate):
        await asyncio.wait(calls, timeout=1)
        await gate.wait_until_busy()
    assert len(noticed) == 8
    assert max(noticed) - began < 0.05


async def test_only_the_hosts_own_turns_are_waited_for_by_who_announces_them():
    gate = BusyGate()
    waiter = asyncio.create_task(gate.wait_until_serving())
    with gate.foreign():
        await settle()
        assert not waiter.done()
        with gate.pending():
            await asyncio.wait_for(waiter, 1)


async def test_who_asks_whom_the_host_served_is_told_of_turns_that_came_and_went():
    gate = BusyGate()
    async with gate.foreground(ANA), gate.foreground():
        pass
    assert gate.take_served() == {ANA, None}
    with gate.pending(ANA):
        assert gate.take_served() == {ANA}
        assert gate.take_served() == {ANA}
    assert (gate.take_served(), gate.take_served()) == ({ANA}, set())


async def test_a_turn_holds_back_its_own_scope_alone_and_one_that_names_none_holds_back_all():
    gate = BusyGate()
    async with gate.foreground(ANA):
        assert (gate.is_busy, gate.is_busy_for(ANA), gate.is_busy_for(BEN)) == (True, True, False)
        await asyncio.wait_for(gate.wait_until_idle(BEN), 1)
        assert gate.is_busy_for(BEN, BusyReach.WORKSPACE)
        assert not gate.is_busy_for(EVA, BusyReach.WORKSPACE)
        assert gate.is_busy_for(EVA, BusyReach.ALL)
        assert (gate.serving(ANA), gate.serving(BEN)) == (1, 0)
    with gate.pending():
        assert all(gate.is_busy_for(scope) for scope in (ANA, BEN, EVA))
    assert not gate.is_busy_for(ANA)


async def test_who_waits_for_one_scope_is_not_woken_for_good_by_the_end_of_anothers_turn():
    gate = BusyGate()
    with gate.pending(ANA):
        waiter = asyncio.create_task(gate.wait_until_idle(ANA))
        with gate.pending(BEN):
            await settle()
        await settle()
        assert not waiter.done()
    await asyncio.wait_for(waiter, 1)
