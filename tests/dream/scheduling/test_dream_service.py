"""The service: dreams start when they are due, once, and for a reason."""

import asyncio
import dataclasses
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
from dreaming import NOW, VerifyingChatClient, of_pass
from watching_over import ANA, HOUR, MINUTE, Stage, a_stage

from agentcore import AgentHostBuilder, Scope
from agentcore.domain import Capability
from agentcore.hosting import Memory, RecallNotes, ServiceFailedError
from agentcore.testing import ManualClock
from agentcore.workspace import Workspaces
from dream.cycle import LONGEST_WAIT, Planner, Runner
from dream.domain import Outcome, Proposal, RunKind, Work
from dream.options import CatchUp, DailyAt, Heartbeat, Interval, Threshold
from dream.options.levels import OptionLevels
from dream.passes import PassSlot
from dream.passes.memory_consolidation import MemoryConsolidation
from dream.stores import dream_stores
from dream.stores.schedules import ANYTHING_NEW
from dream.triggers import GateName, Reason

SOON = Threshold(min_new=2, cooldown=timedelta(0), idle=timedelta(minutes=10))


class Broken:
    """A pass that has work and fails, so often as it is told."""

    name: ClassVar[str] = "broken"
    requires: ClassVar[frozenset[Any]] = frozenset()

    def __init__(self, times: int) -> None:
        self.times = times

    async def has_work(self, _context: Any) -> Work:
        return Work(1)

    async def propose(self, _context: Any) -> Proposal:
        if self.times:
            self.times -= 1
            raise RuntimeError("no")
        return Proposal(looked_at=("x",))

    def conclude(self, _notes: Any) -> dict[str, Any]:
        return {}


class Held(Broken):
    """A pass that takes as long as a test likes."""

    name: ClassVar[str] = "held"

    def __init__(self) -> None:
        super().__init__(0)
        self.entered, self.let = asyncio.Event(), asyncio.Event()

    async def propose(self, context: Any) -> Proposal:
        self.entered.set()
        await self.let.wait()
        return await super().propose(context)


async def test_a_dream_comes_with_its_window_and_only_if_something_is_new(stage: Stage):
    async with stage.watched() as watched:  # every four hours, five minutes after the scope was first seen
        await watched.go_on(2 * HOUR, by=HOUR)
        await stage.learn("Ana likes tea.", "Ana likes  tea.")
        await watched.go_on(5 * MINUTE)
        await watched.go_on(10 * HOUR, by=10 * MINUTE)
        assert stage.ran() == ["interval 125"]
        await stage.learn("Ana moved to Lisbon.")
        await watched.go_on(4 * HOUR, by=10 * MINUTE)
        assert stage.ran() == ["interval 125", "interval 845"]
        assert [run.outcome for run in stage.reports] == [Outcome.COMPLETED] * 2
        assert (await the_state(stage)).work  # nobody has asked the passes since
        await watched.go_on(5 * HOUR, by=10 * MINUTE)
        assert (await stage.dreams.explain()).due_at is None
        assert len(stage.reports) == 2


async def test_a_restart_loses_no_timer_and_two_services_run_nothing_twice(stage: Stage):
    async with stage.watched() as first:
        await stage.learn("Ana likes tea.")
        await first.go_on(2 * MINUTE)
    assert stage.ran() == []
    async with stage.watched() as second:
        await second.go_on(2 * MINUTE)
        async with stage.watched():
            await second.go_on(3 * MINUTE)
            await asyncio.sleep(0.05)
    assert stage.ran() == ["interval 5"]


async def test_new_activity_of_the_peer_puts_a_pending_dream_off_whoever_observes_it(stage: Stage):
    async with stage.watched(trigger=SOON) as watched:
        await stage.learn("Ana likes tea.", "Ana likes coffee.")
        await watched.go_on(9 * MINUTE)
        await stage.say("Hello!", scope=Scope("acme", "ben", "ana"))
        await watched.go_on(9 * MINUTE)
        assert stage.ran() == []
        stage.dreams.touch()
        await stage.world.parts.activity.stop()  # a recorder of its own, that nobody started: nothing is written
        await watched.go_on(2 * MINUTE)
        assert stage.ran() == ["threshold 19"]
        await stage.say("Of another peer.", scope=Scope("acme", "agent", "ben"))
        assert (await stage.dreams.explain()).waits_for[0].name is GateName.WORK


