"""Engines: one that writes, one that can only read."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any, cast

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import URL, Connection
from sqlalchemy.pool import StaticPool
from sqlalchemy.util import LRUCache

BUSY_TIMEOUT = timedelta(seconds=10)
"""How long to wait for another process that holds the file; a dream's step holds it for about 50 ms."""

_CACHE_KIB = 65_536
_RETRY_MS = 20
_WAL_LIMIT_BYTES = 64 * 2**20
_STATEMENTS: LRUCache[Any, Any] = LRUCache(1_000)


class SharingDialect(SQLiteDialect_pysqlite):
    """SQLite's dialect, of which one is as good as another.

    A statement is worded for a dialect, and each engine has its own; only because they are equal does what one engine
    worded serve the process's other engines: a store's reader and its writer, and those of its snapshots.
    """

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


registry.register("sqlite.sharing", __name__, SharingDialect.__name__)


def sqlite_engine(path: Path | None, *, writes: bool, busy_timeout: timedelta = BUSY_TIMEOUT) -> Engine:
    """Open an engine on the file *path*, or on a private database in memory when it is None.

    The writing engine begins IMMEDIATE, so that a transaction never fails half-way for want of the write lock; the
    reading one is barred from writing by the database itself. Both wait *busy_timeout* for another process that holds
    the file.
    """
    url = URL.create("sqlite+sharing", database=str(path) if path else ":memory:")
    options: dict[str, Any] = {"connect_args": {"check_same_thread": False, "timeout": busy_timeout.total_seconds()}}
    if path is None:
        options["poolclass"] = StaticPool
    engine = create_engine(url, execution_options={"compiled_cache": _STATEMENTS}, **options)
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"

    def on_connect(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        pragmas = ["foreign_keys=ON", f"cache_size=-{_CACHE_KIB}", "temp_store=MEMORY"]
        if writes:
            pragmas += ["synchronous=NORMAL", "secure_delete=ON", f"journal_size_limit={_WAL_LIMIT_BYTES}"]
        else:
            pragmas += ["query_only=ON"]
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    def on_begin(connection: Connection) -> None:
        driver_of(connection).execute(begin)

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
    return engine


@contextmanager
def driver_connection(engine: Engine) -> Generator[sqlite3.Connection]:
    """Lend the driver's own connection, for what cannot run inside a transaction."""
    pooled = engine.raw_connection()
    try:
        yield cast("sqlite3.Connection", pooled.driver_connection)
    finally:
        pooled.close()


def use_write_ahead_log(engine: Engine) -> None:
    """Let readers and the writer work side by side; the file remembers it.

    Two processes that create one file meet here, and SQLite tells the later one at once that the file is locked.
    """
    with driver_connection(engine) as driver:
        for _ in range(_patience_ms(driver) // _RETRY_MS):
            try:
                driver.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise
                Event().wait(_RETRY_MS / 1000)
            else:
                return
        driver.execute("PRAGMA journal_mode=WAL")


def truncate_write_ahead_log(engine: Engine, *, patience_ms: int) -> bool:
    """Move the log into the file and empty it; False when a reader still needs it after *patience_ms*."""
    with driver_connection(engine) as driver:
        usual_ms = _patience_ms(driver)
        driver.execute(f"PRAGMA busy_timeout={patience_ms}")
        try:
            (busy, _, _) = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error:
            return False
        finally:
            driver.execute(f"PRAGMA busy_timeout={usual_ms}")
        return not busy


def _patience_ms(driver: sqlite3.Connection) -> int:
    (milliseconds,) = driver.execute("PRAGMA busy_timeout").fetchone()
    return int(milliseconds)


@contextmanager
def barred_from_writing(connection: Connection) -> Generator[None]:
    """Have the database refuse writes on a connection that can otherwise write."""
    driver = driver_of(connection)
    driver.execute("PRAGMA query_only=ON")
    try:
        yield
    finally:
        driver.execute("PRAGMA query_only=OFF")


def driver_of(connection: Connection) -> sqlite3.Connection:
    """Return the driver's connection: what every transaction begins with should not pass through SQLAlchemy."""
    return cast("sqlite3.Connection", connection.connection.dbapi_connection)
