"""Runs transactions on threads of their own, so that the event loop never waits for the disk."""

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine, bindparam, delete, exists, insert, or_, select

from agentcore.clock import Clock
from agentcore.domain.actor import HOST, Actor
from agentcore.domain.decay import Decay
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import to_micros
from agentcore.errors import HostNotStartedError, StorageUnavailableError
from agentcore.stores.acting import Acting, acting
from agentcore.stores.forgetting import Erasure
from agentcore.stores.sql.authorship import keep_authorship
from agentcore.stores.sql.backup import Backup, backup_folder, write_backup
from agentcore.stores.sql.conclusions import settle
from agentcore.stores.sql.engines.reading_only import ReadingPlace, is_unwritable
from agentcore.stores.sql.engines.sqlite import (
    BUSY_TIMEOUT,
    Readers,
    barred_from_writing,
    copy_database,
    snapshot_folder,
    sqlite_engine,
    storage_faults,
    sweep_snapshots,
    truncate_write_ahead_log,
)
from agentcore.stores.sql.erase import all_erasures, erased_scopes, turns_elsewhere, unfinished
from agentcore.stores.sql.feed import record_activity
from agentcore.stores.sql.forget_key import ForgetKey
from agentcore.stores.sql.migrate import is_current, migrate
from agentcore.stores.sql.prepared import Rows
from agentcore.stores.sql.schema import known_copies, scopes, settings
from agentcore.stores.sql.settings import FORMER_SALT
from agentcore.stores.sql.transaction import MY_SCOPE, SCOPE_REVISION, UNKNOWN_SCOPE, Transaction
from agentcore.stores.sql.unit import SqlUnit
from agentcore.stores.storage import Origin, ReadView, UnitOfWork
from agentcore.stores.values import Present, Synchronous

T = TypeVar("T")

_READERS = 2
_SCRUB_PATIENCE_MS = 200
_SCOPES_KNOWN = 10_000
FILE_NAME = "agentcore.db"


