"""Support: a change that rests on nothing is found in the stores, whatever the run says of itself."""

from dataclasses import replace
from typing import Any

import orjson
import pytest
from dreaming import World

from agentcore.domain import MemoryEntry, SourceRef, Status, Trust, Turn, kind_of, to_image
from dream.domain import JournalRow
from dream.interfaces.benchmark import kinds_of_change, unsupported_changes


def row(world: World, before: MemoryEntry | None, after: MemoryEntry | None) -> JournalRow:
    record = after or before
    assert record is not None
    return JournalRow(
        scope=world.scope,
        run_id="r",
        step=1,
        pass_name="a-pass",
        number=1,
        operation="merge",
        kind=kind_of(record),
        record_id=record.id,
        before=None if before is None else orjson.dumps(to_image(before)).decode(),
        after=None if after is None else orjson.dumps(to_image(after)).decode(),
        reason="because",
        fingerprint=None,
        recorded_at=world.clock.now(),
        scrubbed=False,
    )


async def faults(world: World, *rows: JournalRow) -> dict[str, int]:
    return dict(await world.storage.read(world.scope, lambda view: unsupported_changes(view, rows)))


async def said(world: World) -> str:
    now = world.clock.now()
    turn = Turn(
        id=world.ids.new(),
        scope=world.scope,
        session_id="s",
        role="user",
        content="Hi",
        occurred_at=now,
        recorded_at=now,
    )
    await world.write(lambda unit: unit.turns.add([turn]))
    return f"turn:{turn.id}"


async def test_an_entry_with_true_sources_is_supported(world: World):
    (old,) = await world.add("Ana likes tea")
    sources = (SourceRef.parse(await said(world)), SourceRef.parse(f"entry:{old.id}"))
    assert await faults(world, row(world, None, world.entry("Ana likes green tea", sources=sources))) == {}


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({}, "no_source"),
        ({"sources": (SourceRef.parse("turn:never-said"),)}, "unknown_source"),
        ({"sources": (SourceRef.parse("entry:never-stored"),)}, "unknown_source"),
    ],
)
async def test_an_entry_from_nowhere_is_unsupported(world: World, fields: dict[str, Any], fault: str):
    assert await faults(world, row(world, None, world.entry("Ana moved to Mars", **fields))) == {fault: 1}


async def test_an_entry_trusted_more_than_its_source_is_unsupported(world: World):
    (rumour,) = await world.add("Ana may like tea", trust=Trust.UNTRUSTED)
    made = world.entry("Ana likes tea", sources=(SourceRef.parse(f"entry:{rumour.id}"),))
    assert await faults(world, row(world, None, made)) == {"trust_raised": 1}


async def test_a_supersession_needs_a_successor_that_is_there(world: World):
    old, new = await world.add("Ana lives in Rome", "Ana lives in Lisbon")
    gone = replace(old, status=Status.SUPERSEDED, status_reason="moved")
    assert await faults(world, row(world, old, replace(gone, successor=new.id))) == {}
    assert await faults(world, row(world, old, gone)) == {"no_successor": 1}
    assert await faults(world, row(world, old, replace(gone, successor="nobody"))) == {"unknown_successor": 1}


async def test_a_record_removed_is_unsupported(world: World):
    (old,) = await world.add("Ana lives in Rome")
    assert await faults(world, row(world, old, None)) == {"removed": 1}


async def test_changes_are_counted_by_what_became_of_the_record(world: World):
    (old,) = await world.add("Ana lives in Rome")
    archived = replace(old, status=Status.ARCHIVED, status_reason="old")
    rows = [
        row(world, None, old),
        row(world, old, None),
        row(world, old, archived),
        row(world, archived, old),
        row(world, old, replace(old, content="Ana lives in Roma")),
        row(world, old, replace(old, base=0.9)),
    ]
    kinds = ("added", "removed", "archived", "restored", "rewritten", "updated")
    assert kinds_of_change(rows) == {f"entry_{kind}": 1 for kind in kinds}
