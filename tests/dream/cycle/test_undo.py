import orjson
import pytest
from dreaming import DAY, NOW, World, codes, of_pass

from agentcore.domain import Status, Trust
from agentcore.domain.actor import Actor, ActorKind
from agentcore.errors import UnknownRecordError
from agentcore.stores.acting import acting_as
from dream.domain import Outcome, RunKind, RunReport
from dream.errors import NothingToRestoreError, UnknownChangeError, UnknownPassError, UnknownRunError
from dream.options import DreamOptions

TEA = "Ana likes tea"
RYE = "Ben bakes rye"


async def pairs(world: World) -> tuple[RunReport, bytes, bytes]:
    """Two pairs of copies, dreamt about; the export before and after."""
    await world.add(TEA, RYE, TEA, RYE)
    before = await world.export()
    run = await world.dreams.run()
    return run, before, await world.export()


def refused(report: RunReport) -> list[str]:
    return codes(report.passes[0])


async def test_an_undo_brings_the_export_back_byte_for_byte(world: World):
    run, before, after = await pairs(world)
    assert before != after
    undone = await world.dreams.undo(run.run_id)
    assert await world.export() == before
    assert (undone.kind, undone.target, undone.changes) == (RunKind.UNDO, run.run_id, run.changes)
    assert refused(undone) == []


async def test_versions_go_on_growing_through_an_undo(world: World):
    run, _, _ = await pairs(world)
    dreamt = {entry.id: entry.version for entry in await world.entries()}
    await world.dreams.undo(run.run_id)
    assert all(entry.version > dreamt[entry.id] for entry in await world.entries())


async def test_an_undo_of_an_undo_brings_the_changes_and_the_cursors_back(world: World):
    run, before, after = await pairs(world)
    expected = [after, before, after]
    target = await world.dreams.undo(run.run_id)
    for state in expected:
        target = await world.dreams.undo(target.run_id)
        assert await world.export() == state


async def test_what_was_taken_back_is_not_done_again_and_what_was_brought_back_may_be(world: World):
    run, _, _ = await pairs(world)
    first = await world.dreams.undo(run.run_id)
    assert (await world.dreams.run()).changes == 0
    second = await world.dreams.undo(first.run_id)
    third = await world.dreams.undo(second.run_id)
    assert third.changes == run.changes
    assert (await world.dreams.run()).changes == 0
    assert len(await world.active()) == 4


async def test_a_run_in_many_steps_is_taken_back_in_many_steps(world: World):
    world.options = DreamOptions(step_size=2)
    await world.add(*[TEA] * 6, RYE, RYE)
    before = await world.export()
    run = await world.dreams.run()
    await world.dreams.undo(run.run_id)
    assert await world.export() == before
    assert (await world.dreams.run()).changes == 0


async def test_undoing_twice_says_that_nothing_was_left_to_do(world: World):
    run, before, _ = await pairs(world)
    await world.dreams.undo(run.run_id)
    again = await world.dreams.undo(run.run_id)
    assert (again.outcome, again.changes, refused(again)) == (Outcome.UNCHANGED, 0, [])
    assert await world.export() == before
    assert (await world.dreams.run()).changes == 0


async def test_one_change_is_taken_back_and_the_others_stand(world: World):
    tea, rye, tea_copy, rye_copy = await world.add(TEA, RYE, TEA, RYE)
    run = await world.dreams.run()
    number = next(row.number for row in await world.dreams.diff(run.run_id) if row.record_id == rye_copy.id)
    undone = await world.dreams.undo(run.run_id, change=number)
    assert undone.changes == 2
    assert [entry.is_active for entry in await world.by_id([tea.id, tea_copy.id])] == [True, False]
    assert await world.by_id([rye.id, rye_copy.id]) == [rye, rye_copy]
    report = await world.dreams.run()
    assert (report.changes, codes(of_pass(report, "exact-fold"))) == (0, ["undone_by_person"])


async def test_changes_are_numbered_from_one_without_gaps_through_all_passes_of_a_run(world: World):
    old = {"status": Status.ARCHIVED, "status_reason": "old", "status_at": NOW - 100 * DAY}
    await world.add(world.entry("old", **old), TEA, RYE, TEA, RYE)
    run = await world.dreams.run()
    rows = await world.dreams.diff(run.run_id)
    assert sorted({row.number for row in rows}) == [1, 2, 3]
    assert [row.pass_name for row in rows] == ["retention", *["exact-fold"] * 4]


