"""Who wants to know is told of each run, and of runs that come to nothing."""

import logging
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from dreaming import NOW, VerifyingChatClient, World, fresh_scope
from interrupting import Killed, bury, dying
from wishing import Curious, Wishful, nothing

from agentcore import AgentHostBuilder
from agentcore.stores.sql import FILE_NAME
from agentcore.testing import ManualClock
from dream.cycle import Dreams, Runner
from dream.domain import Alarm, AlarmKind, Outcome, RunKind, RunReport
from dream.passes import PassSlot

HOUR = timedelta(hours=1)
TEA = "Ana likes tea"


def broken(_: Any) -> Any:
    raise ValueError("the code of the door is 4711")


def dreams_of(world: World, *passes: Any) -> Dreams:
    """The world's dreams, of these passes alone."""
    dreams = world.dreams
    dreams._runner = Runner(world.parts, world.options, tuple(PassSlot(one, "a test asked for it") for one in passes))
    return dreams


# Reports


async def test_a_listener_gets_each_report_that_its_caller_gets(world: World):
    dreams, told = world.dreams, list[RunReport]()
    dreams.on_report(told.append)
    await world.add(TEA, TEA)
    run = await dreams.run()
    undo = await dreams.undo(run.run_id)
    plan = await dreams.plan()
    applied = await dreams.run(plan=plan.plan_id)
    assert told == [run, undo, applied]
    assert [one.kind for one in told] == [RunKind.DREAM, RunKind.UNDO, RunKind.PLAN]


async def test_a_listener_may_be_a_coroutine_function_and_is_waited_for(world: World):
    dreams, told = world.dreams, list[tuple[str, Outcome]]()

    async def listen(report: RunReport) -> None:
        stored = await dreams.report(report.run_id)
        told.append((stored.run_id, stored.outcome))

    dreams.on_report(listen)
    report = await dreams.run()
    assert told == [(report.run_id, Outcome.UNCHANGED)]


async def test_an_error_of_a_listener_is_logged_and_harms_neither_run_nor_others(
    world: World, caplog: pytest.LogCaptureFixture
):
    dreams, told = world.dreams, list[str]()

    async def late(_: RunReport) -> None:
        raise RuntimeError("no network")

    dreams.on_report(broken)
    dreams.on_report(late)
    dreams.on_report(lambda report: told.append(report.run_id))
    report = await dreams.run()
    assert told == [report.run_id]
    events = [(one.getMessage(), one.__dict__["event"], one.__dict__["error"]) for one in caplog.records]
    assert events == [("listener_failed", "report", "ValueError"), ("listener_failed", "report", "RuntimeError")]
    assert (await dreams.report(report.run_id)).finished_at is not None


async def test_who_unsubscribed_is_told_no_more(world: World):
    dreams, told = world.dreams, list[RunReport]()
    first, second = dreams.on_report(told.append), dreams.on_report(told.append)
    await dreams.run()
    first()
    first()
    await dreams.run()
    second()
    await dreams.run()
    assert len(told) == 3


async def test_a_listener_may_unsubscribe_while_it_is_told(world: World):
    dreams, told = world.dreams, list[str]()

    def once(report: RunReport) -> None:
        told.append(report.run_id)
        stop()

    stop = dreams.on_report(once)
    dreams.on_report(lambda report: told.append(report.run_id))
    report = await dreams.run()
    assert told == [report.run_id] * 2


async def test_listeners_hear_of_every_scope_of_their_host_and_of_no_other_host():
    scope, told = fresh_scope(), list[RunReport]()
    async with (
        AgentHostBuilder(None).with_memory().with_dreaming().build() as host,
        AgentHostBuilder(None).with_memory().with_dreaming().build() as other,
    ):
        host.for_scope(scope).dreams.on_report(told.append)
        await host.dreams.run()
        await host.for_scope(scope).dreams.run()
        await other.dreams.run()
        assert [report.scope for report in told] == [host.dreams.scope, scope]


async def test_a_run_that_did_not_start_is_no_news(world: World):
    dreams, told = world.dreams, list[RunReport]()
    dreams.on_report(told.append)
    await dreams.pause()
    assert (await dreams.run()).outcome is Outcome.DEFERRED
    assert told == []


async def test_an_interrupted_run_that_is_finished_first_is_told_first(world: World):
    await world.add(TEA, TEA)
    with pytest.raises(Killed):
        await dying(world, 4, committed=True).dreams.run()
    await bury(world)
    dreams, told = world.dreams, list[RunReport]()
    dreams.on_report(told.append)
    asked = await dreams.run(passes=["retention"])
    assert [one.run_id for one in told][-1] == asked.run_id
    assert [one.resumed for one in told] == [True, False]


# Alarms


