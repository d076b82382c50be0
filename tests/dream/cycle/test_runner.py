import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import ClassVar

import pytest
from dreaming import DAY, NOW, World, of_pass
from wishing import Wishful, Zealous, nothing

from agentcore.domain import Capability, MemoryEntry
from agentcore.errors import InvalidContentError, StorageUnavailableError
from dream.domain import Outcome, PassOutcome, Proposal, RunKind, RunReport, Work
from dream.errors import UnknownPassError, UnknownRunError
from dream.options import DreamOptions
from dream.passes import ORDER, DreamContext, PassSlot

TEA = "Ana drinks green tea from Kyoto every morning before work"


class Failing(Wishful):
    """Fails in its second step."""

    name: ClassVar[str] = "failing"

    def __init__(self) -> None:
        super().__init__(self._wish)

    def _wish(self, found: Sequence[MemoryEntry]) -> Proposal:
        if len(self.asked) > 1:
            raise RuntimeError("out of ideas")
        return Proposal(looked_at=tuple(entry.id for entry in found), done=False)


class Demanding(Wishful):
    """Requires much."""

    name: ClassVar[str] = "demanding"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.WISPS, Capability.LLM, Capability.MEMORY})


class Confused(Wishful):
    """Cannot tell whether it has work."""

    name: ClassVar[str] = "confused"

    async def has_work(self, _context: DreamContext) -> Work:
        raise LookupError("where was I")


OPT_IN = ("deduction", "induction", "claims", "reflect", "re-evaluate", "hypotheses")
"""Passes that are off unless a preset or an option switches them on."""


def outcomes(report: RunReport) -> list[tuple[str, str, str | None]]:
    return [(one.name, one.outcome.value, one.reason) for one in report.passes]


async def test_a_run_reports_every_pass_in_the_order_of_the_table(world: World):
    await world.add(TEA, TEA)
    report = await world.dreams.run()
    nothing = ("unchanged", "nothing_to_change")
    said = {"exact-fold": ("applied", None), "near-duplicates": nothing, "importance-decay": nothing}

    def expected(place: PassSlot) -> tuple[str, str | None]:
        if place.name in OPT_IN:
            return ("skipped", "disabled")
        missing = ", ".join(sorted(place.requires - world.capabilities))
        return ("skipped", f"missing: {missing}") if missing else said.get(place.name, ("unchanged", "no_work"))

    assert outcomes(report) == [(place.name, *expected(place)) for place in ORDER]
    assert (report.outcome, report.changes, report.kind) == (Outcome.COMPLETED, 2, RunKind.DREAM)
    assert (report.as_of, report.started_at, report.finished_at) == (NOW, NOW, NOW)


async def test_the_report_is_kept_as_it_was_given(world: World):
    await world.add(TEA, TEA)
    report = await world.dreams.run()
    assert await world.dreams.report(report.run_id) == report
    assert await world.dreams.runs() == [report]
    assert RunReport.from_json(report.to_json()) == report


async def test_a_report_is_found_by_the_beginning_of_its_id(world: World):
    first, second = await world.dreams.run(), await world.dreams.run()
    assert (await world.dreams.report(second.run_id)).run_id == second.run_id
    common = first.run_id[:-1]
    for prefix in ("", "nobody", common):
        with pytest.raises(UnknownRunError, match=r"fits (none|several)"):
            await world.dreams.report(prefix)


async def test_an_empty_scope_is_unchanged(world: World):
    report = await world.dreams.run()
    assert (report.outcome, report.changes) == (Outcome.UNCHANGED, 0)


async def test_a_pass_that_is_switched_off_or_not_asked_for_says_so(world: World):
    world.options = DreamOptions(modes={"near-duplicates": "off"})
    report = await world.dreams.run(passes=["exact-fold", "near-duplicates"])
    disabled = dict.fromkeys(("near-duplicates", *OPT_IN), ("skipped", "disabled"))
    said = {"exact-fold": ("unchanged", "no_work"), **disabled}
    others = ("skipped", "not_requested")
    assert outcomes(report) == [(place.name, *said.get(place.name, others)) for place in ORDER]


async def test_a_pass_that_lacks_something_is_skipped_and_told_what(world: World):
    world.capabilities = frozenset({Capability.MEMORY})
    report = await world.run_passes(Demanding(nothing))
    assert outcomes(report) == [("demanding", "skipped", "missing: llm, wisps")]


