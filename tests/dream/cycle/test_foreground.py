import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace

from dreaming import World
from interrupting import WatchedStorage

from dream.domain import Outcome
from dream.options import DreamOptions

TEA = "Ana likes tea"


async def settle() -> None:
    """Let everything that can go on go on."""
    for _ in range(20):
        await asyncio.sleep(0.005)


async def test_a_dream_waits_while_a_person_is_served_and_goes_on_after(world: World):
    await world.add(TEA, TEA)
    async with world.gate.foreground():
        dream = asyncio.create_task(world.dreams.run())
        await settle()
        assert not dream.done()
        assert len(await world.active()) == 2
        assert (await world.memory.remember("Ben bakes rye")).is_active
    assert (await dream).outcome is Outcome.COMPLETED
    assert len(await world.active()) == 2


async def test_a_turn_that_begins_in_the_middle_of_a_run_stops_it_at_the_next_step(world: World):
    world.options = DreamOptions(step_size=2)
    await world.add(*[TEA] * 9)
    async with AsyncExitStack() as turn:

        def begin(write: int) -> None:
            if write == 4:  # lease, look for an interrupted run, open the run, first step, this one
                turn.enter_context(world.gate.pending())

        watched = WatchedStorage(world.storage, after=begin)
        dream = asyncio.create_task(replace(world, storage=watched).dreams.run())
        while watched.writes <= 4:
            await asyncio.sleep(0.005)
        held = len(await world.active())
        await settle()
        assert len(await world.active()) == held == 7
        assert not dream.done()
    assert (await dream).changes == 16
    assert len(await world.active()) == 1


async def test_what_a_person_says_while_a_dream_waits_is_neither_lost_nor_overwritten(world: World):
    (tea, copy) = await world.add(TEA, TEA)
    async with world.gate.foreground():
        dream = asyncio.create_task(world.dreams.run())
        await settle()
        await world.memory.remember(TEA)
        await world.change(copy, content="Ana likes mint tea")
    report = await dream
    assert report.changes == 0
    assert (await world.get(tea)).reinforcement_count == 2
    assert (await world.get(copy)).content == "Ana likes mint tea"


async def test_a_run_under_way_keeps_others_from_the_scope_and_not_from_another(world: World):
    await world.add(TEA, TEA)
    other = world.elsewhere()
    async with world.gate.foreground():
        dream = asyncio.create_task(world.dreams.run())
        await settle()
        assert (await world.dreams.run()).outcome is Outcome.DEFERRED
        assert (await world.dreams.undo((await world.dreams.runs())[0].run_id)).outcome is Outcome.DEFERRED
        second = asyncio.create_task(other.dreams.run())
        await settle()
        assert (await other.dreams.status()).lease is not None
    assert (await dream).outcome is Outcome.COMPLETED
    assert (await second).outcome is Outcome.UNCHANGED


async def test_a_run_that_is_cancelled_frees_the_scope_and_is_resumed(world: World):
    await world.add(TEA, TEA)
    async with world.gate.foreground():
        dream = asyncio.create_task(world.dreams.run())
        await settle()
        dream.cancel()
        await asyncio.wait([dream])
        assert dream.cancelled()
        assert (await world.dreams.status()).lease is None
    report = await world.dreams.run()
    assert (report.resumed, report.changes) == (True, 2)


async def test_the_lease_of_a_long_run_is_renewed(world: World):
    await world.add(TEA, TEA)
    async with world.gate.foreground():
        dream = asyncio.create_task(world.dreams.run())
        for _ in range(30):
            await settle_until(lambda: world.clock.sleepers > 0)
            world.clock.advance(world.options.lease / 5)
        await settle()
        assert (await world.dreams.run()).outcome is Outcome.DEFERRED
    assert (await dream).changes == 2


async def settle_until(reached: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if reached():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came to that")