async def test_a_request_is_taken_up_at_once_and_uses_no_slot(stage: Stage):
    async with stage.watched(enabled=False) as watched:
        await stage.learn("Ana likes tea.")
        await watched.go_on(8 * HOUR, by=HOUR)
        assert stage.ran() == []
        first, second = await stage.dreams.schedule(), await stage.dreams.schedule()
        assert (first.is_taken, first.requested_at) == (True, stage.clock.now())
        assert (second.reason, second.requested_at) == ("already_pending", first.requested_at)
        assert (await stage.dreams.run()).reason.startswith("already_pending: ")
        await watched.woken()
        assert stage.ran() == ["manual 480"]
        state = await the_state(stage)
        assert (state.requested_at, state.used_until, state.scheduled_runs) == (None, None, ())
        assert (await stage.dreams.schedule()).is_taken


async def test_a_request_for_a_quiet_moment_waits_for_one_and_an_urgent_one_for_none(stage: Stage):
    async with stage.watched(enabled=False) as watched:
        await stage.say()
        assert (await stage.dreams.schedule(when_quiet=True)).is_taken
        assert not (await stage.dreams.schedule(when_quiet=True)).is_taken
        assert "idle" in [gate.name for gate in (await stage.dreams.explain()).waits_for]
        await watched.go_on(8 * MINUTE)
        await stage.say("We moved again.")
        await watched.go_on(9 * MINUTE)
        assert stage.ran() == []
        await watched.go_on(2 * MINUTE)
        assert stage.ran() == ["manual 18"]
        await stage.say("And again.")
        await stage.dreams.schedule(when_quiet=True)
        assert (await stage.dreams.schedule()).is_taken
        await watched.go_on(MINUTE)
        assert len(stage.ran()) == 2


async def test_a_request_that_nobody_takes_up_does_not_keep_people_from_running(stage: Stage):
    await stage.learn("Ana likes tea.")
    assert (await stage.dreams.schedule()).is_taken
    assert (await stage.dreams.run()).outcome is Outcome.DEFERRED
    stage.clock.advance(2 * MINUTE)
    report = await stage.dreams.run()
    assert (report.outcome, report.trigger) == (Outcome.COMPLETED, "manual")
    assert (await the_state(stage)).requested_at is None


async def test_what_is_switched_off_dreams_neither_by_itself_nor_by_hand(stage: Stage):
    async with stage.watched() as watched:
        await stage.learn("Ana likes tea.")
        host = AgentHostBuilder(None).with_storage(stage.world.storage).build()
        await host.configure(ANA, dream=False)
        await watched.go_on(10 * MINUTE)
        assert stage.ran() == []
        assert (await stage.dreams.run()).reason == "dreaming_off: set for this scope"
        assert (await stage.dreams.schedule()).reason == "dreaming_off: set for this scope"
        (gate,) = [gate for gate in (await stage.dreams.explain()).waits_for if gate.name is GateName.DREAMING]
        assert (gate.value, gate.threshold) == (False, "scope")
        await host.configure(ANA, dream=None, learning=False)
        assert (await stage.dreams.run()).reason == "learning_off: set for this scope"
        await host.configure(ANA, learning=None)
        await watched.go_on(4 * HOUR, by=10 * MINUTE)
        assert len(stage.reports) == 1


async def test_a_person_served_elsewhere_is_asked_after_every_five_seconds_while_a_dream_waits():
    served = [False, True, True, True, False, False, False]
    asked: list[Any] = []
    async with a_stage() as stage:

        def look() -> bool:
            asked.append(stage.clock.now())
            return served[min(len(asked) - 1, len(served) - 1)]

        await stage.learn("Ana likes tea.")
        world = dataclasses.replace(stage.world, busy_sources=(look,))
        async with Stage(world, reports=stage.reports).watched(trigger=Interval(initial_delay=MINUTE)) as watched:
            served[0] = True
            await watched.go_on(MINUTE)
            await watched.go_on(timedelta(seconds=30), by=timedelta(seconds=5))
    seconds = [(at - NOW).total_seconds() for at in asked]
    assert seconds[:4] == [60, 65, 70, 75]
    assert [report.started_at for report in stage.reports] == [NOW + timedelta(seconds=80)]