async def test_without_a_memory_the_passes_that_need_it_are_skipped(world: World):
    world.capabilities = frozenset()
    report = await world.dreams.run()
    reasons = {one.name: str(one.reason) for one in report.passes}
    assert reasons.pop("retention") == "no_work"
    assert [reasons.pop(name) for name in OPT_IN] == ["disabled"] * len(OPT_IN)
    assert [name for name, reason in reasons.items() if not reason.startswith("missing: ")] == []
    assert {one.reason for one in report.passes[:4]} == {"no_work", "missing: memory"}


@pytest.mark.parametrize("asked", [["nonsense"], ["exact-fold", "nonsense"], "nonsense"])
async def test_a_pass_that_does_not_exist_is_refused_before_anything_happens(world: World, asked: Sequence[str]):
    with pytest.raises(UnknownPassError, match="no pass 'nonsense': choose among retention, exact-fold"):
        await world.dreams.run(passes=asked)
    assert await world.dreams.runs() == []
    alone = await world.dreams.run(passes="exact-fold")
    assert [one.name for one in alone.passes if one.reason not in {"not_requested", "disabled"}] == ["exact-fold"]


async def test_a_failing_pass_ends_neither_the_run_nor_what_it_had_done(world: World):
    await world.add(TEA, "Ben likes rye")
    report = await world.run_passes(Failing(), Zealous(nothing))
    assert outcomes(report) == [
        ("failing", "failed", "RuntimeError: out of ideas"),
        ("retention", "unchanged", "nothing_to_change"),
    ]
    assert (report.outcome, report.passes[0].looked_at) == (Outcome.PARTIAL, 2)


async def test_a_run_of_which_no_pass_succeeded_has_failed(world: World):
    await world.add(TEA)
    assert (await world.run_passes(Failing())).outcome is Outcome.FAILED
    skipped = await world.run_passes(Failing(), Demanding(nothing))
    assert skipped.outcome is Outcome.FAILED


async def test_a_pass_that_failed_is_tried_again_by_the_next_run(world: World):
    await world.add(TEA)
    for _ in range(2):
        report = await world.run_passes(Failing())
        assert report.passes[0].outcome is PassOutcome.FAILED
        assert not report.resumed


async def test_a_pass_that_cannot_tell_whether_it_has_work_fails_alone(world: World):
    report = await world.run_passes(Confused(nothing), Zealous(nothing))
    assert [one.outcome.value for one in report.passes] == ["failed", "unchanged"]


async def test_a_broken_database_ends_the_run_and_leaves_it_to_be_resumed(world: World):
    async def fill_the_disk() -> None:
        raise StorageUnavailableError(path="agentcore.db", problem="is full", remedy="free some space")

    with pytest.raises(StorageUnavailableError):
        await world.run_passes(Wishful(nothing, fill_the_disk))
    status = await world.dreams.status()
    assert status.interrupted is not None
    assert status.lease is None
    report = await world.run_passes(Wishful(nothing))
    assert (report.resumed, report.run_id) == (True, status.interrupted)


async def test_a_paused_scope_defers_and_says_how_to_go_on(world: World):
    await world.add(TEA, TEA)
    await world.dreams.pause()
    report = await world.dreams.run()
    assert (report.outcome, report.run_id) == (Outcome.DEFERRED, "")
    assert report.reason is not None
    assert "dream resume" in report.reason
    assert await world.dreams.runs() == []
    await world.dreams.resume()
    assert (await world.dreams.run()).outcome is Outcome.COMPLETED


async def test_while_another_holds_the_lease_a_run_defers_and_names_the_process(world: World):
    await world.add(TEA, TEA)
    lease = await world.write(lambda unit: unit.leases.acquire("dream", holder="other", duration=timedelta(minutes=1)))
    report = await world.dreams.run()
    assert report.outcome is Outcome.DEFERRED
    assert str(report.reason).startswith(f"lease_held by process {lease.pid} on ")
    assert len(await world.active()) == 2
    await world.write(lambda unit: unit.leases.release(lease))
    assert (await world.dreams.run()).changes == 2


async def test_a_lease_that_nobody_renewed_is_free_again(world: World):
    await world.add(TEA, TEA)
    await world.write(lambda unit: unit.leases.acquire("dream", holder="other", duration=timedelta(minutes=1)))
    world.clock.advance(timedelta(minutes=1))
    assert (await world.dreams.run()).changes == 2


