"""Creates or migrates our schema in PostgreSQL, one process at a time."""

from typing import Final

from sqlalchemy import Connection, Engine, inspect, text

from agentcore.errors import StorageTooNewError, StorageTooOldError, StorageUnavailableError
from agentcore.stores.sql.engines.postgres import SCHEMA
from agentcore.stores.sql.engines.row_security import secure_rows
from agentcore.stores.sql.migrate import VERSION_TABLE, definitions, upgrade
from agentcore.stores.sql.schema import KNOWN_REVISIONS, RETIRED_REVISIONS, REVISION

_OLDEST: Final = 140_000
_LOCK: Final = 0x61_67_63_6F
"""The key of the advisory lock under which schemas are made: "agco"."""

_VERSION: Final = text("SELECT current_setting('server_version_num')::int, current_setting('server_version')")
_FIND: Final = text(f"SELECT to_regclass('{SCHEMA}.{VERSION_TABLE}') IS NOT NULL")
_FOUND: Final = text(f"SELECT version_num FROM {SCHEMA}.{VERSION_TABLE}")  # noqa: S608 - constants


def bring_up_to_date(engine: Engine, name: str, role: str | None) -> None:
    """Create, upgrade or accept the schema; with a role, have policies keep what takes it on within its scope.

    Raises:
        StorageUnavailableError: the server is too old.
        StorageTooNewError: the schema comes from a later version.
        StorageTooOldError: the schema is older than the oldest that can be migrated.
    """
    with engine.begin() as connection:
        _require_version(connection, name)
        if role is None and found_revision(connection) == REVISION:
            return
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        found = found_revision(connection)  # another process may have been faster
        if found in RETIRED_REVISIONS:
            raise StorageTooOldError(path=name, found=found)
        if found is not None and found not in KNOWN_REVISIONS:
            raise StorageTooNewError(path=name, found=found)
        if found is None:
            _create(connection)
        elif found != REVISION:
            connection.execute(text(f"SET LOCAL search_path TO {SCHEMA}"))
            upgrade(connection)
        if role is not None:
            secure_rows(connection, role, name)


def found_revision(connection: Connection) -> str | None:
    """Return the revision of the schema, or None where there is none."""
    if not connection.execute(_FIND).scalar_one():
        return None
    return connection.execute(_FOUND).scalar()


def _require_version(connection: Connection, name: str) -> None:
    number, shown = connection.execute(_VERSION).one()
    if number < _OLDEST:
        problem = f"runs on PostgreSQL {shown}, which is too old"
        raise StorageUnavailableError(path=name, problem=problem, remedy=f"upgrade it to {_OLDEST // 10_000} or later")


def _create(connection: Connection) -> None:
    if SCHEMA not in inspect(connection).get_schema_names():
        # Whoever may not create schemas is given one by who may.
        connection.execute(text(f"CREATE SCHEMA {SCHEMA}"))
    for definition in definitions(connection.dialect):
        connection.exec_driver_sql(definition.replace("%", "%%"))
    key = f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num)"
    connection.execute(text(f"CREATE TABLE {SCHEMA}.{VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, {key})"))
    stamp = text(f"INSERT INTO {SCHEMA}.{VERSION_TABLE} VALUES (:revision)")  # noqa: S608 - constants
    connection.execute(stamp, {"revision": REVISION})
