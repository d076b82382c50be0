"""What leads to a dream: every way of writing, and every request, on whatever scope; and who goes first."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
from dreaming import NOW, VerifyingChatClient
from interrupting import WatchedStorage
from watching_over import ANA, HOUR, MINUTE, Stage, WatchedClock

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.llm import BusyGate
from dream import DreamOptions, RunReport
from dream.domain import Proposal, Work
from dream.options import Idle, Interval
from dream.passes import PassSlot

EMPTY = '{"edits": [], "toDelete": [], "toSave": []}'
IDLE = DreamOptions(schedule={"trigger": Idle()})


def a_host(tmp_path: Path, clock: WatchedClock) -> Host:
    (tmp_path / "workspace").mkdir()
    builder = AgentHostBuilder(tmp_path / "data", clock=clock).with_memory().with_skills()
    builder = builder.with_workspace(tmp_path / "workspace").with_llm(VerifyingChatClient([EMPTY] * 50))
    return builder.with_dreaming(IDLE).build()


async def append(host: Host, _: Path) -> None:
    await host.workspace.append("Bo sails on Sundays", "On Sundays Bo sails")


async def replaced(host: Host, _: Path) -> None:
    await host.workspace.replace("Ana keeps bees", "Ana keeps bees and hens")


async def skill(host: Host, _: Path) -> None:
    await host.skills.save("mail/sort", summary="Sort mail", content="Open the inbox. Sort it by sender.")
    await host.skills.save("mail/order", summary="Order mail", content="Open the inbox. Order it by sender.")


async def edited(_: Host, folder: Path) -> None:
    (folder / "MEMORY.md").write_text("- Ana keeps bees\n- Bo sails\n- Bo sails boats\n")


async def removed(_: Host, folder: Path) -> None:
    (folder / "MEMORY.md").unlink()
    (folder / "MEMORY.md").write_text("- Bees are kept by Ana\n- Ana keeps many bees\n")


@pytest.mark.parametrize("write", [append, replaced, skill, edited, removed])
async def test_whatever_is_written_into_memory_md_or_the_skills_leads_to_a_dream(
    write: Callable[[Host, Path], Awaitable[None]], tmp_path: Path
):
    clock = WatchedClock(NOW)
    reports: list[RunReport] = []
    async with a_host(tmp_path, clock) as host:
        host.dreams.on_report(reports.append)
        await host.workspace.append("Ana keeps bees", "Bees are kept by Ana")
        await clock.go_on(3 * HOUR)
        await clock.go_on(30 * HOUR)
        dreamt = len(reports)
        assert dreamt >= 1
        await clock.go_on(10 * HOUR)
        assert len(reports) == dreamt
        await write(host, tmp_path / "workspace")
        await clock.go_on(MINUTE)
        await clock.go_on(118 * MINUTE)
        assert len(reports) == dreamt
        await clock.go_on(2 * MINUTE)
        assert len(reports) == dreamt + 1
        assert reports[-1].trigger == "idle"


async def test_what_dreams_and_undos_write_into_memory_md_is_nobodys_activity(tmp_path: Path):
    clock = WatchedClock(NOW)
    options = DreamOptions.preset("idle")
    modes = {**options.modes, "promotion": "apply"}
    (tmp_path / "workspace").mkdir()
    builder = AgentHostBuilder(tmp_path / "data", clock=clock).with_memory().with_workspace(tmp_path / "workspace")
    async with builder.with_dreaming(options.replace(modes=modes)).build() as host:
        await host.memory.remember("Ana keeps bees in Sintra")
        for query in ("who keeps bees", "what does Ana keep", "who keeps bees"):
            await host.memory.recall(query)
        await clock.go_on(121 * MINUTE)
        assert "bees" in (tmp_path / "workspace" / "MEMORY.md").read_text()
        at = await host.storage.read(Scope.default(), lambda view: view.activity.last())
        for _ in range(4):
            await clock.go_on(HOUR)
        assert await host.storage.read(Scope.default(), lambda view: view.activity.last()) == at
        assert len(await host.dreams.runs()) == 1


@pytest.mark.parametrize("scope", [Scope.default(), ANA])
async def test_a_dream_that_is_asked_for_on_a_scope_without_records_runs_within_a_minute(scope: Scope, tmp_path: Path):
    clock = WatchedClock(NOW)
    async with AgentHostBuilder(tmp_path / "data", clock=clock).with_memory().with_dreaming().build() as host:
        dreams = host.for_scope(scope).dreams
        await clock.go_on(MINUTE)  # it has looked at all scopes there are
        assert (await dreams.schedule()).is_taken
        await clock.go_on(MINUTE)
        await clock.go_on(MINUTE)
        (run,) = await dreams.runs()
        assert run.trigger == "manual"
        assert (await dreams.explain()).requested_at is None
        assert (await dreams.schedule()).is_taken


async def test_who_asks_for_a_dream_waits_for_none_that_was_due_before(stage: Stage):
    timed = [Scope("acme", "agent", f"timed-{number}") for number in range(6)]
    for scope in timed:
        await replace(stage.world, scope=scope).memory.remember("Ana likes tea.")
        stage.clock.advance(timedelta(seconds=1))
    asking = Scope("other", "agent", "eva")

    async def ask(report: RunReport) -> None:
        if report.scope == timed[1]:
            assert (await stage.dreams.schedule(asking)).is_taken

    async with stage.watched(max_concurrent_dreams=1) as watched:
        assert watched.service is not None
        watched.service._handler._watch.reports.add(ask)
        await watched.to(NOW + HOUR)
    assert [report.scope for report in stage.reports] == [*timed[:2], asking, *timed[2:]]


async def test_a_run_that_was_interrupted_comes_before_those_that_only_their_time_has_come(stage: Stage):
    ben = Scope("acme", "agent", "ben")
    world = replace(stage.world, scope=ben)
    await stage.learn("Ana likes tea.")
    stage.clock.advance(timedelta(seconds=1))
    await world.add("Ben bakes rye", "Ben bakes rye")

    def stop(write: int) -> None:
        if write == 2:  # lease, look for an interrupted run, this one opened
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await replace(world, storage=WatchedStorage(world.storage, after=stop)).dreams.run()
    assert (await world.dreams.status()).interrupted is not None
    async with stage.watched(max_concurrent_dreams=1) as watched:
        await watched.to(NOW + HOUR)
    assert [(report.scope, report.resumed) for report in stage.reports] == [(ben, True), (ANA, False)]


class Served:
    """A pass in the middle of which the turn of its person begins."""

    name: ClassVar[str] = "served"
    requires: ClassVar[frozenset[Any]] = frozenset()

    def __init__(self, gate: BusyGate, scope: Scope) -> None:
        self._gate, self._scope = gate, scope
        self.turn = ExitStack()
        self.steps = 0

    async def has_work(self, _context: Any) -> Work:
        return Work(int(not self.steps))

    async def propose(self, context: Any) -> Proposal:
        if context.scope != self._scope:
            return Proposal(looked_at=("x",))
        self.steps += 1
        if self.steps == 1:
            self.turn.enter_context(self._gate.pending(self._scope))
        return Proposal(looked_at=("x",), done=self.steps == 2)

    def conclude(self, _notes: Any) -> dict[str, Any]:
        return {}


async def reported(stage: Stage, dreams: int) -> None:
    for _ in range(400):
        if len(stage.reports) == dreams:
            return
        await asyncio.sleep(0.005)


async def test_a_dream_whose_person_is_served_meanwhile_holds_up_nobody_elses(stage: Stage):
    ben = Scope("acme", "agent", "ben")
    await stage.learn("Ana likes tea.")
    stage.clock.advance(timedelta(seconds=1))
    await replace(stage.world, scope=ben).memory.remember("Ben bakes rye")
    served = Served(stage.world.gate, ANA)
    stage.order = (PassSlot(served, "a test asked for it"),)
    async with stage.watched():
        stage.clock.set(NOW + HOUR)
        await reported(stage, 1)
        await asyncio.sleep(0.05)
        assert [report.scope for report in stage.reports] == [ben]
        assert served.steps == 1
        served.turn.close()
        await reported(stage, 2)
        assert [report.scope for report in stage.reports] == [ben, ANA]
    assert stage.reports[1].started_at == stage.reports[0].started_at


async def test_a_dream_that_is_broken_off_goes_on_at_once_though_its_passes_have_nothing_new(stage: Stage):
    await stage.learn("Ana likes tea.")
    served = Served(stage.world.gate, ANA)
    stage.order = (PassSlot(served, "a test asked for it"),)
    every = Interval(every=4 * HOUR, initial_delay=MINUTE)
    async with stage.watched(trigger=every):
        stage.clock.set(NOW + MINUTE)
        for _ in range(400):
            if served.steps:
                break
            await asyncio.sleep(0.005)
        stage.clock.advance(timedelta(seconds=30))
    assert (served.steps, stage.reports) == (1, [])
    served.turn.close()
    async with stage.watched(trigger=every) as watched:
        await watched.go_on(2 * MINUTE)
    assert [report.resumed for report in stage.reports] == [True]