async def test_a_run_gives_its_lease_back(world: World):
    await world.dreams.run()
    assert (await world.dreams.status()).lease is None


async def test_a_second_run_changes_nothing_and_writes_no_journal_row(world: World):
    await world.add(TEA, TEA, f"{TEA} alone", "Ben likes rye")
    await world.dreams.run()
    before, revision, rows = await world.export(), await world.revision(), len(await world.journal())
    report = await world.dreams.run()
    assert (report.outcome, report.changes) == (Outcome.UNCHANGED, 0)
    assert (await world.export(), await world.revision(), len(await world.journal())) == (before, revision, rows)


async def test_a_run_judges_as_of_the_instant_it_was_given(world: World):
    _, copy = await world.add(TEA, TEA)
    report = await world.dreams.run(now=NOW + 40 * DAY)
    assert (report.as_of, report.started_at) == (NOW + 40 * DAY, NOW)
    assert (await world.get(copy)).status_at == NOW + 40 * DAY
    assert of_pass(report, "importance-decay").notes["faded"] == 1


async def test_an_instant_without_a_time_zone_is_refused(world: World):
    naive = datetime(2025, 6, 14)  # noqa: DTZ001 - the point of the test
    for attempt in (world.dreams.run, world.dreams.plan):
        with pytest.raises(InvalidContentError, match="no time zone"):
            await attempt(now=naive)
    assert await world.dreams.runs() == []


async def test_the_newest_runs_come_first_and_only_as_many_as_asked(world: World):
    runs = [await world.dreams.run() for _ in range(3)]
    assert [one.run_id for one in await world.dreams.runs(limit=2)] == [runs[2].run_id, runs[1].run_id]


async def test_dreams_of_two_scopes_are_never_mixed(world: World):
    other = world.elsewhere()
    for one in (world, other):
        await one.add(one.entry(TEA, id="a", created_at=NOW), one.entry(TEA, id="b", created_at=NOW + DAY))
    untouched, revision = await other.export(), await other.revision()
    report = await world.dreams.run()
    await world.dreams.plan()
    await world.dreams.undo(report.run_id)
    await world.dreams.run()
    assert (await other.export(), await other.revision()) == (untouched, revision)
    assert await other.dreams.runs() == []
    with pytest.raises(UnknownRunError):
        await other.dreams.undo(report.run_id)
    assert (await world.dreams.for_scope(other.scope).run()).changes == 2


async def test_a_pause_and_a_lease_belong_to_one_scope(world: World):
    other = world.elsewhere()
    await world.dreams.pause()
    await other.write(lambda unit: unit.leases.acquire("dream", holder="other", duration=timedelta(minutes=1)))
    third = world.elsewhere()
    assert [(await one.dreams.run()).outcome.value for one in (world, other, third)] == [
        "deferred",
        "deferred",
        "unchanged",
    ]


@pytest.mark.parametrize("place", ORDER, ids=lambda place: place.name)
def test_the_table_of_passes_says_the_name_and_the_needs_that_each_pass_says(place: PassSlot):
    assert (place.name, place.requires) == (place.dream_pass.name, place.dream_pass.requires)


_FIRST_DREAM = """
import asyncio, sys, threading
from agentcore import AgentHostBuilder
from agentcore.testing import ScriptedChatClient

class Noting:
    on_the_loop = []
    def find_spec(self, name, path, target=None):
        if name.startswith(("dream.guards", "dream.passes", "numpy")) and threading.current_thread() is asyncing:
            self.on_the_loop.append(name)

async def main():
    builder = AgentHostBuilder(None).with_memory().with_conversation_log().with_skills().with_feedback().with_wisps()
    async with builder.with_llm(ScriptedChatClient(["{}"] * 50)).with_dreaming(in_background=False).build() as host:
        await host.memory.remember("Ana keeps bees in Sintra")
        sys.meta_path.insert(0, Noting())
        await asyncio.wait_for(getattr(host.dreams, sys.argv[1])(), 60)

asyncing = threading.current_thread()
asyncio.run(main())
print(*Noting.on_the_loop)
"""


@pytest.mark.parametrize("asked", ["run", "plan", "status", "forecast", "promotion"])
def test_the_first_dream_of_a_process_imports_nothing_on_the_event_loop(asked: str):
    command = [sys.executable, "-c", _FIRST_DREAM, asked]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
