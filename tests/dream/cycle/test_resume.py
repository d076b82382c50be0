import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from dreaming import DAY, NOW, World, of_pass
from interrupting import Killed, PausedStorage, WatchedStorage, bury, count_writes, dying
from wishing import Wishful

from agentcore.domain import Status
from agentcore.errors import LeaseLostError, StorageUnavailableError
from dream.cycle import Backlog
from dream.cycle.running.runner import PAUSED
from dream.domain import Outcome, Proposal, RunReport
from dream.options import DreamOptions, NearDuplicateOptions, RetentionOptions
from dream.passes import arranged
from dream.stores.schedules import INTERRUPTED_RUN

OPTIONS = DreamOptions(
    step_size=3,
    near_duplicates=NearDuplicateOptions(max_entries=9),
    retention=RetentionOptions(protect_reinforced=50),
)


async def fill(world: World) -> World:
    """Duplicates, similar texts, and retired entries whose time has come: several steps for each pass."""
    world.options = OPTIONS
    texts = [f"Fact {number % 3} about place{number % 3}" for number in range(7)]
    await world.add(*(world.entry(text, id=f"e{n}", created_at=NOW + n * DAY) for n, text in enumerate(texts)))
    old = {"status": Status.ARCHIVED, "status_reason": "old", "status_at": NOW - 100 * DAY}
    await world.add(*(world.entry(f"old {n}", id=f"o{n}", created_at=NOW - 200 * DAY, **old) for n in range(4)))
    return world


async def dream(world: World) -> RunReport:
    return await world.dreams.run()


async def die_in(world: World, write: int, *, committed: bool, work: Callable[[World], Awaitable[object]]) -> None:
    with pytest.raises(Killed):
        await work(dying(world, write, committed=committed))
    await bury(world)


async def test_a_run_killed_between_any_two_transactions_ends_as_if_it_had_not_been(world: World):
    whole = await fill(world.elsewhere())
    expected = await whole.dreams.run()
    end, rows = await whole.export(), len(await whole.journal())
    # The acquired lease and the opened run come before the first step, the close and the released lease after the last.
    writes = await count_writes(await fill(world.elsewhere()), dream)
    assert writes > 10
    for write in range(writes):
        one = await fill(world.elsewhere())
        await die_in(one, write, committed=True, work=dream)
        await one.dreams.run()
        assert await one.export() == end, write
        runs = await one.dreams.runs()
        total = sum(run.changes for run in runs), sum(run.purged for run in runs)
        assert total == (expected.changes, expected.purged), write
        assert len(await one.journal()) == rows, write


async def test_a_run_paused_between_any_two_transactions_stops_and_ends_as_if_it_had_not_been(world: World):
    whole = await fill(world.elsewhere())
    await whole.dreams.run()
    end, stopped = await whole.export(), 0
    for write in range(1, await count_writes(await fill(world.elsewhere()), dream), 4):
        one = await fill(world.elsewhere())
        report = await replace(one, storage=PausedStorage(one.storage, write)).dreams.run()
        if report.run_id and report.outcome is Outcome.DEFERRED:
            stopped += 1
            status = await one.dreams.status()
            assert (status.interrupted, status.paused, status.lease) == (report.run_id, True, None), write
            assert "dream resume" in str(report.reason), write
            assert (await one.dreams.run()).reason == PAUSED, write
        await one.dreams.resume()
        await one.dreams.run()
        assert await one.export() == end, write
    assert stopped > 2


async def test_a_run_killed_again_and_again_ends_the_same(world: World):
    whole = await fill(world.elsewhere())
    await whole.dreams.run()
    one = await fill(world.elsewhere())
    deaths = 0
    while not (runs := await one.dreams.runs()) or runs[-1].finished_at is None:
        # Each life takes the lease, looks for the interrupted run, and commits a step or two.
        with pytest.raises(Killed):
            await dying(one, 3, committed=True).dreams.run()
        await bury(one)
        deaths += 1
    assert deaths > 3
    assert await one.export() == await whole.export()
    (report,) = await one.dreams.runs()
    assert (report.outcome, report.resumed) == (Outcome.COMPLETED, True)


