import pytest
from dreaming import DAY, NOW, World, codes, of_pass

from agentcore.domain import Status, Turn
from dream.domain import JournalRow, Outcome, Plan, RunKind, RunReport
from dream.errors import UnknownPlanError
from dream.options import DreamOptions, NearDuplicateOptions

TEA = "Ana likes tea"
RYE = "Ben bakes rye"


def planned(plan: Plan) -> list[tuple[str, str, str, str | None, str | None]]:
    return [as_planned(row) for row in plan.rows]


def as_planned(row: JournalRow) -> tuple[str, str, str, str | None, str | None]:
    return row.pass_name, row.operation, row.record_id, row.before, row.after


def told(report: RunReport) -> list[tuple[str, str, int, int, object]]:
    return [(one.name, one.outcome.value, one.accepted, one.purged, one.notes) for one in report.passes]


async def fill(world: World) -> World:
    old = {"status": Status.ARCHIVED, "status_reason": "old", "status_at": NOW - 100 * DAY}
    texts = [TEA, RYE, TEA, RYE, "Ana likes green tea", TEA]
    await world.add(*(world.entry(text, id=f"e{n}", created_at=NOW + n * DAY) for n, text in enumerate(texts)))
    await world.add(world.entry("old", id="old", created_at=NOW - 200 * DAY, **old))
    said = NOW - 100 * DAY
    turns = [Turn(id=f"t{n}", scope=world.scope, session_id="s", role="user", content="hi", occurred_at=said,
                  recorded_at=said) for n in range(3)]  # fmt: skip
    await world.write(lambda unit: unit.turns.add(turns))
    return world


async def test_a_plan_writes_nothing_to_the_memory_and_opens_no_run(world: World):
    await fill(world)
    before, revision = await world.export(), await world.revision()
    plan = await world.dreams.plan()
    assert (await world.export(), await world.revision()) == (before, revision)
    assert await world.dreams.runs() == []
    assert await world.positions() == {}
    assert plan.report.changes == len([row for row in plan.rows if row.operation == "fold"])


async def test_a_plan_is_the_journal_of_the_run_that_follows(world: World):
    await fill(world)
    plan = await world.dreams.plan()
    run = await world.dreams.run()
    rows = await world.dreams.diff(run.run_id)
    assert planned(plan) == [as_planned(row) for row in rows]
    assert told(plan.report) == told(run)
    head, *lines = str(plan).splitlines()
    assert head == f"Plan {plan.plan_id} for {world.scope}: {len(rows)} changes"
    assert lines == [str(row) for row in rows]
    assert lines[0].startswith(f"#1 {rows[0].operation} ({rows[0].pass_name}) ")


async def test_applying_a_plan_ends_where_the_run_would_have_ended(world: World):
    whole = await fill(world.elsewhere())
    await whole.dreams.run()
    await fill(world)
    plan = await world.dreams.plan()
    report = await world.dreams.run(plan=plan.plan_id)
    assert (report.kind, report.target, report.outcome) == (RunKind.PLAN, plan.plan_id, Outcome.COMPLETED)
    assert (report.changes, report.purged) == (plan.report.changes, plan.report.purged)
    assert await world.export() == await whole.export()
    assert planned(plan) == [as_planned(row) for row in await world.dreams.diff(report.run_id)]


async def test_a_plan_after_an_undo_settles_what_was_reopened(world: World):
    async def prepare(one: World) -> World:
        await fill(one)
        run = await one.dreams.run()
        await one.add(one.entry("Cem plays chess", id="c", created_at=NOW))
        await one.dreams.run()
        await one.dreams.undo(run.run_id)
        return one

    whole = await prepare(world.elsewhere())
    await whole.dreams.run()
    plan = await (await prepare(world)).dreams.plan()
    await world.dreams.run(plan=plan.plan_id)
    assert await world.export() == await whole.export()


async def test_a_plan_is_applied_once(world: World):
    await fill(world)
    plan = await world.dreams.plan()
    await world.dreams.run(plan=plan.plan_id)
    with pytest.raises(UnknownPlanError, match="dream plan"):
        await world.dreams.run(plan=plan.plan_id)


@pytest.mark.parametrize("name", ["", "nobody", "%"])
async def test_an_unknown_plan_is_refused(world: World, name: str):
    await world.dreams.plan()
    with pytest.raises(UnknownPlanError):
        await world.dreams.run(plan=name)


async def test_a_plan_belongs_to_its_scope(world: World):
    plan = await (await fill(world)).dreams.plan()
    with pytest.raises(UnknownPlanError):
        await world.elsewhere().dreams.run(plan=plan.plan_id)


async def test_what_moved_since_the_plan_is_refused_and_looked_at_again(world: World):
    await fill(world)
    plan = await world.dreams.plan()
    await world.memory.remember(TEA)
    report = await world.dreams.run(plan=plan.plan_id)
    assert codes(of_pass(report, "exact-fold")) == ["stale_source"]
    assert {entry.content for entry in await world.active()} == {TEA, RYE, "Ana likes green tea"}
    assert len(await world.active()) == 5
    after = await world.dreams.run()
    assert of_pass(after, "exact-fold").accepted == 3
    assert len(await world.active()) == 3