async def test_one_pass_is_taken_back(world: World):
    run, before, after = await pairs(world)
    undone = await world.dreams.undo(run.run_id, pass_name="near-duplicates")
    assert undone.changes == 0
    assert list(await world.positions()) == ["exact-fold"]
    await world.dreams.undo(undone.run_id)
    assert await world.export() == after
    assert (await world.dreams.undo(run.run_id, pass_name="exact-fold")).changes == 4
    assert [line for line in before.splitlines() if b'"entry"' in line] == [
        line for line in (await world.export()).splitlines() if b'"entry"' in line
    ]


async def test_what_changed_since_is_reported_and_left_alone(world: World):
    tea, rye, copy, rye_copy = await world.add(TEA, RYE, TEA, RYE)
    run = await world.dreams.run()
    folded = await world.get(copy)
    edited = await world.change(tea, content="Ana likes green tea")
    undone = await world.dreams.undo(run.run_id)
    assert [(item.code, item.detail) for item in undone.passes[0].refused] == [("changed_since", tea.id)]
    assert undone.changes == 2
    assert await world.by_id([tea.id, copy.id]) == [edited, folded]
    assert await world.by_id([rye.id, rye_copy.id]) == [rye, rye_copy]


async def test_a_copy_that_a_person_brought_back_and_edited_stays_as_the_person_left_it(world: World):
    tea, copy = await world.add(TEA, TEA)
    run = await world.dreams.run()
    await world.dreams.restore(copy.id)
    edited = await world.change(copy, content="Ana likes mint tea")
    undone = await world.dreams.undo(run.run_id)
    assert refused(undone) == ["changed_since"]
    assert await world.get(copy) == edited
    assert (undone.changes, (await world.get(tea)).reinforcement_count) == (0, 2)


async def test_a_copy_that_a_person_brought_back_already_is_no_obstacle(world: World):
    run, _, _ = await pairs(world)
    (archived, _) = await world.entries(Status.ARCHIVED)
    await world.dreams.restore(archived.id)
    undone = await world.dreams.undo(run.run_id)
    assert (undone.changes, refused(undone)) == (3, [])
    assert all(entry.reinforcement_count == 1 for entry in await world.active())


async def test_what_a_person_asked_to_forget_does_not_come_back(world: World):
    run, _, _ = await pairs(world)
    (tea,) = [entry for entry in await world.active() if entry.content == TEA]
    await world.write(lambda unit: unit.forget(tea.id))
    undone = await world.dreams.undo(run.run_id)
    assert refused(undone) == ["forgotten", "forgotten"]
    assert {entry.content for entry in await world.entries()} == {RYE}
    assert TEA.encode() not in b"".join(str(row).encode() for row in await world.journal())


async def test_when_a_copy_was_purged_meanwhile_the_survivor_keeps_what_it_took_over(world: World):
    tea, copy = await world.add(TEA, TEA, own_count=2)
    world.options = DreamOptions(retention=world.options.retention.model_copy(update={"history": 400 * DAY}))
    run = await world.dreams.run()
    world.clock.advance(91 * DAY)
    with acting_as(Actor(ActorKind.PERSON)):
        await world.dreams.run(passes=["retention"])
    undone = await world.dreams.undo(run.run_id)
    assert (refused(undone), undone.changes) == (["purged"], 0)
    assert copy.id in undone.passes[0].refused[0].detail
    assert (await world.get(tea)).reinforcement_count == 4


async def test_what_was_remembered_since_stays(world: World):
    run, before, _ = await pairs(world)
    entry = await world.memory.remember("Cem plays chess")
    await world.dreams.undo(run.run_id)
    await world.write(lambda unit: unit.entries.delete([entry.id]))
    assert await world.export() == before


async def test_a_run_is_named_by_the_beginning_of_its_id(world: World):
    run, before, _ = await pairs(world)
    with pytest.raises(UnknownRunError):
        await world.dreams.undo("nobody")
    await world.dreams.undo(run.run_id[:9])
    assert await world.export() == before


async def test_an_unknown_change_or_pass_is_refused(world: World):
    run, _, after = await pairs(world)
    with pytest.raises(UnknownChangeError, match="dream diff"):
        await world.dreams.undo(run.run_id, change=9)
    with pytest.raises(UnknownPassError):
        await world.dreams.undo(run.run_id, pass_name="nonsense")
    assert await world.export() == after
    assert len(await world.dreams.runs()) == 1


async def test_an_older_run_is_taken_back_below_a_newer_one(world: World):
    tea, copy = await world.add(TEA, TEA)
    older = await world.dreams.run()
    await world.add(RYE, RYE, created_at=NOW + DAY)
    newer = await world.dreams.run()
    assert (await world.dreams.undo(older.run_id)).changes == 2
    assert await world.by_id([tea.id, copy.id]) == [tea, copy]
    assert (await world.dreams.undo(newer.run_id)).changes == 2
    assert len(await world.active()) == 4
    assert (await world.dreams.run()).changes == 0


