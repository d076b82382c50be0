"""With row-level security no statement of a scope reaches another's rows, whatever it forgets to ask for."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from sqlalchemy import Connection, Table, select, text, update
from sqlalchemy.exc import IntegrityError

from agentcore.domain import RecordKind, Scope
from agentcore.errors import StorageUnavailableError
from agentcore.stores.sql import SqlStorage
from agentcore.stores.sql.engines.row_security import OPEN_TABLES, ROLE_VARIABLE
from agentcore.stores.sql.schema import fan_outs, metadata, scopes
from agentcore.testing import ManualClock
from agentcore.testing.contracts import START
from agentcore.testing.contracts.samples import SAMPLES, a_turn, an_entry
from tests.postgres_server import SCOPED, Server

OWNERS = [Scope("acme", "agent", "ana"), Scope("acme", "agent", "bo"), Scope("umbrella", "agent", "ana")]
GUARDED = [table for table in metadata.sorted_tables if table not in OPEN_TABLES]
OF_SCOPE = [one for one in GUARDED if "scope_id" in one.c and one is not fan_outs]
OF_WORKSPACE = [one for one in GUARDED if one not in OF_SCOPE]


class UndoneError(Exception):
    """Ends a transaction whose statements must not last."""


@pytest.fixture(scope="module")
def tenants(postgres_server: Server, worker_id: str) -> Iterator[SqlStorage]:
    """A database in which each scope keeps something of every kind."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(ROLE_VARIABLE, SCOPED)
        storage = SqlStorage(postgres_server.database(f"tenants_{worker_id}"), clock=ManualClock(START))
    asyncio.run(storage.start())
    for owner in OWNERS:
        asyncio.run(storage.write(owner, keep_something))
    yield storage
    asyncio.run(storage.stop())


def keep_something(unit: Any) -> None:
    """Write a record of every kind, and what is kept beside records."""
    for kind, make in SAMPLES.items():
        unit.of_kind(kind).apply([(None, replace(make("a"), scope=unit.scope))])
    unit.settings.put("a", "a")
    unit.imports.record({"a": (RecordKind.ENTRY, "a")})
    unit.leases.acquire("a", holder="a", duration=timedelta(days=1))
    unit.fan_out.expect(["carla"])
    unit.forget("a")
    unit.of_kind(RecordKind.ENTRY).apply([(None, an_entry("b", scope=unit.scope))])


def rows_of(connection: Connection, table: Table) -> list[str]:
    return sorted(map(repr, connection.execute(select(table))))


def by_owner(view: Any) -> dict[tuple[str, Scope], list[str]]:
    """The rows of each table that are a scope's own, as the owner of the tables tells them apart."""
    connection: Connection = view.transaction.connection
    keys = {key: Scope(*names) for key, *names in connection.execute(select(*(scopes.c[name] for name in _NAMED)))}
    found: dict[tuple[str, Scope], list[str]] = {(table.name, owner): [] for table in GUARDED for owner in OWNERS}
    for table in GUARDED:
        for row in connection.execute(select(table)):
            if table in OF_SCOPE:
                found[table.name, keys[row.scope_id]].append(repr(row))
                continue
            for owner in OWNERS:
                found[table.name, owner] += [repr(row)] * (owner.workspace == row.workspace)
    return {place: sorted(rows) for place, rows in found.items()}


_NAMED = ("pk", "workspace", "observer", "observed")


@pytest.fixture(scope="module")
def before(tenants: SqlStorage) -> dict[tuple[str, Scope], list[str]]:
    return asyncio.run(tenants.read(None, by_owner))


def test_every_table_is_guarded_or_known_to_hold_no_memory(tenants: SqlStorage, before: Any):
    guarded = text("SELECT tablename FROM pg_tables WHERE schemaname = 'agentcore' AND rowsecurity")
    found = asyncio.run(tenants.read(None, lambda view: view.transaction.connection.execute(guarded).scalars().all()))
    assert set(found) == {one.name for one in GUARDED}
    filled = {table for (table, _), rows in before.items() if rows}
    assert len(filled) >= 20


