"""Readers wait for more turns where the options say so: never in a dream that a person asks for, and never for ever."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import repeat
from typing import Any

import pytest
from dreaming import VerifyingChatClient, of_pass
from hypothesis import given, strategies as st
from together import answer
from watching_over import HOUR, MINUTE, Stage, a_stage

from agentcore.domain import Turn
from dream.cycle.running.turn_wait import turn_wait
from dream.domain.declaration import Reads
from dream.options import DreamOptions, Idle, ReadingOptions

READER = "fact-mining"
ENOUGH = 4


@asynccontextmanager
async def stage_of(**reading: Any) -> AsyncIterator[Stage]:
    """A host that dreams five minutes after each turn, whose readers wait for four of them."""
    terms = ReadingOptions(**({"wait_turns": ENOUGH} | reading))
    async with a_stage(reading=terms) as stage:
        stage.world = replace(stage.world, chat=VerifyingChatClient(repeat(answer)))
        async with stage.watched(trigger=Idle(after=5 * MINUTE, max_per_day=100)) as watched:
            yield watched


def read(stage: Stage) -> list[int]:
    """How many turns a reader looked at in each run."""
    return [of_pass(report, READER).looked_at for report in stage.reports]


async def said(stage: Stage, count: int) -> None:
    for _ in range(count):
        await stage.say()
    await stage.woken()


async def test_few_turns_are_left_for_later_and_enough_are_read_at_once():
    async with stage_of() as stage:
        await said(stage, ENOUGH - 1)
        await stage.go_on(HOUR)
        assert sum(read(stage)) == 0
        assert stage.world.chat.requests == []
        await said(stage, 1)
        await stage.go_on(10 * MINUTE)
        assert sum(read(stage)) == ENOUGH


async def test_few_turns_are_read_once_the_oldest_is_a_day_old():
    async with stage_of() as stage:
        await said(stage, 1)
        await stage.go_on(23 * HOUR + 50 * MINUTE, by=HOUR)
        assert sum(read(stage)) == 0
        await said(stage, 1)
        await stage.go_on(20 * MINUTE)
        assert sum(read(stage)) == 2


async def test_another_pass_works_meanwhile_and_the_report_says_what_the_reader_waits_for():
    async with stage_of() as stage:
        await said(stage, 2)
        await stage.learn("Rui has hay fever.", "Rui has hay fever!")
        await stage.go_on(HOUR)
        report = stage.reports[-1]
        assert of_pass(report, "exact-fold").outcome != "skipped"
        reason = str(of_pass(report, READER).reason)
        assert reason.startswith("too_few_turns: 2 of 4 turns, read from 2025-06-15")


async def test_the_schedule_says_what_it_waits_for():
    async with stage_of() as stage:
        await said(stage, 2)
        standing = await stage.dreams.explain()
        (waits,) = [one for one in standing.work if one.name == READER]
        assert (waits.is_waiting, waits.at) == (False, stage.clock.now() + timedelta(hours=24))
        assert waits.awaits.startswith("(2 of 4 turns")


async def test_a_person_need_not_wait():
    async with stage_of() as stage:
        await said(stage, 1)
        report = await stage.dreams.run()
        assert of_pass(report, READER).looked_at == 1


async def test_it_is_off_by_default():
    async with stage_of(wait_turns=0) as stage:
        await said(stage, 1)
        await stage.go_on(10 * MINUTE)
        assert sum(read(stage)) == 1


@pytest.mark.slow
@given(gaps=st.lists(st.integers(0, 30), min_size=1, max_size=8), enough=st.integers(1, 6), hours=st.integers(1, 48))
async def test_no_turn_waits_longer_than_it_may(gaps: list[int], enough: int, hours: int):
    """Whenever turns come, none is left that is as old as the bound, nor as many as are enough."""
    async with a_stage() as stage:
        options = DreamOptions(reading=ReadingOptions(wait_turns=enough, wait_within=timedelta(hours=hours)))
        world, oldest = stage.world, stage.clock.now() + timedelta(hours=gaps[0])
        for place, gap in enumerate(gaps):
            stage.clock.advance(timedelta(hours=gap))
            now = stage.clock.now()
            turn = Turn(
                id=f"t{place}", scope=world.scope, session_id="s", role="user", content="Hi.",
                occurred_at=now, recorded_at=now,
            )  # fmt: skip
            await world.storage.write(world.scope, lambda unit, turn=turn: unit.turns.add([turn]))
            wait = await world.storage.read(
                world.scope, lambda view, now=now: turn_wait(view, options, READER, reads=Reads.TURNS, now=now)
            )
            is_due = place + 1 >= enough or now - oldest >= timedelta(hours=hours)
            assert (wait is None) == is_due
            assert wait is None or (wait.turns, wait.until) == (place + 1, oldest + timedelta(hours=hours))
