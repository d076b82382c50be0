"""Under a budget, each pass that has something to ask gets to ask it: none is left out for more than two runs."""

from dataclasses import replace
from itertools import pairwise, repeat
from typing import Any

import pytest
from dreaming import DAY, VerifyingChatClient, World
from hypothesis import HealthCheck, given, settings, strategies as st
from wishing import Curious

from dream.cycle import Runner
from dream.domain import RunReport
from dream.options import ModelOptions
from dream.passes import PassSlot

pytestmark = pytest.mark.slow
RUNS = 8
LENGTHS = st.lists(st.integers(100, 350), min_size=1, max_size=5)
CALL = 2 * 500 + 100
"""What is reckoned for a call of these options."""


def asking(count: int, lengths: list[int]) -> list[Curious]:
    """Passes that always have more questions than a run can pay for."""
    kinds = [type(f"Asks{place}", (Curious,), {"name": f"asks-{place}"}) for place in range(count)]
    return [kind(["why? " * lengths[place % len(lengths)]] * 60) for place, kind in enumerate(kinds)]


async def runs_of(world: World, passes: list[Curious], **bounds: Any) -> list[RunReport]:
    model = ModelOptions(prompt_tokens=500, answer_tokens=100, **bounds)
    chat = VerifyingChatClient(repeat('{"text": "because"}'))
    world = replace(world.elsewhere(), chat=chat, options=world.options.replace(model=model))
    dreams = world.dreams
    dreams._runner = Runner(world.parts, world.options, tuple(PassSlot(one, "a test asked for it") for one in passes))
    reports: list[RunReport] = []
    for _ in range(RUNS):
        reports.append(await dreams.run())
        world.clock.advance(DAY)
    return reports


def longest_left_out(reports: list[RunReport], name: str) -> int:
    """For how many runs on end a pass asked nothing, though it had something to ask."""
    of_pass = [one for run in reports for one in run.passes if one.name == name]
    asked = [place for place, one in enumerate(of_pass) if one.calls or one.reason == "no_work"]
    return max(second - first - 1 for first, second in pairwise([-1, *asked, len(reports)]))


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    count=st.integers(2, 5),
    calls=st.floats(1.0, 2.0),
    lengths=LENGTHS,
    bound=st.sampled_from(["tokens_per_run", "tokens_per_day"]),
)
async def test_no_pass_is_left_out_for_more_than_two_runs(
    world: World, count: int, calls: float, lengths: list[int], bound: str
):
    passes = asking(count, lengths)
    reports = await runs_of(world, passes, **{bound: int(calls * count * CALL)})
    assert {
        one.name: longest_left_out(reports, one.name) for one in passes if longest_left_out(reports, one.name) > 2
    } == {}


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    count=st.integers(2, 5), calls=st.integers(1, 4), lengths=st.lists(st.integers(100, 350), min_size=1, max_size=5)
)
async def test_where_a_budget_has_no_room_for_a_call_of_each_they_take_turns(
    world: World, count: int, calls: int, lengths: list[int]
):
    """None is left out for longer than it takes to let the others ask once, and two runs more."""
    passes = asking(count, lengths)
    reports = await runs_of(world, passes, tokens_per_run=calls * CALL)
    most = -(-count // calls) + 2
    assert {
        one.name: longest_left_out(reports, one.name) for one in passes if longest_left_out(reports, one.name) > most
    } == {}
