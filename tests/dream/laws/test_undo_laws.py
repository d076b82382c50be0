"""Laws 3, 11 and 12: undo is the inverse and holds; unchanged input costs nothing; order of arrival changes nothing."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import orjson
import pytest
from dreaming import World, codes
from hypothesis import given, strategies as st
from memories import TEXTS, Spec, fill, laboratory, memories, options
from wishing import merging

from agentcore.domain import Status, fold_key
from agentcore.domain.records import RecordKind
from dream.cycle.hypotheses import Resolution
from dream.domain import JournalRow, Outcome, RunKind, RunReport, image_text
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


histories = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("run", "merge")), st.just(0)),
        st.tuples(st.sampled_from(("take back", "take back", "forget", "say", "edit", "restore")), st.integers(0, 20)),
    ),
    min_size=3,
    max_size=12,
)
MERGED = "Ana likes tea and rye."


async def images(world: World) -> dict[str, str | None]:
    """What stands there of every record, questions that a dream asked among them."""
    return await world.storage.read(world.scope, lambda view: {one.id: image_text(one) for one in view.records()})


async def take_back(world: World, run_id: str, forgotten: dict[str, datetime]) -> None:
    """Undo a run, and see that each change set is taken back to the byte, or left alone for the right reason."""
    state, refused = await images(world), list[str]()
    rows = await world.dreams.diff(run_id)
    for _, group in groupby(reversed(rows), key=lambda row: row.number):
        members = list(group)
        barred = [
            (row.record_id, bar) for row in members if (bar := obstacle(row, state.get(row.record_id), forgotten))
        ]
        refused += [bar for _, bar in barred]
        if not barred:
            state.update({row.record_id: row.before for row in members})
    undone = await world.dreams.undo(run_id)
    assert sorted(codes(undone.passes[0])) == sorted(refused)
    assert await images(world) == {entry_id: image for entry_id, image in state.items() if image is not None}


def obstacle(row: JournalRow, present: str | None, forgotten: dict[str, datetime]) -> str | None:
    """Return why a record must not come back, None if it may."""
    if row.scrubbed:
        return "forgotten"
    key, shown = (None if one is None else said_in(one) for one in (row.before, present))
    if key is not None and key in forgotten and key != shown and row.recorded_at <= forgotten[key]:
        return "forgotten"
    return None if present in (row.before, row.after) else "changed_since"


def said_in(image: str) -> str | None:
    content = orjson.loads(image).get("content")
    return None if content is None else fold_key(content)


@laboratory(0.25)
@given(memory=memories, history=histories)
async def test_an_undo_or_redo_after_a_forget_takes_each_change_back_to_the_byte_or_leaves_it_whole(
    world: World, memory: list[Spec], history: list[tuple[str, int]]
):
    one = world.elsewhere()
    await fill(one, memory)
    forgotten: dict[str, datetime] = {}
    for deed, what in history:
        one.clock.advance(timedelta(minutes=1))
        entries, runs = await one.entries(), [run for run in await one.dreams.runs() if run.changes]
        if deed == "merge":
            await one.run_passes(merging(one, MERGED))
        elif deed == "say":
            await one.memory.remember((MERGED, *TEXTS)[what % (len(TEXTS) + 1)])
        elif deed == "take back" and runs:
            await take_back(one, runs[what % len(runs)].run_id, forgotten)
        elif deed == "forget" and entries:
            gone = await one.memory.forget(entries[what % len(entries)].id)
            forgotten |= {fold_key(entry.content): one.clock.now() for entry in entries if entry.id in gone.removed}
            forgotten = {key: at for key, at in forgotten.items() if await is_gone(one, key) or at < one.clock.now()}
        elif deed not in {"take back", "forget"}:
            await happen(one, deed, what, what)
        known = {entry.id for entry in await one.entries()}
        assert {entry.successor for entry in await one.entries()} <= {None, *known}


async def is_gone(world: World, key: str) -> bool:
    return all(fold_key(entry.content) != key for entry in await world.entries())


async def brought_together(world: World, run: RunReport) -> list[set[str]]:
    """The entries of each change set of a run."""
    sets: dict[int, set[str]] = {}
    for row in await world.dreams.diff(run.run_id):
        if row.kind is RecordKind.ENTRY:
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
    assert without_ids(await other.export()) == without_ids(await one.export())


def without_ids(exported: bytes) -> list[dict[str, Any]]:
    """What was exported, but for the ids of questions: those are made at random."""
    lines = [orjson.loads(line) for line in exported.splitlines()]
    return [{**line, "id": ""} if line["kind"] == "question" else line for line in lines]


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


Deed = Callable[[], Awaitable[object]]


async def guessed(world: World, text: str) -> Callable[[str, str], Awaitable[Resolution]]:
    """Propose a hypothesis by hand; return how a person decides about it."""
    sources = [f"entry:{one.id}" for one in await world.add(text, f"The hall is where {text}")]
    one = await world.dreams.hypotheses.propose("It may be so.", what_if=f"What if {text}?", sources=sources)
    return lambda decision, words: world.dreams.hypotheses.resolve(one.id, decision, feedback=words)


async def about_a_hypothesis(world: World, decision: str) -> Deed:
    decide = await guessed(world, "Bo sings")
    return lambda: decide(decision, "I asked her. Ana works at Acme.")


async def about_a_claim(world: World, what: str) -> Deed:
    (said,) = await world.add("Ana works at Acme.")
    claims = world.dreams.claims

    async def take() -> str:
        return (await claims.assert_("Ana", "works_at", "Acme", source=f"entry:{said.id}")).id  # noqa: PT009

    if what == "assert":
        return take
    claim = await take()
    if what == "verify":
        return lambda: claims.verify(claim)
    await claims.verify(claim)
    return lambda: getattr(claims, what)(claim)


async def about_a_contradiction(world: World, keep: str) -> Deed:
    first = await (await guessed(world, "Bo sings"))("promote_candidate", "Ana works at Globex.")
    other = await (await guessed(world, "Rui plays"))("promote_candidate", "Ana works at Acme.")
    (asked,) = await world.dreams.desk.questions()
    fact = first.claims[0].fact
    assert fact is not None
    held = {"claim": other.claims[0].claim.id, "fact": fact.id}.get(keep)
    return lambda: world.dreams.desk.answer(asked.question.id, keep=held, dismiss=held is None)


async def about_an_entry(world: World, what: str) -> Deed:
    tea, rye = await world.add("Ana drinks tea.", "Ana bakes rye.")
    desk = world.dreams.desk
    if what == "restore":
        await desk.archive(tea.id)
    deeds_by_name: dict[str, Deed] = {
        "edit": lambda: desk.edit(tea.id, content="Ana drinks coffee."),
        "merge": lambda: desk.merge(tea.id, rye.id, text="Ana drinks tea and bakes rye."),
        "restore": lambda: world.dreams.restore(tea.id),
    }
    return deeds_by_name[what]


@pytest.mark.parametrize(
    ("begin", "what"),
    [
        *((about_a_hypothesis, one) for one in ("promote_candidate", "reinforce", "stale", "reject")),
        *((about_a_claim, one) for one in ("assert", "verify", "promote", "reject")),
        *((about_a_contradiction, one) for one in ("claim", "fact", "nobody")),
        *((about_an_entry, one) for one in ("edit", "merge", "restore")),
    ],
)
async def test_what_a_person_did_is_taken_back_and_done_again_to_the_byte_whoever_read_it_meanwhile(
    world: World, begin: Callable[[World, str], Awaitable[Deed]], what: str
):
    async def read() -> None:
        await world.dreams.run(passes=["exact-fold"])

    do = await begin(world, what)
    await read()
    before = await world.export()
    world.clock.advance(timedelta(minutes=1))
    await do()
    after = await world.export()
    assert after != before
    run = (await world.dreams.runs())[0]
    run = await expect_back_and_forth(world, run, after, before)
    await read()
    settled = await world.export()
    assert b"pending" not in settled
    await expect_back_and_forth(world, run, settled, before)


async def expect_back_and_forth(world: World, run: RunReport, after: bytes, before: bytes) -> RunReport:
    """Undo a run, and that undo; return the run that did it all again."""
    for expected in (before, after):
        run = await world.dreams.undo(run.run_id)
        assert run.passes[0].refused == ()
        assert await world.export() == expected
    return run