async def test_failures_back_off_and_a_success_ends_that(stage: Stage):
    stage.order = (PassSlot(Broken(3), "a test asked for it"),)
    async with stage.watched(trigger=Heartbeat(beat=timedelta(seconds=1), every=HOUR)) as watched:
        await stage.learn("Ana likes tea.")
        await watched.go_on(8 * MINUTE, by=timedelta(seconds=10))
    started = [(run.started_at - NOW).total_seconds() for run in stage.reports]
    assert [run.outcome for run in stage.reports] == [Outcome.FAILED] * 3 + [Outcome.COMPLETED]
    # Two retries at the next beats, as a heartbeat's; then a minute less up to a quarter.
    assert started[2] - started[0] <= 30
    assert 45 <= started[3] - started[2] <= 80


async def test_a_stop_breaks_a_run_off_and_leaves_it_to_be_resumed(stage: Stage):
    held = Held()
    stage.order = (PassSlot(held, "a test asked for it"),)
    await stage.learn("Ana likes tea.")
    async with stage.watched() as watched:
        watched.clock.set(NOW + 5 * MINUTE)
        await held.entered.wait()
        before = await the_state(stage)
    state = await the_state(stage)
    assert (before.failures, state.failures) == (1, 0)
    assert (await stage.dreams.status()).interrupted is not None
    held.let.set()
    async with stage.watched() as again:
        await again.go_on(MINUTE)
    (report,) = stage.reports
    assert (report.resumed, report.trigger) == (True, "interval")


async def test_a_run_whose_process_died_is_gone_on_with_once_its_lease_is_free(stage: Stage):
    held = Held()
    stage.order = (PassSlot(held, "a test asked for it"),)
    await stage.learn("Ana likes tea.")
    async with stage.watched() as watched:
        watched.clock.set(NOW + 5 * MINUTE)
        await held.entered.wait()
        dead = await stage.world.storage.read(ANA, lambda view: view.transaction.connection.exec_driver_sql(
            "SELECT state, due_at FROM schedules").one())  # fmt: skip
    # As a kill leaves it: the beginning is stored, the end is not.
    await stage.world.write(lambda unit: unit.transaction.connection.exec_driver_sql(
        "UPDATE schedules SET state = ?, due_at = ?", tuple(dead)))  # fmt: skip
    held.let.set()
    async with stage.watched() as again:
        await again.go_on(2 * MINUTE)
    (report,) = stage.reports
    assert (report.resumed, report.started_at) == (True, NOW + 5 * MINUTE)
    assert report.finished_at <= NOW + 6 * MINUTE + timedelta(seconds=5)


@pytest.mark.parametrize("passes", [None, ["held"]])
async def test_a_run_that_somebody_asked_for_and_whose_process_died_is_gone_on_with_if_it_was_a_whole_dream(
    stage: Stage, passes: list[str] | None
):
    held = Held()
    stage.order = (PassSlot(held, "a test asked for it"),)
    await stage.learn("Ana likes tea.")
    async with stage.watched(enabled=False):
        runner = Runner(stage.world.parts, stage.world.options, stage.order)
        booking = stage.dreams._schedule_facade.booking(ANA, is_whole=passes is None)
        run = asyncio.create_task(runner.run(ANA, passes=passes, booking=booking))
        await held.entered.wait()
        dead = await stage.world.storage.read(ANA, lambda view: view.transaction.connection.exec_driver_sql(
            "SELECT state, due_at, reason FROM schedules").one())  # fmt: skip
        run.cancel()
        await asyncio.wait({run})
    # As a kill leaves it: the beginning is stored, the end is not.
    await stage.world.write(lambda unit: unit.transaction.connection.exec_driver_sql(
        "UPDATE schedules SET state = ?, due_at = ?, reason = ?", tuple(dead)))  # fmt: skip
    held.let.set()
    async with stage.watched(enabled=False) as again:
        await again.go_on(6 * MINUTE)
    assert [(one.resumed, one.trigger) for one in stage.reports] == ([] if passes else [(True, "manual")])