async def test_a_resumed_run_reports_all_of_its_steps(world: World):
    whole = await fill(world.elsewhere())
    expected = await whole.dreams.run()
    one = await fill(world.elsewhere())
    await die_in(one, 7, committed=True, work=dream)
    report = await one.dreams.run()
    assert (report.resumed, report.outcome) == (True, Outcome.COMPLETED)
    for done, planned in zip(report.passes, expected.passes, strict=True):
        assert (done.accepted, done.purged, done.notes) == (planned.accepted, planned.purged, planned.notes)


async def test_a_resumed_run_goes_on_judging_as_of_its_own_instant(world: World):
    one = await fill(world)
    await die_in(one, 4, committed=True, work=dream)
    one.clock.advance(20 * timedelta(hours=1))
    report = await one.dreams.run()
    assert (report.as_of, report.started_at) == (NOW, NOW)
    archived = await one.entries(Status.ARCHIVED)
    assert {entry.status_at for entry in archived} == {NOW}


async def test_an_interrupted_run_that_is_too_old_is_closed_as_partial_and_a_new_one_begun(world: World):
    one = await fill(world)
    await die_in(one, 5, committed=True, work=dream)
    one.clock.advance(timedelta(hours=24, microseconds=1))
    report = await one.dreams.run()
    assert (report.resumed, report.as_of) == (False, one.clock.now())
    new, old = await one.dreams.runs()
    assert new == report
    assert (old.outcome, old.finished_at) == (Outcome.PARTIAL, one.clock.now())
    assert "too old to resume" in str(old.reason)
    assert old.changes + old.purged > 0
    assert (await one.dreams.status()).interrupted is None


async def test_a_run_exactly_as_old_as_allowed_is_resumed(world: World):
    one = await fill(world)
    await die_in(one, 5, committed=True, work=dream)
    one.clock.advance(timedelta(hours=24))
    assert (await one.dreams.run()).resumed


async def test_an_old_interrupted_run_that_only_purged_counts_as_applied(world: World):
    one = await fill(world)
    await die_in(one, 3, committed=True, work=dream)
    one.clock.advance(2 * DAY)
    await one.dreams.run()
    old = (await one.dreams.runs())[1]
    assert of_pass(old, "retention").outcome.value == "applied"
    assert old.purged == 3


async def test_the_status_tells_of_an_interrupted_run_and_not_of_one_under_way(world: World):
    one = await fill(world)
    seen: list[str | None] = []
    with pytest.raises(Killed):
        await dying(one, 5, committed=True).dreams.run()
    seen.append((await one.dreams.status()).interrupted)
    await bury(one)
    seen.append((await one.dreams.status()).interrupted)
    assert seen == [None, (await one.dreams.runs())[0].run_id]


async def test_a_run_of_one_pass_that_was_interrupted_does_not_stand_for_a_whole_one(world: World):
    one = await fill(world)
    await die_in(one, 3, committed=True, work=lambda dead: dead.dreams.run(passes=["exact-fold"]))
    report = await one.dreams.run()
    assert not report.resumed
    assert [run.resumed for run in await one.dreams.runs()] == [False, True]
    assert of_pass(report, "retention").purged == 4


async def test_asked_for_another_day_a_run_goes_on_with_the_interrupted_one_first(world: World):
    one = await fill(world)
    await die_in(one, 4, committed=True, work=dream)
    report = await one.dreams.run(now=NOW + 50 * DAY)
    assert (report.resumed, report.as_of) == (False, NOW + 50 * DAY)
    assert [run.as_of for run in await one.dreams.runs()] == [NOW + 50 * DAY, NOW]


async def test_a_killed_run_can_be_taken_back_before_it_is_resumed(world: World):
    one = await fill(world)
    before = [entry for entry in await one.entries() if entry.id.startswith("e")]
    await die_in(one, 6, committed=True, work=dream)
    (run,) = await one.dreams.runs()
    assert run.finished_at is None
    await one.dreams.undo(run.run_id)
    assert [entry for entry in await one.entries() if entry.id.startswith("e")] == before