class SqlStorage:
    """Records in SQLite; opened and closed by the host.

    One thread writes; two read beside it on the last committed state. Objects are built on those threads, or on that of
    whoever calls `read_here`. What was committed survives the death of the process; a power cut can cost the last
    transactions, unless *synchronous* says otherwise, and never their wholeness.

    Args:
        path: The database file, created with its folder when missing; None keeps everything in memory.
        clock: Gives each transaction its instant.
        decay: How importance is read.
        busy_timeout: How long to wait for another process that holds the file.
        synchronous: When what is written reaches the disk itself.
        key: Recognises forgotten texts; None is that of the file's folder.
        keeps_copies: Whether a copy is kept before a migration.

    Raises:
        StorageError: at `start` and in every transaction, when the file cannot be used.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        clock: Clock,
        decay: Decay | None = None,
        busy_timeout: timedelta = BUSY_TIMEOUT,
        synchronous: Synchronous = Synchronous.NORMAL,
        key: ForgetKey | None = None,
        keeps_copies: bool = True,
    ) -> None:
        self._path = path
        self._clock = clock
        self._decay = decay or Decay()
        self._busy_timeout = busy_timeout
        self._synchronous = synchronous
        self._writer: Engine | None = None
        self._reader: Engine | None = None
        self._readers: Readers | None = None
        self._prompt_reader: Connection | None = None
        self._revision_of: Callable[[Mapping[str, object]], Rows] | None = None
        self._write_thread: ThreadPoolExecutor | None = None
        self._read_threads: ThreadPoolExecutor | None = None
        self._log_holds_forgotten = False
        self._place: ReadingPlace | None = None
        self._refusal: StorageUnavailableError | None = None
        self._scope_keys: dict[Scope, int] = {}
        self._key = key or ForgetKey(None if path is None else path.parent)
        self._keeps_copies = keeps_copies

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
        pools = (self._read_threads, self._write_thread)
        self._read_threads = self._write_thread = None
        for threads in pools:
            if threads is not None:
                await asyncio.to_thread(threads.shutdown)
        await asyncio.to_thread(self._close)

    async def read(self, scope: Scope, work: Callable[[ReadView], T]) -> T:
        """Run *work* on a consistent view of *scope*."""
        return await _on(self._read_threads, lambda: self._read(scope, work))

    def read_here(self, scope: Scope, work: Callable[[ReadView], T]) -> T:
        """Do what `read` does on the calling thread, which waits: a worker's, never the one of an event loop."""
        if self._read_threads is None:
            raise HostNotStartedError(service="storage")
        if self._path is None:
            # All transactions share the one connection of a database in memory.
            return self._read_threads.submit(self._read, scope, work).result()
        if self._prompt_reader is None:
            self._open_prompt_reader()
        return self._read(scope, work)

    def present(self, scope: Scope) -> Present | None:
        """Return what holds of a scope now, on the thread of an event loop; None where somebody would be waited for.

        It reads one row, which whoever committed last has just written; a file that another process holds is not waited
        for. There is an answer once a worker has read the scope with `read_here`.
        """
        scope_id, revision_of = self._scope_keys.get(scope), self._revision_of
        if scope_id is None or revision_of is None:
            return None
        try:
            ((revision,),) = revision_of({MY_SCOPE: scope_id})
        except sqlite3.Error:
            return None  # whoever then reads the usual way is told
        return Present(revision, self._clock.now(), self._decay)

    async def write(self, scope: Scope, work: Callable[[UnitOfWork], T], *, origin: Origin = Origin.HOST) -> T:
        """Run *work* in one transaction; what it raises rolls everything back."""
        asking = acting()
        return await _on(self._write_thread, lambda: self._write(scope, work, origin, asking))

    async def scopes(self) -> list[Scope]:
        """Return every scope that holds anything, sorted."""
        return await _on(self._read_threads, self._scopes)

    async def unfinished(self) -> tuple[list[Scope], list[Scope]]:
        """Return scopes whose erasure was cut short, and those where files are to be cleared after a forget."""
        return await _on(self._read_threads, lambda: self._across_scopes(unfinished))

    async def erasures(self, *, since: datetime | None = None) -> list[Erasure]:
        """Return every erasure of a scope, or those begun at or after an instant, the earliest first."""
        return await _on(self._read_threads, lambda: self._across_scopes(lambda one: all_erasures(one, since)))

    async def spoken_elsewhere(self, gone: Collection[Scope]) -> dict[Scope, int]:
        """Return how many turns other scopes of the same workspaces hold of the peers that *gone* are about."""
        return await _on(self._read_threads, lambda: self._across_scopes(lambda one: turns_elsewhere(one, gone)))

    @asynccontextmanager
    async def snapshot(self) -> AsyncGenerator["SqlStorage"]:
        """Copy everything as it is now to a storage of its own, deleted at the end of the context."""
        made: list[Path] = []
        try:
            await _on(self._read_threads, lambda: self._copy(made))
            copy = SqlStorage(made[0] / FILE_NAME, clock=self._clock, decay=self._decay, key=self._key)
            await copy.start()
            try:
                yield copy
            finally:
                await copy.stop()
        finally:
            for folder in made:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def backup(self, folder: Path | None = None) -> Backup:
        """Back everything up as it is now, while it is in use, and read the copy back.

        Args:
            folder: Where to; by default a folder beside that of the database.

        Raises:
            StorageUnavailableError: the memory is in no file, or the folder cannot be written.
            InvalidBackupError: what was written is damaged; nothing is left of it.
        """
        if self._path is None:
            raise StorageUnavailableError(
                path=self._name, problem="cannot be backed up", remedy="give the host a data directory"
            )
        database, target = self._path, folder or backup_folder(self._path.parent)
        made = await _on(self._read_threads, lambda: write_backup(database, target, self._clock.now()))
        if self._refusal is None:  # where nothing can be written, nothing is noted either
            await _on(self._write_thread, lambda: self._note_copy(made))
        return made

    def _note_copy(self, made: Backup) -> None:
        count = made.entries + made.turns + made.skills
        row = {"kind": "backup", "place": str(made.path), "records": count, "made_at": to_micros(self._clock.now())}
        with storage_faults(self._name), _open_engine(self._writer).begin() as connection:
            connection.execute(insert(known_copies).values(row))

    def _open(self) -> None:
        """Open to write, or to read alone where the folder or the disk allows no more."""
        try:
            self._open_to_write()
        except StorageUnavailableError as refusal:
            if self._path is None or not self._path.is_file() or not is_unwritable(refusal):
                raise
            if self._writer is not None:
                self._writer.dispose()
            self._writer, self._refusal = None, refusal
            self._place = ReadingPlace(self._path)
            with storage_faults(self._name):
                self._reader = self._engine(writes=False)
                if not is_current(self._reader, self._name):
                    raise
                self._readers = Readers(self._reader)

    def _open_to_write(self) -> None:
        with storage_faults(self._name):
            if self._path is not None:
                self._make_private(self._path)
                sweep_snapshots(self._path.parent)
            self._writer = self._engine(writes=True)
            migrate(self._writer, path=self._name, at=self._clock.now() if self._keeps_copies else None)
            self._reader = self._writer if self._path is None else self._engine(writes=False)
            self._take_salts(self._writer, self._reader)
            self._readers = None if self._path is None else Readers(self._reader, self._path)

    def _take_salts(self, writer: Engine, reader: Engine) -> None:
        """Move what earlier versions hashed forgotten texts with out of the database, which is copied and exported."""
        kept = settings.c.name == FORMER_SALT
        with reader.connect() as connection:
            salts = connection.execute(select(settings.c.scope_id, settings.c.value).where(kept)).all()
        if salts:
            self._key.adopt({str(scope_id): bytes.fromhex(salt) for scope_id, salt in salts})
            with writer.begin() as connection:
                connection.execute(delete(settings).where(kept))
            self._log_holds_forgotten = True  # cleared by the next write, or at the end

    def _engine(self, *, writes: bool) -> Engine:
        address = None if self._place is None else self._place.address
        return sqlite_engine(
            self._path,
            writes=writes,
            busy_timeout=self._busy_timeout,
            synchronous=self._synchronous,
            address=address,
        )

    def _open_prompt_reader(self) -> None:
        """Open the connection of `present`, which waits for no other process, and have it read the schema."""
        with storage_faults(self._name):
            address = None if self._place is None else self._place.address
            reader = sqlite_engine(self._path, writes=False, busy_timeout=timedelta(), address=address)
            self._prompt_reader = reader.connect()
            revision_of = SCOPE_REVISION.bound(self._prompt_reader)
            revision_of({MY_SCOPE: UNKNOWN_SCOPE})
        self._revision_of = revision_of

    def _make_private(self, path: Path) -> None:
        """Make the folder and the file if they are not there, for their owner alone; what is there stays as it is.

        The write-ahead log beside it takes its permissions from the file.
        """
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.exists():
                path.touch(mode=0o600)
        except OSError as error:
            remedy = "make that folder writable, or choose another data directory"
            raise StorageUnavailableError(path=self._name, problem="cannot be created", remedy=remedy) from error

    def _close(self) -> None:
        if self._prompt_reader is not None:
            self._prompt_reader.close()
            self._prompt_reader.engine.dispose()
            self._prompt_reader = self._revision_of = None
        if self._readers is not None:
            self._readers.close()
        if self._reader is not None and self._reader is not self._writer:
            self._reader.dispose()
        if self._writer is not None:
            self._clear_log(self._writer)
            self._writer.dispose()
        if self._place is not None:
            self._place.remove()
        self._writer = self._reader = self._readers = None

    def _read(self, scope: Scope, work: Callable[[ReadView], T]) -> T:
        with storage_faults(self._name), self._reading() as connection:
            scope_id = self._known_scope(connection, scope) or UNKNOWN_SCOPE
            return work(SqlUnit(self._transaction(connection, scope, scope_id)))

    def _reading(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that cannot write."""
        return _reading_in_memory(_open_engine(self._writer)) if self._readers is None else self._readers.reading()

    def _write(self, scope: Scope, work: Callable[[UnitOfWork], T], origin: Origin, asking: Acting) -> T:
        if self._refusal is not None:
            raise self._refusal.with_traceback(None)
        writer = _open_engine(self._writer)
        with storage_faults(self._name), writer.begin() as connection:
            scope_id = self._known_scope(connection, scope) or _new_scope(connection, scope)
            transaction = self._transaction(connection, scope, scope_id, origin, asking.actor)
            if asking.before is not None:
                asking.before(SqlUnit(transaction))
            result = work(SqlUnit(transaction))
            settle(transaction)
            keep_authorship(transaction)
            if asking.within is not None and (asking.always or transaction.is_changing):
                asking.within(SqlUnit(transaction))
            transaction.finish()
            if transaction.was_active:
                record_activity(transaction)
        self._log_holds_forgotten |= transaction.forgot
        self._clear_log(writer)
        return result

    def _known_scope(self, connection: Connection, scope: Scope) -> int | None:
        """Return the key of a scope that exists; once committed it is never taken away, so it is asked for once."""
        known = self._scope_keys.get(scope)
        if known is None:
            known = _scope_key(connection, scope)
            if known is not None:
                if len(self._scope_keys) >= _SCOPES_KNOWN:
                    self._scope_keys.clear()
                self._scope_keys[scope] = known
        return known

    def _clear_log(self, writer: Engine) -> None:
        """Empty the write-ahead log of forgotten texts, at the next write if a reader still holds it."""
        if self._log_holds_forgotten and self._path is not None:
            self._log_holds_forgotten = not truncate_write_ahead_log(writer, patience_ms=_SCRUB_PATIENCE_MS)

    def _scopes(self) -> list[Scope]:
        any_setting = exists().where(settings.c.scope_id == scopes.c.pk)
        statement = select(scopes.c.workspace, scopes.c.observer, scopes.c.observed)
        with storage_faults(self._name), _open_engine(self._reader).begin() as connection:
            rows = connection.execute(statement.where(or_(scopes.c.revision > 0, any_setting)))
            return sorted({Scope(*row) for row in rows} - erased_scopes(connection))

    def _across_scopes(self, look: Callable[[Connection], T]) -> T:
        with storage_faults(self._name), _open_engine(self._reader).begin() as connection:
            return look(connection)

    def _copy(self, made: list[Path]) -> None:
        """Copy the database to a new folder, told to the caller at once so that it is removed whatever happens."""
        try:
            made.append(snapshot_folder(None if self._path is None else self._path.parent))
        except OSError as error:
            remedy = "make its folder writable and free some space"
            raise StorageUnavailableError(path=self._name, problem="cannot be copied", remedy=remedy) from error
        with storage_faults(self._name):
            copy_database(_open_engine(self._reader), made[0] / FILE_NAME)

    def _transaction(
        self,
        connection: Connection,
        scope: Scope,
        scope_id: int,
        origin: Origin = Origin.HOST,
        asked_by: Actor = HOST,
    ) -> Transaction:
        now = self._clock.now()
        return Transaction(connection, scope, scope_id, now, self._decay, origin, asked_by, key=self._key)

    @property
    def _name(self) -> str:
        return "in memory" if self._path is None else str(self._path)


async def _on(threads: ThreadPoolExecutor | None, call: Callable[[], T]) -> T:
    """Run *call* on *threads*; one cancelled before its turn never runs, after that it is waited for.

    So a cancelled caller never leaves a write that it knows nothing of.
    """
    if threads is None:
        raise HostNotStartedError(service="storage")
    job = threads.submit(call)
    try:
        return await asyncio.wrap_future(job)
    except asyncio.CancelledError:
        if not job.cancel():
            under_way = asyncio.wrap_future(job)
            while not under_way.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([under_way])
            under_way.exception()
        raise


def _open_engine(engine: Engine | None) -> Engine:
    if engine is None:
        raise HostNotStartedError(service="storage")
    return engine


@contextmanager
def _reading_in_memory(engine: Engine) -> Generator[Connection]:
    """Read on the one connection of a database in memory, which can otherwise write."""
    with engine.begin() as connection, barred_from_writing(connection):
        yield connection


_SCOPE_KEY = select(scopes.c.pk).where(
    scopes.c.workspace == bindparam("workspace"),
    scopes.c.observer == bindparam("observer"),
    scopes.c.observed == bindparam("observed"),
)
_NEW_SCOPE = insert(scopes).returning(scopes.c.pk)


def _scope_key(connection: Connection, scope: Scope) -> int | None:
    return connection.execute(_SCOPE_KEY, _columns(scope)).scalar()


def _new_scope(connection: Connection, scope: Scope) -> int:
    return connection.execute(_NEW_SCOPE, _columns(scope)).scalar_one()


def _columns(scope: Scope) -> dict[str, str]:
    return {"workspace": scope.workspace, "observer": scope.observer, "observed": scope.observed}