@settings(max_examples=40)
@given(
    owner=st.sampled_from(OWNERS),
    table=st.sampled_from(GUARDED),
    deed=st.sampled_from(["SELECT * FROM {}", "TABLE {}", "UPDATE {} SET {} = {}", "DELETE FROM {}"]),
)
def test_no_statement_of_a_scope_sees_or_changes_what_another_keeps(
    tenants: SqlStorage, before: dict[tuple[str, Scope], list[str]], owner: Scope, table: Table, deed: str
):
    """The statements name no scope, as if each had forgotten its condition."""
    words = deed.format(f"agentcore.{table.name}", table.columns.keys()[-1], table.columns.keys()[-1])

    def work(unit: Any) -> None:
        connection: Connection = unit.transaction.connection
        try:
            done = connection.exec_driver_sql(words)
        except IntegrityError:  # other rows hang on it
            raise UndoneError from None
        if done.returns_rows:
            assert sorted(map(repr, done)) == before[table.name, owner]
            return
        assert done.rowcount == len(before[table.name, owner])
        with unit.transaction.beyond_scope():
            after = by_owner(unit)
        shared = [one for one in OWNERS if table in OF_WORKSPACE and one.workspace == owner.workspace]
        for place, rows in before.items():
            assert place[1] in {owner, *shared} or after[place] == rows
        raise UndoneError

    with suppress(UndoneError):
        asyncio.run(tenants.write(owner, work))


def test_a_row_for_another_scope_is_refused(tenants: SqlStorage, before: Any):
    def forge(unit: Any) -> None:
        entries = metadata.tables["entries"]
        other = select(scopes.c.pk).where(scopes.c.pk != entries.c.scope_id)
        unit.transaction.connection.execute(update(entries).values(scope_id=other.limit(1).scalar_subquery()))

    with pytest.raises(StorageUnavailableError, match="does not allow this user to do this"):
        asyncio.run(tenants.write(OWNERS[0], forge))
    assert asyncio.run(tenants.read(None, by_owner)) == before


def test_a_scope_that_has_nothing_sees_nothing(tenants: SqlStorage):
    def look(view: Any) -> list[str]:
        return [row for table in OF_SCOPE for row in rows_of(view.transaction.connection, table)]

    assert asyncio.run(tenants.read(Scope("acme", "agent", "nobody"), look)) == []


def test_a_peer_is_still_followed_by_its_observer_and_seen_by_nobody_else(tenants: SqlStorage):
    speaker, observer, other = Scope("new", "dora", "dora"), Scope("new", "eve", "dora"), Scope("new", "fay", "dora")
    said = a_turn("d1", scope=speaker, content="the code of the safe", observers=("eve",))
    asyncio.run(tenants.write(speaker, lambda unit: (unit.fan_out.expect(["eve"]), unit.turns.add([said]))))
    asyncio.run(tenants.write(observer, lambda unit: unit.fan_out.follow()))
    told = [asyncio.run(tenants.read(one, lambda view: [*view.turns.every()])) for one in (observer, other)]
    assert [[turn.content for turn in turns] for turns in told] == [["the code of the safe"], []]


@pytest.mark.parametrize("role", ["nobody_made", "agentcore"])
async def test_a_role_that_would_not_be_held_back_is_refused(
    new_postgres: Callable[[], str], open_storage: Any, monkeypatch: pytest.MonkeyPatch, role: str
):
    monkeypatch.setenv(ROLE_VARIABLE, role)
    with pytest.raises(StorageUnavailableError, match=r"has no role .* that its user may take on"):
        await open_storage(new_postgres())


async def test_policies_that_a_later_schema_lacks_are_made_when_it_is_opened(
    postgres_server: Server, new_postgres: Callable[[], str], open_storage: Any, monkeypatch: pytest.MonkeyPatch
):
    url = new_postgres()
    await (await open_storage(url)).stop()
    monkeypatch.setenv(ROLE_VARIABLE, SCOPED)
    for owner in OWNERS[:2]:
        storage = await open_storage(url)
        await storage.write(owner, lambda unit, owner=owner: unit.entries.add([an_entry("e", scope=owner)]))
        await storage.stop()
    with postgres_server.connect(url.partition("@/")[2].partition("?")[0]) as connection:
        found = connection.execute("SELECT count(*) FROM pg_policies WHERE schemaname = 'agentcore'").fetchone()
    assert found == (len(GUARDED),)