async def test_the_report_of_a_plan_that_did_not_come_true_says_what_was_planned(world: World):
    await world.add(TEA, TEA)
    plan = await world.dreams.plan()
    await world.memory.remember(TEA)
    fold = of_pass(await world.dreams.run(plan=plan.plan_id), "exact-fold")
    assert (fold.outcome.value, fold.reason, fold.accepted) == ("unchanged", "nothing_to_change", 0)
    assert fold.notes == {"planned": dict(of_pass(plan.report, "exact-fold").notes)}


async def test_an_entry_that_came_back_to_life_is_not_purged_by_a_plan(world: World):
    await fill(world)
    plan = await world.dreams.plan()
    await world.dreams.restore("old")
    report = await world.dreams.run(plan=plan.plan_id)
    assert codes(of_pass(report, "retention")) == ["stale_source"]
    assert (await world.get("old")).is_active


async def test_what_was_remembered_after_the_plan_is_left_to_the_next_run(world: World):
    await world.add(TEA, TEA)
    plan = await world.dreams.plan()
    await world.add(RYE, RYE)
    assert (await world.dreams.run(plan=plan.plan_id)).changes == 2
    assert (await world.dreams.run()).changes == 2


async def test_a_plan_made_before_a_run_finds_nothing_left(world: World):
    await fill(world)
    plan = await world.dreams.plan()
    await world.dreams.run()
    after = await world.export()
    report = await world.dreams.run(plan=plan.plan_id)
    assert (report.changes, report.purged) == (0, 0)
    assert [line for line in after.splitlines() if b'"pending"' not in line and b'"end"' not in line] == [
        line for line in (await world.export()).splitlines() if b'"pending"' not in line and b'"end"' not in line
    ]


async def test_an_applied_plan_is_taken_back_like_a_run(world: World):
    await world.add(TEA, RYE, TEA, RYE)
    before = await world.export()
    plan = await world.dreams.plan()
    report = await world.dreams.run(plan=plan.plan_id)
    await world.dreams.undo(report.run_id)
    assert await world.export() == before
    assert (await world.dreams.run()).changes == 0


async def test_a_plan_covers_the_passes_and_the_day_it_was_asked_for(world: World):
    await fill(world)
    plan = await world.dreams.plan(passes=["importance-decay"], now=NOW + 60 * DAY)
    assert (plan.rows, plan.report.as_of) == ((), NOW + 60 * DAY)
    assert of_pass(plan.report, "importance-decay").notes["faded"] == 6
    report = await world.dreams.run(plan=plan.plan_id)
    assert (report.as_of, report.changes) == (NOW + 60 * DAY, 0)


async def test_a_paused_scope_can_be_planned_and_no_plan_applied(world: World):
    await fill(world)
    await world.dreams.pause()
    plan = await world.dreams.plan()
    assert plan.report.changes > 0
    report = await world.dreams.run(plan=plan.plan_id)
    assert report.outcome is Outcome.DEFERRED
    assert "dream resume" in str(report.reason)
    await world.dreams.resume()
    assert (await world.dreams.run(plan=plan.plan_id)).changes == plan.report.changes


async def test_a_plan_does_not_wait_for_a_dream_under_way(world: World):
    await fill(world)
    hold = await world.write(lambda unit: unit.leases.acquire("dream", holder="x", duration=DAY))
    assert (await world.dreams.plan()).report.changes > 0
    assert await world.write(lambda unit: unit.leases.renew(hold, duration=DAY))


async def test_a_plan_is_made_in_steps_and_applied_in_steps(world: World):
    world.options = DreamOptions(step_size=2, near_duplicates=NearDuplicateOptions(max_entries=2))
    await fill(world)
    plan = await world.dreams.plan()
    report = await world.dreams.run(plan=plan.plan_id)
    assert of_pass(report, "near-duplicates").backlog == of_pass(plan.report, "near-duplicates").backlog > 0
    assert report.changes == plan.report.changes


async def test_a_forgotten_text_leaves_the_plans_too(world: World):
    entries = await world.add(TEA, TEA)
    plan = await world.dreams.plan()
    await world.write(lambda unit: unit.forget(entries[0].id))
    with pytest.raises(UnknownPlanError):
        await world.dreams.run(plan=plan.plan_id)


async def test_a_plan_survives_the_way_to_its_document_and_back(world: World):
    await fill(world)
    plan = await world.dreams.plan()
    document = plan.to_json()
    assert document["plan_id"] == plan.plan_id
    assert len(document["changes_planned"]) == len(plan.rows)
    again = Plan.from_content(plan.plan_id, plan.created_at, plan.report, plan.content())
    assert planned(again) == planned(plan)
    assert again.content() == plan.content()