async def test_windows_that_nobody_watched_are_made_up_for_once_or_recorded_as_skipped():
    for catch_up, made_up in ((CatchUp.RUN_ONCE, ["daily 4320"]), (CatchUp.SKIP, [])):
        async with a_stage() as stage:
            options: dict[str, Any] = {"trigger": DailyAt(at="03:00"), "zone": "UTC", "catch_up": catch_up}
            await stage.learn("Ana likes tea.")
            async with stage.watched(**options):
                pass
            stage.clock.advance(3 * 24 * HOUR)
            async with stage.watched(**options) as watched:
                assert stage.ran() == made_up
                runs = await stage.dreams.runs()
                if made_up:
                    assert runs[0].missed.startswith("the windows from 2025-06-15T03:00:00Z to 2025-06-17T03:00:00Z")
                    continue
                (skipped,) = runs
                assert (skipped.kind, skipped.outcome) == (RunKind.SKIPPED, Outcome.DEFERRED)
                assert skipped.reason.startswith("window_skipped: the windows from 2025-06-15T03:00:00Z to ")
                await watched.go_on(18 * HOUR, by=HOUR)
                assert len(stage.reports) == 1
                assert len(await stage.dreams.runs()) == 2


async def test_other_options_are_planned_for_at_the_start_and_a_clock_set_back_starts_no_storm(stage: Stage):
    await stage.learn("Ana likes tea.")
    async with stage.watched(trigger=Interval(initial_delay=10 * HOUR)) as watched:
        assert watched.service.next_at == NOW + 10 * HOUR
    async with stage.watched(trigger=Interval(initial_delay=3 * HOUR)) as watched:
        assert watched.service.next_at == NOW + 3 * HOUR
        await watched.to(NOW - 48 * HOUR)
        await watched.go_on(HOUR, by=10 * MINUTE)
        assert stage.ran() == []
        assert len(watched.service.looks) < 12
        await watched.go_on(51 * HOUR, by=HOUR)
    assert len(stage.reports) == 1


async def test_a_pass_that_is_switched_on_or_comes_to_have_a_model_finds_its_work_though_nothing_is_new(stage: Stage):
    options = stage.world.options
    stage.world.options = options.replace(modes={"exact-fold": "off"})
    await stage.world.add("Ana likes tea.", "Ana likes tea.")
    async with stage.watched() as watched:
        await watched.go_on(10 * MINUTE, by=5 * MINUTE)
        assert (await stage.dreams.explain()).due_at is None
    async with stage.watched():
        assert (await stage.dreams.explain()).due_at is None  # the same options make no work
    stage.world.options = options
    async with stage.watched() as watched:
        await watched.go_on(4 * HOUR, by=5 * MINUTE)
    assert stage.ran() == ["interval 5", "interval 245"]
    assert stage.reports[-1].changes == 2
    levels, able = OptionLevels(options), (frozenset(), frozenset({Capability.LLM}))
    of_two = [Planner(levels, stage.world.ids, one).terms for one in able]
    assert of_two[0].gives_other_work(of_two[1].options_hash)


async def test_an_edited_directive_alone_brings_a_dream_and_the_same_words_bring_none(stage: Stage, tmp_path: Path):
    answers = VerifyingChatClient(['{"toDelete": [], "toSave": []}'] * 3)
    world = dataclasses.replace(stage.world, data_dir=tmp_path, chat=answers)
    own = tmp_path / "directives" / "dream.md"
    own.parent.mkdir()
    reviewing = dataclasses.replace(stage, world=world, order=(PassSlot(MemoryConsolidation(), "a test"),))
    async with reviewing.watched() as watched:
        await world.add("Ana likes green tea from Porto", "Ana likes green tea from Porto a lot")
        await watched.go_on(10 * MINUTE, by=5 * MINUTE)
        for text in ("Merge what is alike.", "\r\nMerge what is alike.\r\n"):
            own.write_text(text)
            await watched.go_on(9 * HOUR, by=HOUR)
    assert stage.ran() == ["interval 5", "interval 250"]
    assert [request.messages[0].content.count("Merge what is alike.") for request in answers.requests] == [0, 1]


