"""Moves everything from one database to another, of whichever kind."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Insert, func, insert, select, text, true

from agentcore.domain.temporal import to_micros
from agentcore.errors import StorageUnavailableError
from agentcore.stores.sql.engines.database import Database
from agentcore.stores.sql.engines.database_url import require_driver
from agentcore.stores.sql.engines.sqlite_database import SqliteDatabase
from agentcore.stores.sql.erase import held_scopes
from agentcore.stores.sql.forget_key import ForgetKey
from agentcore.stores.sql.schema import busy_holders, hosts, known_copies, metadata, scopes
from agentcore.stores.sql.scope_copy import copy_rows

_LEFT_OUT: Final = frozenset({busy_holders, hosts})
"""What tells of the processes at work."""
_PATIENCE: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied.

    Args:
        scopes: How many scopes hold anything.
        rows: How many rows, by the table they stand in.
    """

    scopes: int
    rows: dict[str, int]


def copy_everything(source: Path | str, target: Path | str, *, at: datetime | None = None) -> Copied:
    """Copy every row, keys included, in one transaction on either side; what goes wrong leaves the target empty.

    Args:
        source: The file, or the URL of the database.
        target: The same of the database that is filled; it may not hold anything yet.
        at: When: each of them notes the other, which certificates of erasures name; None notes nothing.

    Raises:
        StorageError: one of them cannot be used, or the target holds something.
    """
    with _opened(source) as there, _opened(target) as here, there.reading() as reading, here.writing() as writing:
        if writing.execute(select(scopes.c.pk).limit(1)).first() is not None:
            problem, remedy = "holds something already", "name an empty one; nothing was copied"
            raise StorageUnavailableError(path=here.name, problem=problem, remedy=remedy)
        counts = {
            table.name: copy_rows(reading, table, true(), writing)
            for table in metadata.sorted_tables
            if table not in _LEFT_OUT
        }
        _go_on_counting(writing)
        held = len(held_scopes(writing))
        if at is not None:
            writing.execute(_noting(there, counts, at))
    if at is not None:
        with suppress(StorageUnavailableError), _opened(source) as there, there.writing() as noting:
            noting.execute(_noting(here, counts, at))
    return Copied(scopes=held, rows={name: count for name, count in counts.items() if count})


def _noting(copy: Database, counts: Mapping[str, int], at: datetime) -> Insert:
    """Return what notes a database that holds the same."""
    records = sum(counts.get(name, 0) for name in ("entries", "turns", "skills"))
    row = {"kind": "copy", "place": copy.name, "records": records, "made_at": to_micros(at)}
    return insert(known_copies).values(row)


@contextmanager
def _opened(place: Path | str) -> Generator[Database]:
    database = _database(place)
    try:
        database.open()
        yield database
    finally:
        database.close()


def _database(place: Path | str) -> Database:
    if isinstance(place, Path):
        return SqliteDatabase(place, key=ForgetKey(place.parent))
    from agentcore.stores.sql.engines.postgres_database import PostgresDatabase  # noqa: PLC0415 - an extra

    return PostgresDatabase(require_driver(place), patience=_PATIENCE)


def _go_on_counting(connection: Connection) -> None:
    """Have new keys follow the copied ones; SQLite does so by itself."""
    if connection.dialect.name == "sqlite":
        return
    for table in metadata.sorted_tables:
        if "pk" in table.c:
            last = connection.execute(select(func.max(table.c.pk))).scalar()
            if last is not None:
                name = connection.dialect.identifier_preparer.format_table(table)
                connection.execute(
                    text("SELECT setval(pg_get_serial_sequence(:name, 'pk'), :last)"), {"name": name, "last": last}
                )
