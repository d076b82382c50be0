"""A query about a time finds what held then, though something else took its place since."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from test_recall import ANA, BEN, NOON, add, change, entry, found, opened

from agentcore.domain import MemoryEntry, RecallFilter, Status, SubjectTime, revived, superseded
from agentcore.recall import Recall, RecallOptions
from agentcore.stores import UnitOfWork
from agentcore.stores.sql import SqlStorage


def home(name: str, city: str, said: str, time: str | None = None, **fields: Any) -> MemoryEntry:
    at = datetime.fromisoformat(said).replace(tzinfo=UTC)
    about = None if time is None else SubjectTime.parse(time)
    return entry(name, f"Ana lives in {city}", created_at=at, subject_time=about, **fields)


async def moved(storage: SqlStorage, old: str, new: str) -> None:
    def work(unit: UnitOfWork) -> None:
        before, by = unit.entries.get(old), unit.entries.get(new)
        assert before is not None
        assert by is not None
        unit.entries.replace([(before, superseded(before, by=by, reason="She moved.", at=NOON))])

    await storage.write(ANA, work)


async def asked(recall: Recall, about: str, query: str = "where does Ana live", **where: Any) -> list[str]:
    return await found(recall, query, where=RecallFilter(about=SubjectTime.parse(about), **where))


@pytest.mark.parametrize(
    ("lisbon", "faro"),
    [("2022-03", "2024-01"), (None, None), ("2022-03..?", None)],
    ids=["dated", "by when they were said", "one dated"],
)
async def test_a_fact_that_changed_twice_is_found_for_each_of_its_times(lisbon: str | None, faro: str | None):
    async with opened() as (storage, recall):
        await add(storage, home("porto", "Porto", "2020-05-01"))
        await add(storage, home("lisbon", "Lisbon", "2022-03-10", lisbon), home("faro", "Faro", "2024-01-05", faro))
        await moved(storage, "porto", "lisbon")
        await moved(storage, "lisbon", "faro")
        assert await asked(recall, "2021") == ["porto"]
        assert await asked(recall, "2023-02") == ["lisbon"]
        assert await asked(recall, "2024-06") == ["faro"]
        assert await asked(recall, "2019") == []
        assert set(await asked(recall, "2021..2024")) == {"porto", "lisbon", "faro"}
        assert await found(recall, "where does Ana live") == ["faro"]


async def test_what_is_superseded_while_its_index_is_open_is_found_and_found_no_more_once_revived():
    async with opened() as (storage, recall):
        await add(storage, home("porto", "Porto", "2020-05-01"), home("lisbon", "Lisbon", "2022-03-10"))
        assert await asked(recall, "2021") == await asked(recall, "2023") == []
        await moved(storage, "porto", "lisbon")
        assert await asked(recall, "2021") == ["porto"]
        assert await asked(recall, "2023") == ["lisbon"]
        await add(storage, home("faro", "Faro", "2024-01-05"))
        await moved(storage, "lisbon", "faro")
        assert await asked(recall, "2023") == ["lisbon"]
        assert await asked(recall, "2025") == ["faro"]
        for name in ("lisbon", "porto"):
            await revive(storage, name)
        assert await asked(recall, "2021") == await asked(recall, "2023") == await asked(recall, "2025") == []


async def revive(storage: SqlStorage, name: str) -> None:
    def work(unit: UnitOfWork) -> None:
        before = unit.entries.get(name)
        assert before is not None
        unit.entries.replace([(before, revived(before))])

    await storage.write(ANA, work)


async def test_other_conditions_hold_of_former_entries_too():
    async with opened() as (storage, recall):
        old = home("porto", "Porto", "2020-05-01", category="people/ana", tags=("home",))
        await add(storage, old, home("lisbon", "Lisbon", "2022-03-10"))
        await moved(storage, "porto", "lisbon")
        assert await asked(recall, "2021", category="people") == ["porto"]
        assert await asked(recall, "2021", category="places") == await asked(recall, "2021", tags=("work",)) == []
        assert await asked(recall, "2021", created_after=NOON - timedelta(days=9)) == []


async def test_what_was_archived_or_superseded_without_an_end_is_not_found():
    async with opened() as (storage, recall):
        await add(storage, *(home(name, name, "2020-05-01", "2021") for name in ("one", "two", "three")))
        await add(storage, home("four", "four", "2021-08-01", "2021-08"))
        await change(storage, "one", status=Status.ARCHIVED, status_reason="a copy", status_at=NOON)
        await change(storage, "two", status=Status.SUPERSEDED, status_reason="moved", status_at=NOON)
        await moved(storage, "three", "four")
        assert set(await asked(recall, "2021")) == {"three", "four"}


async def test_what_is_forgotten_is_not_found_for_its_time_either():
    async with opened() as (storage, recall):
        await add(storage, home("porto", "Porto", "2020-05-01"), home("lisbon", "Lisbon", "2022-03-10"))
        await moved(storage, "porto", "lisbon")
        assert await asked(recall, "2021") == ["porto"]
        await storage.write(ANA, lambda unit: unit.forget("porto"))
        assert await asked(recall, "2021") == []


async def test_former_entries_stay_within_their_scope_and_are_explained():
    async with opened(options=RecallOptions(phrase_weight=0.5)) as (storage, recall):
        await add(storage, home("porto", "Porto", "2020-05-01"), home("lisbon", "Lisbon", "2022-03-10"))
        await add(storage, replace(home("porto", "Porto", "2020-05-01", "2021"), scope=BEN))
        await moved(storage, "porto", "lisbon")
        where = RecallFilter(about=SubjectTime.parse("2021"))
        ((hit, why),) = await recall.explain(ANA, "Ana in Porto", where=where)
        assert (hit.entry.id, hit.entry.status_reason, str(hit.entry.valid_until)) == (
            "porto", "She moved.", "2022-03-10",
        )  # fmt: skip
        assert {term.term for term in why.terms} >= {"porto"}
        assert await found(recall, "Porto", BEN, where=where) == ["porto"]