async def test_recalls_alone_bring_a_promotion_about_and_are_no_activity(stage: Stage, tmp_path: Path):
    world = dataclasses.replace(stage.world, workspaces=Workspaces(lambda _: tmp_path))
    (bees,) = await world.add("Ana keeps bees in the garden")
    notes = RecallNotes(world.storage, clock=world.clock, keep=timedelta(days=90))
    memory = Memory(ANA, storage=world.storage, recall=world.recall, ids=world.ids, notes=notes)
    async with dataclasses.replace(stage, world=world).watched(trigger=Heartbeat(every=HOUR, beat=MINUTE)) as watched:
        await watched.go_on(9 * HOUR, by=HOUR)
        before = (await the_state(stage)).last_activity_at
        for query in ("Who keeps bees?", "What is in the garden?", "Whose garden?"):
            await memory.recall(query, session_id="s")
        await notes.flush()
        await watched.go_on(3 * HOUR, by=HOUR)
        assert (await the_state(stage)).last_activity_at == before
        await watched.go_on(3 * HOUR, by=HOUR)
    assert [of_pass(run, "promotion").accepted for run in stage.reports] == [0, 2]
    assert bees.content in (tmp_path / "MEMORY.md").read_text()


@pytest.mark.parametrize("most", [1, 200])
async def test_what_waits_for_a_person_starts_no_dream_before_that_person_has_decided(most: int):
    async with a_stage(modes={"*": "propose"}, review={"max_waiting": most}) as stage, stage.watched() as watched:
        await stage.world.add("Ana likes tea.", "Ana likes tea.", "Ana bakes rye.", "Ana bakes rye.")
        await watched.go_on(HOUR, by=5 * MINUTE)
        await stage.world.add("Ana likes tea.")
        await watched.go_on(24 * HOUR, by=HOUR)
        dreamt = len(stage.ran())
        assert dreamt == (1 if most == 1 else 2)
        for proposal in await stage.dreams.proposals():
            await stage.dreams.approve([proposal.proposal_id])
        await watched.go_on(5 * HOUR, by=HOUR)
        assert len(stage.ran()) == dreamt + 1
        assert [run.passes[1].proposed for run in stage.reports] == ([1, 1] if most == 1 else [2, 0, 1])


async def test_passes_are_asked_again_about_what_was_taken_back(stage: Stage):
    async with stage.watched() as watched:
        await stage.world.add("Ana likes tea.", "Ana likes tea.")
        await watched.go_on(10 * MINUTE, by=5 * MINUTE)
        await stage.dreams.undo(stage.reports[0].run_id)
        assert (await the_state(stage)).work[-1].name == ANYTHING_NEW
        await watched.go_on(30 * HOUR, by=HOUR)
    asked = await stage.dreams.explain()
    assert (len(stage.ran()), asked.work, asked.due_at) == (2, (), None)
    assert len(await stage.world.active()) == 2


async def test_a_state_of_a_later_version_is_left_alone(stage: Stage):
    await stage.learn("Ana likes tea.")
    async with stage.watched():
        pass
    later = "UPDATE schedules SET state = json_set(state, '$.version', 99), due_at = 0"
    await stage.world.write(lambda unit: unit.transaction.connection.exec_driver_sql(later))
    async with stage.watched() as watched:
        await watched.go_on(10 * MINUTE)
        assert stage.ran() == []
        assert (await stage.dreams.explain()).waits_for[0].name is GateName.VERSION
    stored = await stage.world.storage.read(ANA, lambda view: view.transaction.connection.exec_driver_sql(
        "SELECT json_extract(state, '$.version') FROM schedules").scalar())  # fmt: skip
    assert stored == 99


