"""Copies one scope to another database, with what its workspace and the storage share: on this a plan is tried."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, and_, or_, select, true

from agentcore.domain.scope import Scope
from agentcore.stores.sql.bulk import insert_rows
from agentcore.stores.sql.schema import busy_holders, hosts, metadata, receipts, scopes
from agentcore.stores.sql.scope_keys import scope_key

_ROWS_AT_ONCE: Final = 2_000
_LEFT_OUT: Final = frozenset({busy_holders, hosts, receipts})
"""What tells of processes and of requests: the copy is nobody else's."""


def copy_scope(source: Connection, scope: Scope, target: Connection) -> None:
    """Copy every row of a scope as it is, its key included.

    Args:
        source: A transaction that sees one state of the database.
        scope: The scope; one that does not exist brings what is shared alone.
        target: A transaction on an empty database.
    """
    key = scope_key(source, scope)
    for table in metadata.sorted_tables:
        if table not in _LEFT_OUT:
            copy_rows(source, table, rows_of(table, scope, key), target)


def rows_of(table: Table, scope: Scope, key: int | None) -> ColumnElement[bool]:
    """Return which rows of a table a scope can see."""
    if table is scopes:
        # The other scopes of the workspace are known by name.
        return scopes.c.workspace == scope.workspace
    if "scope_id" in table.c:
        return table.c.scope_id == (-1 if key is None else key)
    if "workspace" not in table.c:
        return true()
    mine = table.c.workspace == scope.workspace
    if "observed" in table.c and "observer" not in table.c:
        return and_(mine, table.c.observed == scope.observed)
    if "observer" in table.c:
        own = (table.c.observer == scope.observer) & (table.c.observed == scope.observed)
        return and_(mine, or_(own, table.c.observer == ""))
    return mine


def copy_rows(source: Connection, table: Table, which: ColumnElement[bool], target: Connection) -> int:
    """Copy rows of a table, in the order of their keys; return how many there were."""
    found = source.execution_options(stream_results=True, max_row_buffer=_ROWS_AT_ONCE).execute(
        select(table).where(which).order_by(*table.primary_key.columns)
    )
    count, rows = 0, iter(found)
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        insert_rows(target, table, _as_given(some))
        count += len(some)
    return count


def _as_given(rows: Iterable[Any]) -> Sequence[dict[str, Any]]:
    return [dict(row._mapping) for row in rows]  # noqa: SLF001 - SQLAlchemy's public name for it