async def test_what_a_pass_looked_at_since_stays_looked_at_when_an_older_run_is_taken_back(world: World):
    tea, copy = await world.add(TEA, TEA)
    older = await world.dreams.run()
    await world.add(RYE, "Ben bakes oats", created_at=NOW + DAY)
    await world.dreams.run()
    await world.dreams.undo(older.run_id)
    lines = map(orjson.loads, (await world.export()).splitlines())
    waiting = {line["id"] for line in lines if line["kind"] == "pending" and line["reader"] == "exact-fold"}
    assert waiting == {tea.id, copy.id}


async def test_a_survivor_that_took_over_more_in_a_later_run_keeps_it(world: World):
    tea, first = await world.add(TEA, TEA)
    older = await world.dreams.run()
    (second,) = await world.add(TEA, created_at=NOW + DAY)
    newer = await world.dreams.run()
    assert refused(await world.dreams.undo(older.run_id)) == ["changed_since"]
    assert not (await world.get(first)).is_active
    assert (await world.get(tea)).reinforcement_count == 3
    assert (await world.dreams.run()).changes == 0
    assert refused(await world.dreams.undo(newer.run_id)) == []
    assert (await world.get(second)).is_active
    assert refused(await world.dreams.undo(older.run_id)) == []
    assert await world.by_id([tea.id, first.id]) == [tea, first]
    assert (await world.dreams.run()).changes == 0


async def test_a_text_that_a_person_changed_before_it_was_read_is_read_once_it_is_back(world: World):
    (tea,) = await world.add(TEA)
    edited = await world.dreams.desk.edit(tea.id, content=RYE)
    await world.dreams.run()
    undone = await world.dreams.undo(edited.run_id)
    assert (await world.dreams.status()).backlog == {"exact-fold": 1, "near-duplicates": 1}
    await world.dreams.undo(undone.run_id)
    assert (await world.dreams.status()).backlog == {}


async def test_an_undo_is_listed_with_what_it_took_back(world: World):
    run, _, _ = await pairs(world)
    undone = await world.dreams.undo(run.run_id)
    assert [one.kind.value for one in await world.dreams.runs()] == ["undo", "dream"]
    there = {(row.record_id, row.before, row.after) for row in await world.dreams.diff(run.run_id)}
    back = {(row.record_id, row.after, row.before) for row in await world.dreams.diff(undone.run_id)}
    assert there == back


async def test_a_paused_scope_can_still_be_put_right(world: World):
    run, before, _ = await pairs(world)
    await world.dreams.pause()
    await world.dreams.undo(run.run_id)
    assert await world.export() == before


# Restore.


async def test_a_restored_entry_is_as_it_was_and_is_new_to_the_passes(world: World):
    _, copy = await world.add(TEA, TEA)
    await world.dreams.run()
    report = await world.dreams.restore(copy.id)
    assert (report.kind, report.target, report.changes) == (RunKind.RESTORE, copy.id, 1)
    assert await world.get(copy) == copy
    assert (await world.dreams.status()).backlog == {"exact-fold": 1, "near-duplicates": 1}
    assert (await world.dreams.run()).changes == 0
    assert (await world.get(copy)).is_active


async def test_a_restore_can_be_taken_back(world: World):
    _, copy = await world.add(TEA, TEA)
    await world.dreams.run()
    before = await world.export()
    report = await world.dreams.restore(copy.id)
    await world.dreams.undo(report.run_id)
    assert await world.export() == before


async def test_what_cannot_be_restored_leaves_no_trace_of_the_attempt(world: World):
    (tea,) = await world.add(TEA)
    with pytest.raises(NothingToRestoreError, match="active already"):
        await world.dreams.restore(tea.id)
    with pytest.raises(UnknownRecordError):
        await world.dreams.restore("nobody")
    assert await world.dreams.runs() == []
    assert (await world.dreams.status()).interrupted is None


async def test_of_several_copies_the_restored_one_stays_and_the_others_stay_folded(world: World):
    tea, *copies = await world.add(TEA, TEA, TEA, TEA)
    await world.dreams.run()
    await world.dreams.restore(copies[1].id)
    await world.add(TEA, created_at=NOW + DAY)
    await world.dreams.run()
    assert {entry.id for entry in await world.active()} == {tea.id, copies[1].id}


async def test_an_archived_page_restored_by_a_person_keeps_its_own_trust(world: World):
    _, page = await world.add(TEA, world.entry(TEA, trust=Trust.UNTRUSTED, created_at=NOW + DAY))
    await world.dreams.run()
    await world.dreams.restore(page.id)
    assert (await world.get(page)).trust is Trust.UNTRUSTED
