"""Opens SQLite files, names what goes wrong with them, keeps connections for readers, and copies databases."""

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any, cast

import orjson
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool
from sqlalchemy.util import LRUCache

from agentcore.errors import StorageCorruptError, StorageUnavailableError
from agentcore.stores.sql.leases import is_gone, machine, process_mark
from agentcore.stores.sql.rows import DamagedRowError
from agentcore.stores.values import Synchronous

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


class SameFile:
    """Tells whether a path still leads to the file that was opened; lives as long as what opened it.

    SQLite writes on into a file that was moved or deleted, where nobody would ever find it.

    Args:
        path: The path; None for a database that lies in no file, or in one of its own.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._opened: tuple[int, int] | None = None

    def require(self) -> None:
        """Look, for the first time once the file is there.

        Raises:
            StorageUnavailableError: it is gone, or another lies in its place.
        """
        if self._path is None:
            return
        try:
            found = self._path.stat()
        except OSError:
            raise self._gone() from None
        here = (found.st_dev, found.st_ino)
        self._opened = self._opened or here
        if here != self._opened:
            raise self._gone()

    def _gone(self) -> StorageUnavailableError:
        problem, remedy = "is no longer where it was opened", "put it back, or start again"
        return StorageUnavailableError(path=str(self._path), problem=problem, remedy=remedy)


def sqlite_engine(
    path: Path | None,
    *,
    writes: bool,
    busy_timeout: timedelta = BUSY_TIMEOUT,
    synchronous: Synchronous = Synchronous.NORMAL,
    address: str | None = None,
) -> Engine:
    """Open an engine on the file *path*, or on a private database in memory when it is None.

    The writing engine begins IMMEDIATE, so that a transaction never fails half-way for want of the write lock; the
    reading one is barred from writing by the database itself. Both wait *busy_timeout* for another process that holds
    the file. An *address* is opened in place of the path: where the file lies, and how.
    """
    url = URL.create("sqlite+sharing", database=str(path) if path else ":memory:")
    options: dict[str, Any] = {"connect_args": {"check_same_thread": False, "timeout": busy_timeout.total_seconds()}}
    if address is not None:
        options["creator"] = lambda: sqlite3.connect(address, uri=True, **options["connect_args"])
    if path is None:
        options["poolclass"] = StaticPool
    # Parameters are what people said: no error says them, so that no log can.
    engine = create_engine(url, hide_parameters=True, execution_options={"compiled_cache": _STATEMENTS}, **options)
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"

    def on_connect(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        pragmas = ["foreign_keys=ON", f"cache_size=-{_CACHE_KIB}", "temp_store=MEMORY"]
        if writes:
            pragmas += [f"synchronous={synchronous}", "secure_delete=ON", f"journal_size_limit={_WAL_LIMIT_BYTES}"]
        else:
            pragmas += ["query_only=ON"]
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    file = SameFile(path if address is None else None)

    def on_begin(connection: Connection) -> None:
        file.require()
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


class Readers:
    """Lends connections of an engine that only reads, each in a transaction of its own; lives as long as the engine.

    Going through SQLAlchemy's pool and transactions takes longer than most reads. So a connection that was used stays
    open, within what SQLAlchemy takes for one transaction, and the transactions of the database are begun and ended
    at the driver. Who comes while others read gets one more; may be used from any thread.

    Args:
        engine: Whose connections they are; its transactions begin with `BEGIN`.
        path: The file, which must stay where it is.
    """

    def __init__(self, engine: Engine, path: Path | None = None) -> None:
        self._engine = engine
        self._file = SameFile(path)
        self._idle: list[Connection] = []

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Lend a connection with a transaction; what is read in it is of one state of the database."""
        self._file.require()
        connection = self._taken()
        try:
            driver = driver_of(connection)
            if not driver.in_transaction:
                driver.execute("BEGIN")
            yield connection
            driver.commit()
        except BaseException:
            # Whatever state it is in: the pool rolls back, or closes what is broken.
            connection.close()
            raise
        self._idle.append(connection)

    def close(self) -> None:
        """Close every connection; nobody reads any longer."""
        while self._idle:
            self._idle.pop().close()

    def _taken(self) -> Connection:
        try:
            return self._idle.pop()
        except IndexError:
            connection = self._engine.connect()
            connection.begin()
            return connection


