"""Bring a database to the schema this code reads; Alembic is imported only when there is something to migrate."""

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from agentcore.errors import StorageCorruptError, StorageTooNewError
from agentcore.stores.sql.schema import KNOWN_REVISIONS, REVISION, metadata

_VERSION_TABLE = "alembic_version"


def migrate(engine: Engine, *, path: str) -> None:
    """Create, upgrade or accept the schema of *engine*.

    Raises:
        StorageTooNewError: the schema comes from a later version.
        StorageCorruptError: the file holds somebody else's tables.
    """
    with engine.begin() as connection:
        found = _revision(connection, path)
        if found == REVISION:
            return
        if found is None:
            metadata.create_all(connection)
            _stamp(connection)
            return
    if found not in KNOWN_REVISIONS:
        raise StorageTooNewError(path=path, found=found)
    _upgrade(engine)


def _revision(connection: Connection, path: str) -> str | None:
    tables = inspect(connection).get_table_names()
    if _VERSION_TABLE in tables:
        return connection.execute(text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalar()  # noqa: S608 - a constant
    if tables:
        raise StorageCorruptError(path=path)
    return None


def _stamp(connection: Connection) -> None:
    connection.execute(text(f"CREATE TABLE {_VERSION_TABLE} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    statement = text(f"INSERT INTO {_VERSION_TABLE} VALUES (:revision)")  # noqa: S608 - a constant
    connection.execute(statement, {"revision": REVISION})


def _upgrade(engine: Engine) -> None:
    from alembic import command  # noqa: PLC0415 - 300 ms of import, wanted only for a migration
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
