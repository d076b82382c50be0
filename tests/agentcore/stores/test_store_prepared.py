"""Queries that go straight to the driver, and the connections they are asked on."""

import pytest
from sqlalchemy import Boolean, DateTime, Integer, Text, bindparam, column, create_engine, literal, select
from sqlalchemy.dialects import postgresql

from agentcore.domain import EntryFilter
from agentcore.stores import ReadView
from agentcore.stores.sql import Prepared, PreparedByKey, SqlStorage
from agentcore.testing.contracts.samples import SCOPE, an_entry

_NUMBER = bindparam("number", type_=Integer())


def test_a_query_is_compiled_once_for_each_database_with_its_constants():
    query = Prepared(
        select(_NUMBER * 2, literal("tea", Text()), literal(value=True, type_=Boolean())).limit(bindparam("at_most"))
    )
    with create_engine("sqlite://").connect() as connection:
        assert query.rows(connection, {"number": 21, "at_most": 1, "other": "x"}) == [(42, "tea", 1)]
        form = query._forms["sqlite"]
        assert query.rows(connection, {"number": 1, "at_most": 0}) == []
        assert query._forms["sqlite"] is form
        with pytest.raises(KeyError, match="at_most"):
            query.rows(connection, {"number": 1})
    form = query._compiled(postgresql.dialect(paramstyle="pyformat"))
    assert form.order is None
    assert form.parameters({"number": 3}) == {"number": 3} | form.constants


@pytest.mark.parametrize(
    "statement",
    [
        select(column("at", DateTime())),
        select(column("x", Integer())).where(column("at", DateTime()) == bindparam("at", type_=DateTime())),
        select(column("x", Integer())).where(column("x", Integer()).in_(bindparam("some", expanding=True))),
    ],
)
def test_a_query_whose_values_need_converting_is_refused(statement: object):
    with create_engine("sqlite://").connect() as connection, pytest.raises(TypeError):
        Prepared(statement).rows(connection, {})  # type: ignore[arg-type]


def test_keys_are_asked_for_in_parts_of_few_lengths():
    query = PreparedByKey(select(column("pk", Integer())), column("pk", Integer()))
    parts = list(query.parts(range(1_013)))
    assert [len(given) for _, given in parts] == [500, 500, 20]
    assert parts[0][0] is parts[1][0]
    assert list(parts[2][1].values()) == [*range(1_000, 1_013), *[1_012] * 7]
    assert list(query.parts([])) == []


async def test_a_read_that_fails_or_reads_within_a_read_leaves_nothing_open_for_the_next(storage: SqlStorage):
    def count(view: ReadView) -> int:
        return view.entries.count(EntryFilter())

    def fail(view: ReadView) -> None:
        assert count(view) == 1
        raise ZeroDivisionError

    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            await storage.read(SCOPE, fail)
    twice = await storage.read(SCOPE, lambda view: (count(view), storage.read_here(SCOPE, count), count(view)))
    assert twice == (1, 1, 1)
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("b")]))
    assert await storage.read(SCOPE, count) == 2
    assert storage._database._readers is not None
    assert 1 <= len(storage._database._readers._idle) <= 3
