"""A run, and people served by other hosts on the same storage."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from dreaming import VerifyingChatClient, World
from interrupting import WatchedStorage
from wishing import Curious

from agentcore.hosting import ROWS_EVERY, SOURCES_EVERY
from dream.domain import Outcome

TEA = "Ana likes tea"


@pytest.fixture(autouse=True)
async def _nobody_served_afterwards(world: World) -> AsyncIterator[None]:
    """Rows of who serves people belong to no scope: other tests of the shared store would wait for them."""
    yield
    for holder in ("another-host", world.holder):
        await withdraw(world, holder)


async def announce(world: World, holder: str = "another-host") -> None:
    await world.write(lambda unit: unit.busy.announce(holder, duration=timedelta(minutes=1)))


async def withdraw(world: World, holder: str = "another-host") -> None:
    await world.write(lambda unit: unit.busy.withdraw(holder))


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0.005)


async def let_time_pass(world: World, task: "asyncio.Task[Any]", step: timedelta = ROWS_EVERY) -> Any:
    """Move the clock until the task is done."""
    for _ in range(200):
        if task.done():
            return task.result()
        world.clock.advance(step)
        await asyncio.sleep(0.005)
    raise AssertionError("it went on waiting")


async def test_a_run_changes_nothing_while_a_person_is_served_by_another_host(world: World):
    await world.add(TEA, TEA)
    await announce(world)
    dream = asyncio.create_task(world.dreams.run())
    await settle()
    world.clock.advance(ROWS_EVERY)
    await settle()
    assert not dream.done()
    assert len(await world.active()) == 2
    await withdraw(world)
    assert (await let_time_pass(world, dream)).outcome is Outcome.COMPLETED
    assert len(await world.active()) == 1
    assert not world.gate.is_busy


async def test_a_run_does_not_wait_for_the_turn_its_own_host_announced_and_ended(world: World):
    await world.add(TEA, TEA)
    await announce(world, world.holder)
    assert (await asyncio.wait_for(world.dreams.run(), 10)).outcome is Outcome.COMPLETED


async def test_a_turn_elsewhere_that_begins_between_two_steps_stops_the_next_one(world: World):
    world.options = world.options.replace(step_size=2)
    await world.add(*[TEA] * 9)
    announced = asyncio.Event()

    class Announcing(WatchedStorage):
        async def write(self, scope: Any, work: Any, **told: Any) -> Any:
            result = await super().write(scope, work, **told)
            if self.writes == 5:  # lease, look for an interrupted run, open the run, first step, this one
                await announce(world)
                announced.set()
            return result

    storage = Announcing(world.storage)
    dream = asyncio.create_task(replace(world, storage=storage).dreams.run())
    await asyncio.wait_for(announced.wait(), 10)
    await settle()
    assert storage.writes == 5
    await withdraw(world)
    assert (await let_time_pass(world, dream)).changes == 16


async def test_a_plan_waits_for_people_served_now_not_for_those_in_its_copy(world_on_disk: World):
    world = world_on_disk
    await world.add(TEA, TEA)
    await announce(world)
    plan = asyncio.create_task(world.dreams.plan())
    await asyncio.sleep(0.2)
    assert not plan.done()
    await withdraw(world)  # the copy says otherwise
    assert len((await let_time_pass(world, plan)).rows) == 2


@pytest.mark.parametrize("is_elsewhere", [True, False])
async def test_no_call_of_a_model_starts_while_a_host_source_is_busy(world: World, is_elsewhere: bool):
    chat = VerifyingChatClient(['{"text": "an answer"}'] * 3)
    busy = is_elsewhere
    one = replace(world, chat=chat, busy_sources=(lambda: busy,))
    run = asyncio.create_task(one.run_passes(Curious(("who is Ana", "who is Ben", "who is Cem"))))
    await settle()
    assert len(chat.requests) == (0 if is_elsewhere else 3)
    busy = False
    report = await let_time_pass(world, run, SOURCES_EVERY)
    assert report.outcome is not Outcome.FAILED
    assert len(chat.requests) == 3


async def test_a_run_that_is_cancelled_while_it_waits_lets_the_gate_go(world: World):
    await world.add(TEA, TEA)
    await announce(world)
    dream = asyncio.create_task(world.dreams.run())
    await settle()
    assert world.gate.is_busy
    dream.cancel()
    await asyncio.wait([dream])
    assert dream.cancelled()
    assert not world.gate.is_busy
    assert (await world.dreams.status()).lease is None
