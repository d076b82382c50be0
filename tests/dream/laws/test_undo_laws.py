"""Laws 3, 11 and 12: undo is the inverse and holds; unchanged input costs nothing; order of arrival changes nothing."""

from dataclasses import replace
from typing import Any

from dreaming import World
from hypothesis import given
from hypothesis import strategies as st
from memories import Spec, fill, laboratory, memories, options

from agentcore.domain.memory import Status
from dream.domain.report import Outcome, RunKind, RunReport
from dream.options import DreamOptions

deeds = st.lists(
    st.one_of(
        st.tuples(st.just("bring"), st.lists(memories.flatmap(st.sampled_from), max_size=3)),
        st.tuples(st.sampled_from(("run", "undo", "undo-one", "plan")), st.integers(0, 5)),
        st.tuples(st.sampled_from(("remember", "edit", "restore", "forget", "retime")), st.integers(0, 20)),
    ),
    max_size=6,
)


async def happen(world: World, deed: str, what: Any, number: int) -> None:
    """Let a person, or a dream, do something."""
    entries = await world.entries()
    runs = [run for run in await world.dreams.runs() if run.changes]
    if deed == "bring":
        await fill(world, what, prefix=f"n{number}-")
    elif deed == "run":
        await world.dreams.run()
    elif deed == "plan":
        await world.dreams.run(plan=(await world.dreams.plan()).plan_id)
    elif deed == "remember":
        await world.memory.remember("Ana likes tea", category="people/ana" if what % 2 else None)
    elif deed in {"undo", "undo-one"} and runs:
        run = runs[what % len(runs)]
        rows = await world.dreams.diff(run.run_id)
        change = rows[what % len(rows)].number if deed == "undo-one" else None
        await world.dreams.undo(run.run_id, change=change)
    elif deed in {"edit", "restore", "forget", "retime"} and entries:
        await meddle(world, deed, entries[what % len(entries)].id)


async def meddle(world: World, deed: str, entry_id: str) -> None:
    entry = await world.get(entry_id)
    if deed == "forget":
        await world.write(lambda unit: unit.forget(entry_id))
    elif deed == "restore" and not entry.is_active:
        await world.dreams.restore(entry_id)
    elif deed == "edit" and entry.is_active:
        await world.change(entry, content=f"{entry.content} indeed")
    elif deed == "retime" and entry.is_active:
        await world.memory.update(entry_id, subject_time="2019")


async def brought_together(world: World, run: RunReport) -> list[set[str]]:
    """The members of each change set of a run."""
    sets: dict[int, set[str]] = {}
    for row in await world.dreams.diff(run.run_id):
        sets.setdefault(row.number, set()).add(row.record_id)
    return list(sets.values())


async def root(world: World, entry_id: str) -> str:
    """The entry that says today what this one said."""
    entry = await world.get(entry_id)
    return entry_id if entry.is_active or entry.successor is None else await root(world, entry.successor)


@laboratory(0.25)
@given(memory=memories, deeds=deeds, tuning=options)
async def test_apply_and_undo_is_the_identity_and_holds(
    world: World, memory: list[Spec], deeds: list[tuple[str, Any]], tuning: DreamOptions
):
    one = world.elsewhere()
    one.options = tuning
    await fill(one, memory)
    for number, (deed, what) in enumerate(deeds):
        await happen(one, deed, what, number)
    before = await one.export()
    run = await one.dreams.run()
    after = await one.export()
    undone = await one.dreams.undo(run.run_id)
    assert await one.export() == before
    assert undone.passes[0].refused == ()
    again = await one.dreams.undo(undone.run_id)
    assert await one.export() == after
    await one.dreams.undo(again.run_id)
    assert await one.export() == before
    await one.dreams.run()
    for members in await brought_together(one, run):
        roots = [await root(one, member) for member in members]
        assert len(set(roots)) == len(roots)


@laboratory(0.25)
@given(memory=memories, deeds=deeds, tuning=options)
async def test_running_twice_is_running_once(
    world: World, memory: list[Spec], deeds: list[tuple[str, Any]], tuning: DreamOptions
):
    one = world.elsewhere()
    one.options = tuning
    await fill(one, memory)
    for number, (deed, what) in enumerate(deeds):
        await happen(one, deed, what, number)
    run = await one.dreams.run()
    while sum(done.backlog for done in run.passes):
        run = await one.dreams.run()
    settled, rows = await one.export(), len(await one.journal())
    again = await one.dreams.run()
    assert (again.outcome, again.changes) == (Outcome.UNCHANGED, 0)
    assert (await one.export(), len(await one.journal())) == (settled, rows)


@laboratory(0.25)
@given(memory=memories, data=st.data(), tuning=options)
async def test_the_order_of_arrival_changes_no_fold(
    world: World, memory: list[Spec], data: st.DataObject, tuning: DreamOptions
):
    # Equally old copies stand in the order of arrival, so here no two are.
    memory = [replace(spec, minutes=10 * spec.minutes + place) for place, spec in enumerate(memory)]
    order = data.draw(st.permutations(range(len(memory))))
    one, other = world.elsewhere(), world.elsewhere()
    other.options = tuning
    await fill(one, memory)
    entries = [spec.entry(other, f"e{place:02}") for place, spec in enumerate(memory)]
    await other.add(*(entries[place] for place in order))
    await one.dreams.run()
    report = await other.dreams.run()
    while sum(done.backlog for done in report.passes):
        report = await other.dreams.run()
    assert await other.export() == await one.export()


@laboratory(0.2)
@given(memory=memories, deeds=deeds)
async def test_a_plan_is_what_the_run_does(world: World, memory: list[Spec], deeds: list[tuple[str, Any]]):
    one = world.elsewhere()
    await fill(one, memory)
    for number, (deed, what) in enumerate(deeds):
        await happen(one, deed, what, number)
    before = await one.export()
    plan = await one.dreams.plan()
    assert await one.export() == before
    applied = await one.dreams.run(plan=plan.plan_id)
    planned = [(row.record_id, row.before, row.after) for row in plan.rows]
    assert [(row.record_id, row.before, row.after) for row in await one.dreams.diff(applied.run_id)] == planned
    assert (applied.kind, applied.changes) == (RunKind.PLAN, plan.report.changes)
    assert (await one.dreams.run()).changes == 0
    await one.dreams.undo(applied.run_id)
    assert await one.export() == before


@laboratory(0.25)
@given(memory=memories, deeds=deeds, tuning=options)
async def test_nobody_is_lost_and_nobody_counted_twice(
    world: World, memory: list[Spec], deeds: list[tuple[str, Any]], tuning: DreamOptions
):
    one = world.elsewhere()
    one.options = tuning
    await fill(one, memory)
    for number, (deed, what) in enumerate(deeds):
        await happen(one, deed, what, number)
    stored = {entry.id: entry for entry in await one.entries()}
    await one.dreams.run()
    for entry in await one.entries():
        assert entry.id in stored
        observed = {entry.id: entry.own_count, **dict(entry.absorbed)}
        assert entry.reinforcement_count == sum(observed.values())
        for name, count in entry.absorbed:
            assert name != entry.id
            assert name not in stored or count <= max(
                [stored[name].own_count, *(dict(other.absorbed).get(name, 0) for other in stored.values())]
            )
        if entry.status is Status.ARCHIVED and stored[entry.id].is_active:
            survivor = await one.get(str(entry.successor))
            assert survivor.is_active
            assert survivor.trust >= stored[survivor.id].trust or survivor.trust == stored[survivor.id].trust