@pytest.mark.parametrize("state", ["", "[]", "{}", "null", '{"version": 1, "work": 7}', '{"version": "x"}'])
async def test_a_state_that_cannot_be_read_counts_as_a_scope_never_seen(
    stage: Stage, state: str, caplog: pytest.LogCaptureFixture
):
    await stage.learn("Ana likes tea.")
    async with stage.watched():
        pass
    broken = "UPDATE schedules SET state = ?, due_at = 0"
    await stage.world.write(lambda unit: unit.transaction.connection.exec_driver_sql(broken, (state,)))
    async with stage.watched() as watched:
        await watched.go_on(10 * MINUTE, by=5 * MINUTE)
    assert stage.ran() == ["interval 5"]
    assert "schedule_unreadable" in [record.message for record in caplog.records]


async def test_a_scope_whose_dream_fails_keeps_no_other_from_its_own(stage: Stage):
    ben = Scope("acme", "agent", "ben")
    stage.order = (PassSlot(Broken(times=1), "alone"),)
    async with stage.watched() as watched:
        await stage.learn("Ana likes tea.")
        await stage.say(scope=ben)
        await watched.go_on(5 * MINUTE)
    told = {str(run.scope): run.outcome for run in stage.reports}
    assert told == {"acme/agent/ana": Outcome.FAILED, "acme/agent/ben": Outcome.COMPLETED}


async def test_it_sleeps_a_minute_at_most_and_reads_nothing_meanwhile(stage: Stage):
    async with stage.watched() as watched:
        await watched.go_on(HOUR, by=timedelta(seconds=7))
        looks = watched.service.looks
    between = [later - earlier for earlier, later in pairwise(looks)]
    assert min(between) >= LONGEST_WAIT - timedelta(seconds=1)


async def test_a_session_that_is_off_brings_no_dream_about_and_is_not_mined(stage: Stage):
    host = AgentHostBuilder(None).with_storage(stage.world.storage).build()
    await host.for_scope(ANA).configure("s1", learning=False)
    world = dataclasses.replace(stage.world, chat=object())
    stage = Stage(world, reports=stage.reports)
    await stage.say(session_id="s1")
    explained = await stage.dreams.explain()
    assert [one.name for one in explained.work if one.at <= stage.clock.now()] == []
    await stage.say(session_id="s2")
    explained = await stage.dreams.explain()
    assert "fact-mining" in [one.name for one in explained.work if one.at <= stage.clock.now()]


async def test_the_host_sees_that_the_loop_died(monkeypatch: pytest.MonkeyPatch):
    def broken(*_: Any, **__: Any) -> int:
        raise RuntimeError("a mistake")

    monkeypatch.setattr(Planner, "plan_changed", broken)
    with pytest.raises(ServiceFailedError, match="dreams"):
        async with AgentHostBuilder(None, clock=ManualClock(NOW)).with_memory().with_dreaming().build() as host:
            await asyncio.wait_for(host.wait_for_shutdown(), 5)


async def test_a_host_that_wants_no_timer_has_none():
    quiet = AgentHostBuilder(None).with_memory().with_dreaming(in_background=False).build()
    loud = AgentHostBuilder(None).with_memory().with_dreaming().build()
    async with quiet, loud:
        assert quiet.dreams.service is None
        assert loud.dreams.service is not None
        assert loud.for_scope(ANA).dreams.service is loud.dreams.service


async def test_what_cannot_be_reached_is_said(stage: Stage):
    stage.world.options = stage.world.options.replace(schedule={"trigger": {"kind": "threshold"}})
    assert "none ever came here" in (await stage.dreams.explain()).warnings[0]
    await stage.learn("Ana likes tea.")
    assert (await stage.dreams.explain()).warnings == ()
    async with stage.watched():
        pass
    stage.clock.advance(30 * 24 * HOUR)
    assert "1 came in 30 days" in (await stage.dreams.explain()).warnings[0]
    assert (await stage.dreams.explain()).reason is Reason.NEVER


async def the_state(stage: Stage) -> Any:
    terms = Planner(OptionLevels(stage.world.options), stage.world.ids).terms
    return await stage.world.storage.read(ANA, lambda view: dream_stores(view).schedules.mine(terms).state)
