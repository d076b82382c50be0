"""SqlStorage: transactions on threads of their own, so that the event loop never waits for the disk."""

import asyncio
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine, insert, select

from agentcore.clock import Clock
from agentcore.domain.decay import Decay
from agentcore.domain.scope import Scope
from agentcore.errors import HostNotStartedError, StorageUnavailableError
from agentcore.stores.protocols import Origin, ReadView, UnitOfWork
from agentcore.stores.sql.engine import sqlite_engine
from agentcore.stores.sql.faults import storage_faults
from agentcore.stores.sql.migrate import migrate
from agentcore.stores.sql.schema import scopes
from agentcore.stores.sql.transaction import UNKNOWN_SCOPE, Transaction
from agentcore.stores.sql.unit import SqlUnit

T = TypeVar("T")

_READERS = 2
FILE_NAME = "agentcore.db"


class SqlStorage:
    """Records in SQLite; opened and closed by the host.

    One thread writes; two read beside it on the last committed state. Objects are built on those threads.

    Args:
        path: The database file, created with its folder when missing; None keeps everything in memory.
        clock: Gives each transaction its instant.
        decay: How importance is read.

    Raises:
        StorageError: at `start` and in every transaction, when the file cannot be used.
    """

    def __init__(self, path: Path | None, *, clock: Clock, decay: Decay | None = None) -> None:
        self._path = path
        self._clock = clock
        self._decay = decay or Decay()
        self._writer: Engine | None = None
        self._reader: Engine | None = None
        self._write_thread: ThreadPoolExecutor | None = None
        self._read_threads: ThreadPoolExecutor | None = None

    @property
    def decay(self) -> Decay:
        """How importance is read."""
        return self._decay

    async def start(self) -> None:
        """Open, creating or migrating the schema."""
        self._write_thread = ThreadPoolExecutor(1, thread_name_prefix="agentcore-write")
        self._read_threads = (
            self._write_thread
            if self._path is None
            else ThreadPoolExecutor(_READERS, thread_name_prefix="agentcore-read")
        )
        try:
            await _on(self._write_thread, self._open)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Finish what is under way and close."""
        for threads in (self._read_threads, self._write_thread):
            if threads is not None:
                await asyncio.to_thread(threads.shutdown)
        for engine in (self._reader, self._writer):
            if engine is not None:
                engine.dispose()
        self._writer = self._reader = self._write_thread = self._read_threads = None

    async def read(self, scope: Scope, work: Callable[[ReadView], T]) -> T:
        """Run *work* on a consistent view of *scope*."""
        if self._read_threads is None:
            raise HostNotStartedError(service="storage")
        return await _on(self._read_threads, lambda: self._read(scope, work))

    async def write(self, scope: Scope, work: Callable[[UnitOfWork], T], *, origin: Origin = Origin.HOST) -> T:
        """Run *work* in one transaction; what it raises rolls everything back."""
        if self._write_thread is None:
            raise HostNotStartedError(service="storage")
        return await _on(self._write_thread, lambda: self._write(scope, work, origin))

    async def scopes(self) -> list[Scope]:
        """Return every scope that holds anything."""
        statement = select(scopes.c.workspace, scopes.c.observer, scopes.c.observed)
        return sorted(
            await self.read(Scope.default(), lambda view: [Scope(*row) for row in _connection(view).execute(statement)])
        )

    @asynccontextmanager
    async def snapshot(self) -> AsyncGenerator["SqlStorage"]:
        """Copy everything as it is now to a storage of its own, deleted at the end of the context."""
        folder = Path(tempfile.mkdtemp(prefix="agentcore-plan-"))
        try:
            copy = SqlStorage(folder / FILE_NAME, clock=self._clock, decay=self._decay)
            if self._read_threads is None:
                raise HostNotStartedError(service="storage")
            await _on(self._read_threads, lambda: self._copy_to(folder / FILE_NAME))
            await copy.start()
            try:
                yield copy
            finally:
                await copy.stop()
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _open(self) -> None:
        with storage_faults(self._name):
            if self._path is not None:
                self._make_folder(self._path.parent)
            self._writer = sqlite_engine(self._path, writes=True)
            migrate(self._writer, path=self._name)
            self._reader = self._writer if self._path is None else sqlite_engine(self._path, writes=False)

    def _make_folder(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            remedy = "make that folder writable, or choose another data directory"
            raise StorageUnavailableError(path=self._name, problem="cannot be created", remedy=remedy) from error

    def _read(self, scope: Scope, work: Callable[[ReadView], T]) -> T:
        if self._reader is None:
            raise HostNotStartedError(service="storage")
        with storage_faults(self._name), self._reader.connect() as connection, connection.begin():
            return work(SqlUnit(self._transaction(connection, scope, _scope_key(connection, scope) or UNKNOWN_SCOPE)))

    def _write(self, scope: Scope, work: Callable[[UnitOfWork], T], origin: Origin) -> T:
        if self._writer is None:
            raise HostNotStartedError(service="storage")
        with storage_faults(self._name), self._writer.begin() as connection:
            transaction = self._transaction(connection, scope, _ensure_scope(connection, scope), origin)
            result = work(SqlUnit(transaction))
            transaction.finish()
            return result

    def _copy_to(self, target: Path) -> None:
        """Copy the last committed state; outside a transaction, because the driver's backup opens its own."""
        if self._reader is None:
            raise HostNotStartedError(service="storage")
        source = self._reader.raw_connection()
        try:
            driver = source.driver_connection
            copy = sqlite3.connect(target)
            if isinstance(driver, sqlite3.Connection):
                driver.backup(copy)
            copy.close()
        finally:
            source.close()

    def _transaction(
        self,
        connection: Connection,
        scope: Scope,
        scope_id: int,
        origin: Origin = Origin.HOST,
    ) -> Transaction:
        return Transaction(connection, scope, scope_id, self._clock.now(), self._decay, origin)

    @property
    def _name(self) -> str:
        return "in memory" if self._path is None else str(self._path)


async def _on(threads: ThreadPoolExecutor, call: Callable[[], T]) -> T:
    """Run *call* on *threads*; a cancelled caller still waits, so that it never leaves a write half known."""
    future = asyncio.get_running_loop().run_in_executor(threads, call)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait([future])
        raise


def _scope_key(connection: Connection, scope: Scope) -> int | None:
    statement = select(scopes.c.pk).where(
        scopes.c.workspace == scope.workspace,
        scopes.c.observer == scope.observer,
        scopes.c.observed == scope.observed,
    )
    return connection.execute(statement).scalar()


def _ensure_scope(connection: Connection, scope: Scope) -> int:
    found = _scope_key(connection, scope)
    if found is not None:
        return found
    row = {"workspace": scope.workspace, "observer": scope.observer, "observed": scope.observed}
    return connection.execute(insert(scopes).values(**row).returning(scopes.c.pk)).scalar_one()


def _connection(view: ReadView) -> Connection:
    if not isinstance(view, SqlUnit):
        raise HostNotStartedError(service="storage")
    return view.transaction.connection
