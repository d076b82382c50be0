"""Conclusions stay true: at no point of any history is one live that rests on less than it needs."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

from concluding import Concluding, concluded, expect_true, pattern, premise_of
from dreaming import NOW, World
from hypothesis import given, strategies as st
from memories import laboratory

from agentcore.domain import MemoryEntry, SourceKind, Status
from agentcore.domain.validity import superseded
from agentcore.testing import SequentialIds
from dream.interfaces.exchange import Format, import_file

TEXTS = ("Ana moved a meeting", "Ana moved a date", "Ana moved the talk", "Ana was late", "Ana was in time", "Ana ran")
picks = st.lists(st.integers(0, 30), min_size=1, max_size=4)
deeds = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("deduce", "find a pattern")), picks),
        st.tuples(st.sampled_from(("remember", "supersede", "forget", "restore", "edit", "retire", "merge")), picks),
        st.tuples(st.sampled_from(("dream", "undo", "undo one")), picks),
    ),
    min_size=3,
    max_size=14,
)


def chosen(entries: list[MemoryEntry], picks: list[int]) -> list[MemoryEntry]:
    return list({entry.id: entry for entry in (entries[pick % len(entries)] for pick in picks)}.values())


async def conclude(world: World, deed: str, picks: list[int], number: int) -> None:
    """Draw a conclusion from up to four active entries, or none if there are too few."""
    some = chosen([one for one in await world.active() if one.pattern is None], picks)
    if deed == "deduce" and some:
        past = {"past": picks[0] % 3 == 0}
        new = concluded(world, f"It follows {number}", [premise_of(one, **past) for one in some])
        await world.run_passes(Concluding([new]))
    elif deed == "find a pattern" and len(some) > 1:
        resting = [premise_of(one, against=place == 3) for place, one in enumerate(some)]
        await world.run_passes(Concluding([pattern(world, f"A pattern {number}", resting)]))


async def happen(world: World, deed: str, picks: list[int], number: int) -> None:
    active, runs = await world.active(), [run for run in await world.dreams.runs() if run.changes]
    retired = [entry for entry in await world.entries() if not entry.is_active and not entry.lost_premises]
    if deed in {"deduce", "find a pattern"}:
        await conclude(world, deed, picks, number)
    elif deed == "remember":
        await world.memory.remember(f"{TEXTS[picks[0] % len(TEXTS)]}{' again' * (picks[0] % 2)}")
        await world.add(TEXTS[picks[-1] % len(TEXTS)])
    elif deed == "dream":
        await world.dreams.run()
    elif deed in {"undo", "undo one"} and runs:
        run = runs[picks[0] % len(runs)]
        rows = await world.dreams.diff(run.run_id)
        await world.dreams.undo(run.run_id, change=rows[-1].number if deed == "undo one" else None)
    elif deed == "restore" and retired:
        await restore(world, retired[picks[0] % len(retired)])
    elif active:
        await meddle(world, deed, active, picks)


async def restore(world: World, entry: MemoryEntry) -> None:
    if not entry.is_conclusion:
        await world.dreams.restore(entry.id)


async def meddle(world: World, deed: str, active: list[MemoryEntry], picks: list[int]) -> None:
    entry, other = active[picks[0] % len(active)], active[picks[-1] % len(active)]
    if deed == "forget":
        await world.memory.forget(entry.id)
    elif deed == "merge" and entry.id != other.id and not (entry.is_conclusion or other.is_conclusion):
        text = f"{entry.content} and {other.content}" if picks[0] % 2 else None
        await world.dreams.desk.merge(entry.id, other.id, text=text)
    elif deed == "edit":
        await world.memory.update(entry.id, content=f"{entry.content} indeed")
    elif deed == "retire":
        await world.change(entry, status=Status.ARCHIVED, status_reason="Old.", status_at=world.clock.now())
    elif deed == "supersede" and entry.id != other.id:
        gone = superseded(entry, by=other, reason="It changed.", at=world.clock.now())
        fields = ("status", "status_reason", "successor", "status_at", "valid_until")
        await world.change(entry, **{name: getattr(gone, name) for name in fields})


async def fill(world: World) -> None:
    for place, text in enumerate(TEXTS):
        await world.add(text, created_at=NOW - timedelta(days=9 - place))


@laboratory(0.5)
@given(deeds=deeds)
async def test_no_live_conclusion_ever_rests_on_less_than_it_needs(world: World, deeds: list[tuple[str, Any]]):
    one = world.elsewhere()
    await fill(one)
    for number, (deed, picks) in enumerate(deeds):
        one.clock.advance(timedelta(minutes=7))
        await happen(one, deed, picks, number)
        await expect_true(one)
        await expect_no_circle(one)


async def expect_no_circle(world: World) -> None:
    above = {
        entry.id: {ref.id for ref in entry.sources if ref.kind is SourceKind.ENTRY and entry.is_conclusion}
        for entry in await world.entries()
    }
    for entry_id, below in above.items():
        seen, ahead = set[str](), set(below)
        while ahead:
            seen |= ahead
            ahead = {one for each in ahead for one in above.get(each, ())} - seen
        assert entry_id not in seen


@laboratory(0.3)
@given(deeds=deeds, last=st.sampled_from(("deduce", "find a pattern", "dream")), some=picks)
async def test_the_undo_of_a_run_leaves_the_export_as_it_was_to_the_byte(
    world: World, deeds: list[tuple[str, Any]], last: str, some: list[int]
):
    one = world.elsewhere()
    await fill(one)
    for number, (deed, picks) in enumerate(deeds):
        await happen(one, deed, picks, number)
    before, known = await one.export(), len(await one.dreams.runs())
    await happen(one, last, some, 99)
    after = await one.export()
    if len(await one.dreams.runs()) == known:
        return
    undone = await one.dreams.undo((await one.dreams.runs())[0].run_id)
    assert await one.export() == before
    await one.dreams.undo(undone.run_id)
    assert await one.export() == after


@laboratory(0.2)
@given(deeds=deeds)
async def test_export_and_import_keep_every_conclusion_with_its_premises(
    world: World, deeds: list[tuple[str, Any]], tmp_path_factory: Any
):
    one, other = world.elsewhere(), world.elsewhere()
    await fill(one)
    for number, (deed, picks) in enumerate(deeds):
        await happen(one, deed, picks, number)
    path: Path = tmp_path_factory.mktemp("export") / "export.jsonl"
    header = b'{"format":"agentcore-dream/1","scope":"default/agent/agent"}\n'
    await asyncio.to_thread(path.write_bytes, header + await one.export())
    ids = SequentialIds("other")
    await import_file(other.storage, other.scope, path, file_format=Format.EXPORT, clock=other.clock, ids=ids)
    assert await other.export() == await one.export()
    await expect_true(other)
