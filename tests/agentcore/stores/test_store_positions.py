"""Places in the order of arrival: people's writes get the next one, a dream's and an undo's get none."""

import dataclasses
from typing import Any

import pytest
from sqlalchemy import Table, select

from agentcore.domain import Status
from agentcore.stores import Origin, ReadView
from agentcore.stores.sql import SqlStorage, entries, skills, turns
from agentcore.testing.contracts.samples import SCOPE, START, a_skill, a_turn, an_entry

PEOPLE = (Origin.HOST, Origin.IMPORT)
MACHINES = (Origin.DREAM, Origin.UNDO)


async def positions(storage: SqlStorage, table: Table) -> dict[str, int]:
    def read(view: ReadView) -> dict[str, int]:
        return {row.id: row.position for row in view.transaction.connection.execute(select(table))}

    return await storage.read(SCOPE, read)


@pytest.mark.parametrize("origin", PEOPLE)
async def test_each_record_of_people_has_a_place_of_its_own(storage: SqlStorage, origin: Origin):
    for name in "ab":
        await storage.write(
            SCOPE,
            lambda unit, name=name: (
                unit.entries.add([an_entry(name), an_entry(name * 2)]),
                unit.turns.add([a_turn(name), a_turn(name * 2)]),
                unit.skills.add(a_skill(name, name)),
            ),
            origin=origin,
        )
    found = [position for table in (entries, turns, skills) for position in (await positions(storage, table)).values()]
    assert sorted(found) == list(range(1, 11))


@pytest.mark.parametrize("origin", MACHINES)
async def test_no_record_of_a_machine_has_a_place(storage: SqlStorage, origin: Origin):
    await storage.write(
        SCOPE,
        lambda unit: (unit.entries.add([an_entry("a")]), unit.turns.add([a_turn("a")]), unit.skills.add(a_skill("a"))),
        origin=origin,
    )
    for table in (entries, turns, skills):
        assert await positions(storage, table) == {"a": 0}


@pytest.mark.parametrize(
    ("origin", "change", "moves"),
    [
        (Origin.HOST, {"content": "1. Think."}, True),
        (Origin.HOST, {"name": "mail/write"}, True),
        (Origin.IMPORT, {"summary": "Write a mail."}, True),
        (Origin.HOST, {"last_used_at": START}, False),
        (Origin.HOST, {"status": Status.ARCHIVED, "status_at": START}, False),
        (Origin.DREAM, {"content": "1. Think."}, False),
        (Origin.UNDO, {"content": "1. Think."}, False),
    ],
)
async def test_a_skill_moves_on_when_people_change_what_it_says(
    storage: SqlStorage, origin: Origin, change: dict[str, Any], moves: bool
):
    before = a_skill("a")
    await storage.write(SCOPE, lambda unit: unit.skills.add(before))
    after = dataclasses.replace(before, **change)
    await storage.write(SCOPE, lambda unit: unit.skills.replace(before, after), origin=origin)
    assert await positions(storage, skills) == {"a": 2 if moves else 1}


async def test_a_consumed_turn_keeps_its_place(storage: SqlStorage):
    await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("a"), a_turn("b")]))
    await storage.write(SCOPE, lambda unit: unit.turns.mark_consumed(["a"], START))
    assert await positions(storage, turns) == {"a": 1, "b": 2}


async def test_places_are_never_given_twice(storage: SqlStorage):
    """Not even after the newest is deleted: a cursor may stand on it."""
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a"), an_entry("b")]))
    await storage.write(SCOPE, lambda unit: unit.entries.delete(["b"]))
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("c")]))
    assert await positions(storage, entries) == {"a": 1, "c": 3}
