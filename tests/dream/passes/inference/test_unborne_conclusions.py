"""Conclusions whose premises do not bear them are refused alone, and searches stay within their scope."""

import re
from datetime import timedelta

import pytest
from concluding import InferringChatClient, concluded as resting_on, premise_of
from dreaming import NOW, World, codes, of_pass
from test_inference import DAY, ON, answer, concluded, deduce, deduction, question_of, said

from agentcore.domain.validity import superseded
from dream.options import DreamOptions
from dream.passes.inference.deduction import Deduction

WALK = deduction("Lea lives within walking distance of the harbour office.", "e1", "e2")


@pytest.fixture
def world(world: World) -> World:
    world.options = DreamOptions(modes=ON)
    return world


async def test_what_holds_no_longer_bears_nothing_but_a_change(world: World):
    old, new = await said(world, "Lea works at a bakery in Sopot.", "Lea works at the harbour office in Gdynia.")
    gone = superseded(old, by=new, reason="moved", at=NOW)
    names = ("status", "status_reason", "successor", "status_at", "valid_until")
    await world.change(old, **{name: getattr(gone, name) for name in names})
    await said(world, "Lea walks to work at the harbour office every day.", apart=timedelta(hours=1))
    report = await deduce(world, deduction("Lea eats fresh bread for nothing.", "e3", "e2"), WALK)
    assert re.search(r'\[e3\] \S+ #\d former .*"Lea works at a bakery in Sopot."', question_of(world))
    assert codes(report) == ["no_premise"]
    assert [one.content for one in await concluded(world)] == [WALK["content"]]


async def test_a_conclusion_stands_on_two_others_at_most(world: World):
    (works,) = await said(world, "Lea works at the harbour office in Gdynia.")
    below = premise_of(works)
    for number in range(3):
        (one,) = await world.add(resting_on(world, f"Lea knows pier number {number}.", [premise_of(works), below]))
        below = premise_of(one)
    await said(world, "Lea walks to work every day.", apart=DAY)
    every = [f"e{place}" for place in range(1, 6)]
    report = await deduce(world, deduction("Lea passes every pier on foot.", *every), WALK)
    assert codes(report) == ["too_deep"]


async def test_a_search_sees_nothing_of_another_scope(world: World):
    other = world.elsewhere()
    await said(other, "Bo keeps bees behind the lighthouse.")
    await said(world, "Lea works at the harbour office in Gdynia.")
    looks = [answer(search=[{"words": "bees lighthouse", "in": kind}], conclusions=[]) for kind in ("entries", "turns")]
    world.chat = InferringChatClient([*looks, answer(conclusions=[])])
    report = of_pass(await world.run_passes(Deduction()), "deduction")
    assert report.notes["searches"] > 0
    assert all("lighthouse" not in request.messages[-1].content for request in world.chat.requests)
