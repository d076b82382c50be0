"""Opens PostgreSQL and names what goes wrong with it.

Every table stands in a schema of its own, which statements name: so nothing hangs on the `search_path` of a connection,
and a pooler may hand out any of its connections.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import orjson
import psycopg
from sqlalchemy import Column, Engine, String, TableClause, create_engine, event, exc
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.base import PGDDLCompiler
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg, PGIdentifierPreparer_psycopg
from sqlalchemy.engine import URL
from sqlalchemy.util import LRUCache

from agentcore.errors import StorageCorruptError, StorageUnavailableError, StorageUnreachableError
from agentcore.stores.sql.rows import DamagedRowError

SCHEMA: Final = "agentcore"
"""The schema of every table."""

_STATEMENTS: LRUCache[Any, Any] = LRUCache(2_000)
_CONNECT_SECONDS: Final = "10"
_STANDS_STILL: Final = "SELECT set_config('idle_in_transaction_session_timeout', '30s', false), pg_backend_pid()"


class _SchemaPreparer(PGIdentifierPreparer_psycopg):
    """Names the schema of each of our tables."""

    @staticmethod
    def schema_for_object(named: Any) -> Any:
        """Return the schema that an object is written with; an alias has none."""
        return SCHEMA if isinstance(named, TableClause) and named.schema is None else named.schema


class _BytewiseDDL(PGDDLCompiler):
    """Has every text sort by its bytes, as it does in SQLite."""

    def get_column_specification(self, column: Column[Any], **kw: Any) -> str:
        """Return the definition of a column."""
        worded: str = super().get_column_specification(column, **kw)
        kind = column.type.dialect_impl(self.dialect)
        if not isinstance(kind, String) or kind.collation is not None:
            return worded
        name = self.dialect.type_compiler_instance.process(column.type, type_expression=column)
        return worded.replace(name, f'{name} COLLATE "C"', 1)


class SchemaDialect(PGDialect_psycopg):
    """PostgreSQL's dialect with our schema; one is as good as another, so that they share worded statements."""

    supports_statement_cache = True
    preparer: Any = _SchemaPreparer
    ddl_compiler: Any = _BytewiseDDL

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


registry.register("postgresql.agentcore", __name__, SchemaDialect.__name__)


def postgres_engine(url: URL, *, writes: bool, connections: int) -> Engine:
    """Open an engine; one that does not write reads each transaction on one state of the database, and cannot write.

    Args:
        url: The database.
        writes: Whether it writes: READ COMMITTED then, else REPEATABLE READ.
        connections: How many it keeps open; more are opened when all are taken, and closed afterwards.
    """
    given = {"connect_timeout": _CONNECT_SECONDS, "application_name": "agentcore", **url.query}
    engine = create_engine(
        url.set(drivername="postgresql+agentcore", query=given),
        hide_parameters=True,
        pool_size=connections,
        max_overflow=connections,
        execution_options={"compiled_cache": _STATEMENTS},
    )

    def on_connect(connection: "psycopg.Connection[Any]", _record: object) -> None:
        if writes:
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        else:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
        # A process that stands still in mid-transaction would keep its locks, and every other one out.
        found = connection.execute(_STANDS_STILL).fetchone()
        connection.commit()
        # A pooler names no process of the server, and hands out connections on which others prepared statements.
        if found is not None and found[1] != connection.info.backend_pid:
            connection.prepare_threshold = None

    event.listen(engine, "connect", on_connect)
    return engine


class CollisionError(StorageUnavailableError):
    """Others came in the way, and nothing was committed: trying again helps."""


class LostInCommitError(StorageUnreachableError):
    """The connection broke while it committed: whether anything was written has to be asked."""


_COLLIDED: Final = frozenset({"40001", "40P01", "55P03", "23505"})
"""Serialization, deadlock, lock timeout; and a key that another writer has made between our look and our insert."""

_PROBLEMS: Final = {
    "28P01": ("refuses the password", "check user and password in its URL"),
    "28000": ("refuses this user", "check the user in its URL and the server's pg_hba.conf"),
    "3D000": ("does not exist", "create it, or check the name in its URL"),
    "42501": ("does not allow this user to do this", "grant it the rights that docs/how-to/use-postgresql.md names"),
    "25P03": ("ended a transaction that stood still for half a minute", "run again"),
    "25006": ("is read-only", "connect to the primary server, or end its recovery"),
    "53100": ("cannot grow because the server's disk is full", "free some space there and run again"),
    "53200": ("is out of memory", "give the server more, or fewer connections"),
    "53300": ("has no connection left", "raise max_connections, or connect through a pooler"),
    "57014": ("ended a statement that took too long", "raise statement_timeout and run again"),
}
_CLASSES: Final = {
    "08": ("is out of reach", "check that the server runs and that its URL names the right host and port"),
    "53": ("lacks resources", "look into the server's log"),
    "57": ("was shut down, or is starting", "run again when the server is up"),
    "58": ("cannot be read or written", "check the server's disk and its log"),
}
_UNREACHABLE: Final = ("08", "57P", "25P03")
"""The classes of errors after which another connection may do."""
_CORRUPT: Final = ("XX001", "XX002")


@contextmanager
def postgres_faults(name: str, *, committing: bool = False) -> Generator[None]:
    """Translate what the driver raises about the database *name*; programming errors pass unchanged.

    Args:
        name: What errors call it.
        committing: Whether a lost connection leaves it open whether something was written: a LostInCommitError then.
    """
    try:
        yield
    except (DamagedRowError, orjson.JSONDecodeError) as error:
        raise StorageCorruptError(path=name) from error
    except exc.DBAPIError as error:
        _translate(error.orig, name, committing=committing)
        raise
    except psycopg.Error as error:
        _translate(error, name, committing=committing)
        raise
    except exc.TimeoutError as error:
        problem, remedy = "has no connection left in this process", "ask for less at once"
        raise StorageUnavailableError(path=name, problem=problem, remedy=remedy) from error


def _translate(error: BaseException | None, name: str, *, committing: bool) -> None:
    code = getattr(error, "sqlstate", None)
    if code is None:
        if not isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
            return
        code = _code_of(str(error))
    if code in _COLLIDED:
        raise CollisionError(path=name, problem="was being written to by others", remedy="run again") from error
    if code.startswith(_CORRUPT):
        raise StorageCorruptError(path=name) from error
    found = _PROBLEMS.get(code) or _CLASSES.get(code[:2])
    if found is None:
        return
    problem, remedy = found
    if not code.startswith(_UNREACHABLE):
        raise StorageUnavailableError(path=name, problem=problem, remedy=remedy) from error
    if not committing:
        raise StorageUnreachableError(path=name, problem=problem, remedy=remedy) from error
    problem, remedy = "was lost while it committed", "look whether the last change is there, and run again"
    raise LostInCommitError(path=name, problem=problem, remedy=remedy) from error


def _code_of(said: str) -> str:
    """Return what a failure to connect means: the driver has the server's words, and no code."""
    for words, code in (
        ("password authentication failed", "28P01"),
        ("no password supplied", "28P01"),
        ("no pg_hba.conf entry", "28000"),
        ("authentication failed", "28000"),
        ("too many clients", "53300"),
        ("remaining connection slots", "53300"),
        ("starting up", "57P03"),
        ("shutting down", "57P03"),
    ):
        if words in said:
            return code
    if 'database "' in said and "does not exist" in said:
        return "3D000"
    if 'role "' in said and "does not exist" in said:
        return "28000"
    return "08006"