async def test_an_undo_killed_between_any_two_transactions_is_finished_by_repeating_it(world: World):
    async def undo(one: World) -> None:
        (run,) = [run for run in await one.dreams.runs() if run.kind.value == "dream"]
        assert codes_of(await one.dreams.undo(run.run_id)) == []

    def codes_of(report: RunReport) -> list[str]:
        return [str(item.code) for done in report.passes for item in done.refused]

    async def dreamt(one: World) -> World:
        await (await fill(one)).dreams.run()
        return one

    whole = await dreamt(world.elsewhere())
    await undo(whole)
    end = await whole.export()
    writes = await count_writes(await dreamt(world.elsewhere()), undo)
    assert writes > 5
    for write in range(writes):
        one = await dreamt(world.elsewhere())
        await die_in(one, write, committed=True, work=undo)
        await undo(one)
        assert await one.export() == end, write
        assert (await one.dreams.run()).changes == 0, write


async def test_applying_a_plan_killed_between_any_two_transactions_loses_nothing(world: World):
    async def apply(one: World) -> None:
        await one.dreams.run(plan=plans[one.scope])

    async def planned(one: World) -> World:
        await fill(one)
        plans[one.scope] = (await one.dreams.plan()).plan_id
        return one

    plans: dict[object, str] = {}
    whole = await planned(world.elsewhere())
    await apply(whole)
    await whole.dreams.run()
    end = await whole.export()
    writes = await count_writes(await planned(world.elsewhere()), apply)
    for write in range(writes):
        one = await planned(world.elsewhere())
        await die_in(one, write, committed=True, work=apply)
        await one.dreams.run()
        await one.dreams.run()
        assert await one.export() == end, write


async def test_a_run_whose_lease_was_taken_over_writes_nothing_more(world: World):
    whole = await fill(world.elsewhere())
    await whole.dreams.run()
    one = await fill(world)
    seen: list[bytes] = []

    async def usurp() -> None:
        await bury(one)
        await one.write(lambda unit: unit.leases.acquire("dream", holder="usurper", duration=timedelta(minutes=1)))
        seen.append(await one.export())

    # The wish comes between two steps of a pass, as a long sleep of the machine does.
    sleeper = Wishful(lambda _: Proposal(change_sets=(), looked_at=("e0",), done=False), usurp)
    with pytest.raises(LeaseLostError, match="nothing more was written"):
        await one.run_passes(sleeper)
    assert await one.export() == seen[0]
    lease = (await one.dreams.status()).lease
    assert lease is not None
    assert lease.holder == "usurper"
    await bury(one)
    await one.dreams.run()
    assert await one.export() == await whole.export()


async def test_a_renewal_that_meets_a_busy_database_is_tried_again(world: World):
    await world.add("Ana likes tea", "Ana likes tea")
    failures: list[int] = []
    begun: list[int] = []

    def fail(write: int) -> None:
        begun.append(write)
        if write in {3, 4, 5}:  # the lease, a look back, the opening; then three renewals while the person is served
            failures.append(write)
            raise StorageUnavailableError(path="agentcore.db", problem="is locked", remedy="try again")

    busy = replace(world, storage=WatchedStorage(world.storage, before=fail))
    async with world.gate.foreground():
        dream_task = asyncio.create_task(busy.dreams.run())
        await wait_until(lambda: 2 in begun)
        for _ in range(5):
            await wait_until(lambda: world.clock.sleepers > 0)
            world.clock.advance(world.options.lease / 6)
        await wait_until(lambda: world.clock.sleepers > 0)
        assert (await world.dreams.run()).outcome is Outcome.DEFERRED
    assert (await dream_task).changes == 2
    assert failures


async def test_a_run_that_was_broken_off_after_its_last_step_is_work_for_the_next_dream(world: World):
    writes = await count_writes(await fill(world.elsewhere()), dream)
    one = await fill(world)
    await die_in(one, writes - 2, committed=False, work=dream)  # all but the close and the lease that is given back

    async def waits() -> list[str]:
        backlog = Backlog(parts=one.parts, options=one.options, order=arranged(one.options.passes))
        return [work.name for work in (await backlog.of(one.scope)).work if work.is_waiting]

    assert INTERRUPTED_RUN in await waits()
    await one.dreams.run()
    assert INTERRUPTED_RUN not in await waits()


async def wait_until(reached: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if reached():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came to that")
