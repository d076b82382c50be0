"""Bring a database to the schema this code reads; Alembic is imported only when there is something to migrate."""

from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection, Dialect, Engine, delete, insert, text
from sqlalchemy.schema import CreateIndex, CreateTable

from agentcore.domain.temporal import to_micros
from agentcore.errors import (
    StorageCorruptError,
    StorageInUseError,
    StorageTooNewError,
    StorageTooOldError,
    StorageUnavailableError,
)
from agentcore.stores.sql.backup import Backup, copy_before_migration
from agentcore.stores.sql.engines.sqlite import (
    BUSY_TIMEOUT,
    driver_connection,
    driver_of,
    held_alone,
    use_write_ahead_log,
)
from agentcore.stores.sql.hosts import hosts_of
from agentcore.stores.sql.schema import KNOWN_REVISIONS, RETIRED_REVISIONS, REVISION, WHERE, known_copies, metadata

VERSION_TABLE = "alembic_version"
"""Where Alembic keeps the revision."""

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
_FOUND = f"SELECT version_num FROM {VERSION_TABLE}"  # noqa: S608 - a constant
_OURS = frozenset({VERSION_TABLE, "scopes", "change_feed"})


def migrate(engine: Engine, *, path: str, at: datetime | None = None, patience: timedelta = BUSY_TIMEOUT) -> None:
    """Create, upgrade or accept the schema of *engine*; somebody else's file is left as it was.

    Args:
        engine: The database.
        path: What errors call it.
        at: When: a file that is upgraded is backed up before; None keeps no copy.
        patience: How long others are waited for who have it open while it has to be upgraded.

    Raises:
        StorageUnavailableError: there is no room for the copy; nothing was upgraded.
        StorageInUseError: it has to be upgraded, and another process has it open, which would not know it any more.
        StorageTooNewError: the schema comes from a later version.
        StorageTooOldError: the schema is older than the oldest that can be migrated.
        StorageCorruptError: the file holds somebody else's tables.
    """
    found = _revision(engine, path)
    if found in RETIRED_REVISIONS:
        raise StorageTooOldError(path=path, found=found)
    if found is not None and found not in KNOWN_REVISIONS:
        raise StorageTooNewError(path=path, found=found)
    use_write_ahead_log(engine)
    if found is None:
        _create(engine)
    elif found != REVISION:
        database = engine.url.database
        if database:
            engine.dispose()  # its own connections are no other process
            _require_alone(Path(database), found, patience)
        made = copy_before_migration(Path(database), found, at) if at is not None and database else None
        with engine.begin() as connection:
            upgrade(connection)
        if made is not None and at is not None:
            _note(engine, made, at)


def _require_alone(database: Path, found: str, patience: timedelta) -> None:
    """Refuse to take the schema away from under a process that works with it."""
    try:
        with held_alone(database, patience):
            pass
    except StorageUnavailableError as error:
        living = [(one.host, one.pid) for one in hosts_of(database) if one.is_alive]
        raise StorageInUseError(path=str(database), found=found, hosts=living) from error


def _note(engine: Engine, made: Backup, at: datetime) -> None:
    """Note the copy, which a certificate of an erasure names; that of an earlier migration is gone."""
    count = made.entries + made.turns + made.skills
    row = {"kind": "migration", "place": str(made.path), "records": count, "made_at": to_micros(at)}
    with engine.begin() as connection:
        connection.execute(delete(known_copies).where(known_copies.c.kind == "migration"))
        connection.execute(insert(known_copies).values(row))


def is_current(engine: Engine, path: str) -> bool:
    """Tell whether a database can be read as it is."""
    return _revision(engine, path) == REVISION


def _revision(engine: Engine, path: str) -> str | None:
    """Return the schema's revision, or None when there is nothing yet; the look takes no lock."""
    with driver_connection(engine) as driver:
        tables = {str(name) for (name,) in driver.execute(_TABLES)}
        if not tables:
            return None
        row = driver.execute(_FOUND).fetchone() if tables >= _OURS else None
    if row is None:
        raise StorageCorruptError(path=path)
    return str(row[0])


def _create(engine: Engine) -> None:
    """Create everything at once; the changes that led here are history only a found database has."""
    with engine.begin() as connection:
        # Another process may have been faster.
        if connection.exec_driver_sql(_TABLES).first() is None:
            driver = driver_of(connection)
            for definition in definitions(connection.dialect):
                driver.execute(definition)
            _stamp(connection)


_worded: dict[str, tuple[str, ...]] = {}


def definitions(dialect: Dialect) -> tuple[str, ...]:
    """Return what creates every table and index: a process that opens many databases words it once."""
    found = _worded.get(dialect.name)
    if found is None:
        _limit_indexes(dialect.name)
        tables = metadata.sorted_tables
        creations = [
            *(CreateTable(table) for table in tables),
            *(CreateIndex(index) for table in tables for index in sorted(table.indexes, key=lambda one: str(one.name))),
        ]
        found = _worded[dialect.name] = tuple(str(creation.compile(dialect=dialect)) for creation in creations)
    return found


def _limit_indexes(dialect: str) -> None:
    for table in metadata.tables.values():
        for index in table.indexes:
            if WHERE in index.info:
                index.dialect_options[dialect]["where"] = index.info[WHERE]


def _stamp(connection: Connection) -> None:
    key = f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num)"
    connection.execute(text(f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, {key})"))
    statement = text(f"INSERT INTO {VERSION_TABLE} VALUES (:revision)")  # noqa: S608 - a constant
    connection.execute(statement, {"revision": REVISION})


def upgrade(connection: Connection) -> None:
    """Migrate the schema that a transaction finds."""
    from alembic import command  # noqa: PLC0415 - 300 ms of import, wanted only for a migration
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
