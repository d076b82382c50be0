"""A death at any instant of deduction and induction: the next run goes on, and pays for no answer twice."""

import pytest
from concluding import InferringChatClient
from dreaming import World
from interrupting import Killed, bury, count_writes, dying
from test_inference import ON, answer, deduction, pattern, said

from dream.domain import RunReport
from dream.options import DreamOptions

ANSWERS = (
    answer(conclusions=[deduction("Lea has a dentist and a bank.", "e1", "e2")]),
    answer(patterns=[pattern("Lea tends to postpone appointments.", "e1", "e2")]),
)


async def fill(world: World) -> World:
    world.options = DreamOptions(modes={"*": "off", **ON})
    await said(world, "Lea put off the bank.", "Lea moved the dentist.")
    world.chat = InferringChatClient(ANSWERS)
    return world


async def dream(world: World) -> RunReport:
    return await world.dreams.run()


def asked(world: World) -> int:
    return len(world.chat.requests) + len(world.chat.readings)


async def test_a_run_killed_between_the_two_specialists_goes_on_and_pays_once(world: World):
    whole = await fill(world.elsewhere())
    await dream(whole)
    calls = asked(whole)
    told = {entry.content for entry in await whole.active()}
    assert {"Lea has a dentist and a bank.", "Lea tends to postpone appointments."} <= told
    writes = await count_writes(await fill(world.elsewhere()), dream)
    for write in range(writes):
        one = await fill(world.elsewhere())
        with pytest.raises(Killed):
            await dream(dying(one, write, committed=True))
        await bury(one)
        await dream(one)
        assert {entry.content for entry in await one.active()} == told, write
        assert asked(one) == calls, write