_LOCKED = ("is locked by another process", "end that process or try again")
_READ_ONLY = ("is read-only", "make the file and its folder writable, or choose another data directory")
_FULL = ("cannot grow because the disk is full", "free some space and run again")
_UNREACHABLE = ("cannot be opened", "check that its folder exists and is writable and that it is a file")
_BROKEN_DISK = ("cannot be read or written", "check the disk, its free space and permissions")

_PROBLEMS = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_CANTOPEN: _UNREACHABLE,
    sqlite3.SQLITE_IOERR: _BROKEN_DISK,
}
_CORRUPT = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_UNDECODABLE = "Could not decode to UTF-8"
"""What Python's driver says, without a code, of a text that is none."""
_PRIMARY = 0xFF
"""SQLite keeps the primary code in the lowest byte of the extended one."""


@contextmanager
def storage_faults(path: str) -> Generator[None]:
    """Translate what the driver raises about *path*, and what a damaged row is; programming errors pass unchanged."""
    try:
        yield
    except (DamagedRowError, orjson.JSONDecodeError) as error:
        # Only the storage writes the JSON in its columns.
        raise StorageCorruptError(path=path) from error
    except DBAPIError as error:
        _translate(error.orig, path)
        raise
    except sqlite3.Error as error:
        _translate(error, path)
        raise


def _translate(error: BaseException | None, path: str) -> None:
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    if code in _PROBLEMS:
        problem, remedy = _PROBLEMS[code]
        raise StorageUnavailableError(path=path, problem=problem, remedy=remedy) from error
    if code in _CORRUPT or (isinstance(error, sqlite3.OperationalError) and _UNDECODABLE in str(error)):
        raise StorageCorruptError(path=path) from error


@contextmanager
def held_alone(database: Path, patience: timedelta = timedelta(seconds=1)) -> Generator[sqlite3.Connection]:
    """Hold the database alone: SQLite refuses where any other connection is open, in this process or another."""
    driver = sqlite3.connect(database, timeout=patience.total_seconds(), isolation_level=None)
    with storage_faults(str(database)), closing(driver):
        driver.execute("PRAGMA locking_mode=EXCLUSIVE")
        driver.execute("BEGIN EXCLUSIVE")
        driver.execute("COMMIT")
        yield driver


def require_room(file: Path, name: str) -> None:
    """Write a mebibyte beside a database, and remove it again.

    Raises:
        StorageUnavailableError: the disk is full, a quota is used up, or the folder cannot be written.
    """
    try:
        with tempfile.TemporaryFile(dir=file.parent) as probe:
            probe.write(bytes(_ROOM))
            probe.flush()
    except OSError as error:
        problem, remedy = _FULL if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG} else _READ_ONLY
        raise StorageUnavailableError(path=name, problem=problem, remedy=remedy) from error


_ROOM = 2**20
_PREFIX = "snapshot-"
_OWNER = "owner.json"


def snapshot_folder(beside: Path | None) -> Path:
    """Create a folder in the folder *beside* or, where that is None, among the system's temporary ones.

    Beside the database there is as much room and the same secrecy as for the database itself.
    """
    owner = orjson.dumps({"host": machine(), "pid": os.getpid(), "mark": process_mark(os.getpid())})
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=beside))
        # Another process may have swept it before it had an owner.
        with suppress(FileNotFoundError):
            (folder / _OWNER).write_bytes(owner)
            return folder


def sweep_snapshots(beside: Path) -> None:
    """Remove the snapshots of processes that are gone: a forgotten text must not live on in one."""
    for folder in beside.glob(f"{_PREFIX}*"):
        try:
            owner = orjson.loads((folder / _OWNER).read_bytes())
            orphaned = is_gone(str(owner["host"]), int(owner["pid"]), str(owner["mark"]))
        except FileNotFoundError:
            # Its process died before it wrote anything; one that lives makes itself another.
            with suppress(OSError):
                folder.rmdir()
            continue
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if orphaned:
            shutil.rmtree(folder, ignore_errors=True)


def copy_database(source: Engine, target: Path) -> None:
    """Copy the last committed state; outside a transaction, because the driver's backup opens its own."""
    with driver_connection(source) as driver, closing(sqlite3.connect(target)) as copy:
        copy.execute("PRAGMA synchronous=OFF")
        driver.backup(copy)
