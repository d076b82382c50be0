"""Inserts many rows at once, by the fastest way that the database has."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from sqlalchemy import Connection, Table, insert
from sqlalchemy.exc import IntegrityError

if TYPE_CHECKING:
    import psycopg

COPIED: Final = "agentcore_copied"
"""Where a connection keeps how many rows its transaction sent by COPY, by table."""

BOUND: Final = "agentcore_bound"
"""Set on a connection whose transaction row-level security keeps within a scope: COPY is not possible there."""

_WORTHWHILE: Final = 100
"""Rows from which on a server's COPY is faster than statements."""


def insert_rows(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> int:
    """Insert rows that all have the same columns; return how many there were.

    Raises:
        IntegrityError: a constraint refuses one of them.
    """
    if not rows:
        return 0
    if connection.dialect.name == "sqlite" or len(rows) < _WORTHWHILE or connection.info.get(BOUND):
        connection.execute(insert(table), rows)
    else:
        _copy_in(connection, table, rows)
    return len(rows)


def _copy_in(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Send rows by COPY, past SQLAlchemy: the columns hold numbers, texts, truth values and bytes alone."""
    import psycopg  # noqa: PLC0415 - the extra `postgres`

    driver = cast("psycopg.Connection[Any]", connection.connection.dbapi_connection)
    named = list(rows[0])
    preparer = connection.dialect.identifier_preparer
    columns = ", ".join(preparer.quote(name) for name in named)
    words = f"COPY {preparer.format_table(table)} ({columns}) FROM STDIN"
    try:
        with driver.cursor() as cursor, cursor.copy(words.encode()) as copy:
            for row in rows:
                copy.write_row([row[name] for name in named])
        if COPIED in connection.info:
            connection.info[COPIED][table.name] += len(rows)
    except psycopg.IntegrityError as error:
        raise IntegrityError(words, None, error) from error