async def test_runs_that_fail_in_a_row_raise_an_alarm_every_so_many(world: World, caplog: pytest.LogCaptureFixture):
    dreams, told = dreams_of(world, Wishful(broken), Wishful(nothing)), list[Alarm]()
    dreams.on_alarm(told.append)
    for _ in range(7):
        await dreams.run()
        world.clock.advance(HOUR)
    assert [(alarm.kind, alarm.runs, alarm.since, alarm.scope) for alarm in told] == [
        (AlarmKind.FAILED, 3, NOW, world.scope),
        (AlarmKind.FAILED, 6, NOW, world.scope),
    ]
    logged = [one for one in caplog.records if one.getMessage().startswith("dream_alarm ")]
    assert [(one.levelno, one.__dict__["kind"], one.__dict__["runs"]) for one in logged] == [
        (logging.WARNING, "failed", 3),
        (logging.WARNING, "failed", 6),
    ]
    assert not any("4711" in str(one.__dict__) for one in logged)


async def test_a_run_that_gets_on_ends_the_alarm(world: World):
    failing, told = dreams_of(world, Wishful(broken)), list[Alarm]()
    failing.on_alarm(told.append)
    for _ in range(3):
        await failing.run()
    assert (await world.dreams.status()).alarm == told[0]
    await world.dreams.run()
    assert (await world.dreams.status()).alarm is None
    await failing.run()
    assert len(told) == 1


async def test_undos_and_plans_neither_end_a_row_nor_belong_to_it(world: World):
    failing, told = dreams_of(world, Wishful(broken)), list[Alarm]()
    failing.on_alarm(told.append)
    _, copy = await world.add(TEA, TEA)
    await world.dreams.run()
    for _ in range(2):
        await failing.run()
    await failing.restore(copy.id)
    await failing.plan()
    assert told == []
    await failing.run()
    assert [alarm.runs for alarm in told] == [3]


async def test_no_budget_with_work_waiting_is_an_alarm(world: World):
    options = world.options.replace(alarm_after=2, model=world.options.model.replace(tokens_per_run=0))
    poor = replace(world, options=options, chat=VerifyingChatClient([]))
    dreams, told = dreams_of(poor, Curious(("who is Ana",))), list[Alarm]()
    dreams.on_alarm(told.append)
    for _ in range(2):
        report = await dreams.run()
        assert report.outcome is Outcome.PARTIAL
    assert [(alarm.kind, alarm.runs, alarm.passes) for alarm in told] == [(AlarmKind.NO_OP, 2, ("curious",))]


async def test_answers_that_are_all_refused_are_an_alarm(world: World):
    options = world.options.replace(alarm_after=2)
    vain = replace(world, options=options, chat=VerifyingChatClient(["no JSON at all"] * 2))
    dreams, told = dreams_of(vain, Curious(("who is Ana",))), list[Alarm]()
    dreams.on_alarm(told.append)
    for _ in range(2):
        report = await dreams.run()
        assert report.passes[0].refused
    assert [(alarm.kind, alarm.passes) for alarm in told] == [(AlarmKind.NO_OP, ("curious",))]


async def test_idle_runs_are_no_alarm(world: World):
    dreams, told = world.dreams, list[Alarm]()
    dreams.on_alarm(told.append)
    await world.add("Ana likes tea", "Ben bakes rye")
    for _ in range(6):
        await dreams.run()
    assert told == []


async def test_a_restart_goes_on_counting(tmp_path: Path):
    told = list[Alarm]()
    for day in range(3):
        clock = ManualClock(NOW + timedelta(days=day))
        async with AgentHostBuilder(tmp_path, clock=clock).with_memory().with_dreaming().build() as host:
            dreams = host.dreams
            dreams._runner = Runner(dreams._parts, dreams._options, (PassSlot(Wishful(broken), "a test asked for it"),))
            dreams.on_alarm(told.append)
            await dreams.run()
    assert [(alarm.runs, alarm.since) for alarm in told] == [(3, NOW)]
    assert (tmp_path / FILE_NAME).exists()


async def test_scopes_have_alarms_of_their_own(world: World):
    other, told = world.elsewhere(), list[Alarm]()
    dreams = dreams_of(world, Wishful(broken))
    dreams.on_alarm(told.append)
    elsewhere = dreams_of(other, Wishful(broken))
    elsewhere._watch = dreams._watch
    for _ in range(2):
        await dreams.run()
        await elsewhere.run()
    assert told == []
    await elsewhere.run()
    assert [alarm.scope for alarm in told] == [other.scope]


async def test_each_run_leaves_one_line_with_its_figures_and_nothing_that_is_remembered(
    world: World, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO", logger="dream")
    await world.memory.remember("The code of the door is 4711.")
    report = await world.dreams.run()
    (line,) = [one for one in caplog.records if one.getMessage().startswith("dream_ended ")]
    assert f"scope={world.scope} run_id={report.run_id} kind=dream outcome={report.outcome}" in line.getMessage()
    assert "4711" not in line.getMessage()
