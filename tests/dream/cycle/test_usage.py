"""What the model cost, by day, pass and model."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from dreaming import DAY, NOW, VerifyingChatClient, World
from hypothesis import given, strategies as st
from wishing import Curious

from agentcore.errors import InvalidContentError
from agentcore.llm import ChatServerError, Completion, FailedTry, FinishReason, TryFailure, Usage
from dream.cycle import Runner
from dream.domain import EVERYTHING, UsageKey, UsageRow, summed
from dream.passes import PassSlot

TODAY, TOMORROW = NOW.date(), NOW.date() + timedelta(days=1)


def said(model: str, given: int, got: int, *, failed: tuple[tuple[int, int], ...] = ()) -> Completion:
    tries = tuple(
        FailedTry(failure=TryFailure.TIMED_OUT, usage=Usage(input_tokens=into, output_tokens=out))
        for into, out in failed
    )
    return Completion(
        text='{"text": "a painter"}',
        finish_reason=FinishReason.STOP,
        usage=Usage(input_tokens=given, output_tokens=got),
        model=model,
        failed_tries=tries,
    )


async def asked(world: World, *replies: Any, name: str = "curious") -> None:
    """Run a pass of that name that asks one question for each reply."""
    named = type("Named", (Curious,), {"name": name})
    options = world.options.replace(model=world.options.model.replace(calls_in_flight=1))
    one = replace(world, chat=VerifyingChatClient(replies), options=options)
    questions = tuple(f"question {place}" for place in range(len(replies)))
    runner = Runner(one.parts, options, (PassSlot(named(questions), "a test asked for it"),))
    await runner.run(world.scope)


async def test_calls_are_told_apart_by_day_pass_and_model(world: World):
    await asked(world, said("large", 100, 10), said("small", 50, 5), said("large", 1, 1))
    world.clock.advance(DAY)
    await asked(world, said("large", 7, 3), name="other")
    assert await world.dreams.usage() == [
        UsageRow(day=TODAY, pass_name="curious", model="large", calls=2, input_tokens=101, output_tokens=11),
        UsageRow(day=TODAY, pass_name="curious", model="small", calls=1, input_tokens=50, output_tokens=5),
        UsageRow(day=TOMORROW, pass_name="other", model="large", calls=1, input_tokens=7, output_tokens=3),
    ]


async def test_failed_tries_count_and_cost(world: World):
    await asked(world, said("large", 100, 10, failed=((100, 4_000), (100, 0))))
    assert await world.dreams.usage() == [
        UsageRow(
            day=TODAY, pass_name="curious", model="large", calls=3, failed=2, input_tokens=300, output_tokens=4_010
        )
    ]


async def test_a_pass_that_failed_at_the_first_call_has_paid_for_it(world: World):
    tries = (FailedTry(failure=TryFailure.SERVER_ERROR, usage=Usage(input_tokens=9, output_tokens=0)),)
    error = ChatServerError(model="large", status=500, tries=1)
    error.failed_tries = tries
    await asked(world, error)
    (row,) = await world.dreams.usage(by=[UsageKey.PASS])
    assert (row.pass_name, row.calls, row.failed, row.input_tokens) == ("curious", 1, 1, 9)


async def test_what_is_not_told_apart_is_added_up(world: World):
    await asked(world, said("large", 100, 10), said("small", 50, 5))
    assert await world.dreams.usage(by=()) == [UsageRow(calls=2, input_tokens=150, output_tokens=15)]
    assert [row.model for row in await world.dreams.usage(by=[UsageKey.MODEL])] == ["large", "small"]
    assert [row.day for row in await world.dreams.usage(by=[UsageKey.DAY])] == [TODAY]


async def test_since_is_an_instant_and_not_a_day(world: World):
    await asked(world, said("large", 100, 10))
    world.clock.advance(timedelta(hours=1))
    await asked(world, said("large", 7, 3), name="other")
    assert [row.input_tokens for row in await world.dreams.usage(since=world.clock.now())] == [7]
    assert await world.dreams.usage(since=world.clock.now() + timedelta(seconds=1)) == []
    with pytest.raises(InvalidContentError, match="time zone"):
        await world.dreams.usage(since=NOW.replace(tzinfo=None))


async def test_scopes_pay_for_themselves(world: World):
    await asked(world, said("large", 100, 10))
    assert await world.elsewhere().dreams.usage() == []


async def test_what_is_left_for_today_grows_back_at_midnight(world: World):
    options = world.options.replace(model=world.options.model.replace(tokens_per_day=1_000))
    bounded = replace(world, options=options)
    await asked(world, said("large", 100, 10, failed=((90, 0),)))
    assert await bounded.dreams.tokens_left() == 800
    world.clock.set(NOW.replace(hour=23, minute=59))
    assert await bounded.dreams.tokens_left() == 800
    world.clock.set(NOW.replace(hour=0) + DAY)
    assert await bounded.dreams.tokens_left() == 1_000
    unbounded = replace(world, options=world.options.replace(model=options.model.replace(tokens_per_day=None)))
    assert await unbounded.dreams.tokens_left() is None


async def test_what_is_left_is_never_below_nothing(world: World):
    options = world.options.replace(model=world.options.model.replace(tokens_per_day=10))
    await asked(world, said("large", 100, 10))
    assert await replace(world, options=options).dreams.tokens_left() == 0


_ROWS = st.lists(
    st.builds(
        UsageRow,
        day=st.sampled_from([TODAY, TOMORROW]),
        pass_name=st.sampled_from(["a", "b"]),
        model=st.sampled_from(["m", "n"]),
        calls=st.integers(0, 9),
        failed=st.integers(0, 9),
        input_tokens=st.integers(0, 10**9),
        output_tokens=st.integers(0, 10**9),
    ),
    max_size=12,
)


@given(rows=_ROWS, by=st.frozensets(st.sampled_from(UsageKey)))
def test_adding_up_loses_and_doubles_nothing(rows: list[UsageRow], by: frozenset[UsageKey]):
    parts = summed(rows, by)
    assert sum(row.tokens for row in parts) == sum(row.tokens for row in rows)
    assert summed(parts) == summed(rows)
    assert summed(parts, by) == parts
    assert len({(row.day, row.pass_name, row.model) for row in parts}) == len(parts)
    assert len(summed(rows, EVERYTHING)) <= 8


def test_a_row_shows_only_what_it_is_told_apart_by():
    shown = UsageRow(day=date(2025, 6, 14), calls=1).to_json()
    counts = ("failed", "input_tokens", "output_tokens")
    assert shown == {"day": "2025-06-14", "calls": 1, **dict.fromkeys(counts, 0)}
