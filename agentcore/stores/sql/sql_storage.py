"""Runs transactions on threads of their own, so that the event loop never waits for the database."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, insert

from agentcore.clock import Clock, SystemClock
from agentcore.domain.actor import HOST, Actor
from agentcore.domain.decay import Decay
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import to_micros
from agentcore.errors import HostNotStartedError, InvalidOptionsError, StorageError, StorageUnavailableError
from agentcore.stores.acting import Acting, acting
from agentcore.stores.forgetting import Erasure
from agentcore.stores.sql.authorship import keep_authorship
from agentcore.stores.sql.backup import Backup, backup_folder, write_backup
from agentcore.stores.sql.conclusions import settle
from agentcore.stores.sql.engines.database import Database
from agentcore.stores.sql.engines.sqlite import BUSY_TIMEOUT, require_room
from agentcore.stores.sql.engines.sqlite_database import SqliteDatabase
from agentcore.stores.sql.erase import all_erasures, held_scopes, turns_elsewhere, unfinished
from agentcore.stores.sql.feed import record_activity
from agentcore.stores.sql.forget_key import KEY_VARIABLE, ForgetKey
from agentcore.stores.sql.schema import known_copies
from agentcore.stores.sql.scope_copy import copy_scope
from agentcore.stores.sql.scope_keys import scope_key
from agentcore.stores.sql.tombstones import OTHER_KEY
from agentcore.stores.sql.transaction import UNKNOWN_SCOPE, Transaction
from agentcore.stores.sql.unit import SqlUnit
from agentcore.stores.storage import ReadView, UnitOfWork
from agentcore.stores.values import Origin, Present, Synchronous

T = TypeVar("T")
_log = logging.getLogger(__name__)

_SCOPES_KNOWN = 10_000
_ANYWHERE = Scope.default()
FILE_NAME = "agentcore.db"


class SqlStorage:
    """Records in SQLite or PostgreSQL; opened and closed by the host.

    Threads write and read on the last committed state. Objects are built on those threads, or on that of whoever calls
    `read_here`. What was committed survives the death of the process; a power cut can cost the last transactions,
    unless *synchronous* says otherwise, and never their wholeness.

    Args:
        place: The database file, created with its folder when missing; the URL of a PostgreSQL database; None keeps
            everything in memory.
        clock: Gives each transaction its instant.
        decay: How importance is read.
        busy_timeout: How long to wait for another process that holds the file, or a server that restarts.
        synchronous: When what is written to a file reaches the disk itself; a server has its own setting.
        key: Recognises forgotten texts; None is that of the environment, else of the file's folder.
        keeps_copies: Whether a copy of the file is kept before a migration.

    Raises:
        StorageError: at `start` and in every transaction, when the database cannot be used.
    """

    def __init__(
        self,
        place: Path | str | None,
        *,
        clock: Clock,
        decay: Decay | None = None,
        busy_timeout: timedelta = BUSY_TIMEOUT,
        synchronous: Synchronous = Synchronous.NORMAL,
        key: ForgetKey | None = None,
        keeps_copies: bool = True,
    ) -> None:
        self._clock = clock
        self._decay = decay or Decay()
        self._key = key or ForgetKey.of(place.parent if isinstance(place, Path) else None)
        self._database: Database
        self._forgets_alone = isinstance(place, str) and not self._key.is_kept
        if isinstance(place, str):
            from agentcore.stores.sql.engines.postgres_database import PostgresDatabase  # noqa: PLC0415 - an extra

            self._database = PostgresDatabase(place, patience=busy_timeout)
        else:
            self._database = SqliteDatabase(
                place,
                key=self._key,
                busy_timeout=busy_timeout,
                synchronous=synchronous,
                copies_at=clock.now if keeps_copies else None,
            )
        self._write_threads: ThreadPoolExecutor | None = None
        self._read_threads: ThreadPoolExecutor | None = None
        self._scope_keys: dict[Scope, int] = {}

    @property
    def decay(self) -> Decay:
        """How importance is read."""
        return self._decay

    @property
    def forgets_alone(self) -> bool:
        """Whether this process alone will recognise the texts that it forgets, though others share the database."""
        return self._forgets_alone

    async def start(self) -> None:
        """Open, creating or migrating the schema."""
        database = self._database
        self._write_threads = ThreadPoolExecutor(database.writers, thread_name_prefix="agentcore-write")
        self._read_threads = (
            ThreadPoolExecutor(database.readers, thread_name_prefix="agentcore-read")
            if database.readers
            else self._write_threads
        )
        try:
            await _on(self._write_threads, database.open)
        except BaseException:
            await self.stop()
            raise
        if self._forgets_alone:
            _log.warning(
                "forget_key_not_kept: what this process forgets no other will recognise, nor this one once it ends: "
                "set %s, the same everywhere, or give the host a data folder",
                KEY_VARIABLE,
            )

        elif self._database.writers > 1:
            await self._tell_of_another_key()

    async def _tell_of_another_key(self) -> None:
        """Warn where hosts of the database remember forgotten texts by another key than this one."""
        mine = self._key.fingerprints()
        known = await self.read(None, lambda view: view.tombstones.keys())
        if known and known[-1][0] not in mine:
            _log.warning("forget_key_differs: %s", OTHER_KEY)

    async def stop(self) -> None:
        """Finish what is under way and close."""
        pools = (self._read_threads, self._write_threads)
        self._read_threads = self._write_threads = None
        for threads in pools:
            if threads is not None:
                await asyncio.to_thread(threads.shutdown)
        await asyncio.to_thread(self._database.close)

    async def read(self, scope: Scope | None, work: Callable[[ReadView], T]) -> T:
        """Run *work* on a consistent view of *scope*; None is for what spans scopes."""
        return await _on(self._read_threads, lambda: self._read(scope, work))

    def read_here(self, scope: Scope, work: Callable[[ReadView], T]) -> T:
        """Do what `read` does on the calling thread, which waits: a worker's, never the one of an event loop."""
        if self._read_threads is None:
            raise HostNotStartedError(service="storage")
        if not self._database.readers:
            # All transactions share the one connection of a database in memory.
            return self._read_threads.submit(self._read, scope, work).result()
        self._database.prepare_prompt_reader()
        return self._read(scope, work)

    def present(self, scope: Scope) -> Present | None:
        """Return what holds of a scope now, on the thread of an event loop; None where somebody would be waited for.

        It reads one row, which whoever committed last has just written. There is an answer once a worker has read the
        scope with `read_here`, and never where the database is reached by a network.
        """
        scope_id = self._scope_keys.get(scope)
        revision = None if scope_id is None else self._database.revision_now(scope_id)
        return None if revision is None else Present(revision, self._clock.now(), self._decay)

    async def write(self, scope: Scope | None, work: Callable[[UnitOfWork], T], *, origin: Origin = Origin.HOST) -> T:
        """Run *work* in one transaction, again if others came in its way; what it raises rolls everything back.

        None is for bookkeeping that is of no scope: nobody who writes to one is waited for.
        """
        asking = acting()
        return await _on(self._write_threads, lambda: self._write(scope, work, origin, asking))

    async def require_writable(self) -> None:
        """Try whether something can be written now: a mebibyte beside the file, and a row.

        Raises:
            StorageError: it cannot, and why.
        """
        file = self._database.file
        if file is not None:
            await _on(self._write_threads, lambda: require_room(file, self._database.name))
        await self.write(None, _try_to_write)

    async def scopes(self) -> list[Scope]:
        """Return every scope that holds anything, sorted."""
        return await _on(self._read_threads, lambda: self._across_scopes(held_scopes))

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
    async def snapshot(self, scope: Scope) -> AsyncGenerator["SqlStorage"]:
        """Copy a scope, and what its workspace shares, to a storage in memory; it is gone at the end of the context."""
        copy = SqlStorage(None, clock=self._clock, decay=self._decay, key=self._key)
        await copy.start()
        try:
            await _on(self._read_threads, lambda: self._copy(scope, copy))
            yield copy
        finally:
            await copy.stop()

    async def backup(self, folder: Path | None = None) -> Backup:
        """Back everything up as it is now, while it is in use, and read the copy back.

        Args:
            folder: Where to; by default a folder beside that of the database.

        Raises:
            StorageUnavailableError: the memory is in no file, or the folder cannot be written.
            InvalidBackupError: what was written is damaged; nothing is left of it.
            InvalidOptionsError: *folder* is a file.
        """
        database, file = self._database, self._database.file
        if file is None:
            raise StorageUnavailableError(path=database.name, problem="cannot be backed up", remedy=database.no_backup)
        target = folder or backup_folder(file.parent)

        def write() -> Backup:
            if folder is not None and folder.is_file():
                raise InvalidOptionsError(field="to", value=str(folder), allowed="it is a file: name a folder")
            return write_backup(file, target, self._clock.now())

        made = await _on(self._read_threads, write)
        if database.refusal is None:  # where nothing can be written, nothing is noted either
            await _on(self._write_threads, lambda: self._note_copy(made))
        return made

    def _note_copy(self, made: Backup) -> None:
        count = made.entries + made.turns + made.skills
        row = {"kind": "backup", "place": str(made.path), "records": count, "made_at": to_micros(self._clock.now())}
        with self._database.writing() as connection:
            connection.execute(insert(known_copies).values(row))

    def _read(self, scope: Scope | None, work: Callable[[ReadView], T]) -> T:
        return self._patiently(lambda: self._read_once(scope, work))

    def _read_once(self, scope: Scope | None, work: Callable[[ReadView], T]) -> T:
        with self._database.reading() as connection:
            if scope is None:
                return work(SqlUnit(self._transaction(connection, _ANYWHERE, UNKNOWN_SCOPE)))
            scope_id = self._scope_keys.get(scope) or self._found(scope, scope_key(connection, scope))
            transaction = self._transaction(connection, scope, scope_id or UNKNOWN_SCOPE)
            self._keep_within(transaction)
            return work(SqlUnit(transaction))

    def _write(self, scope: Scope | None, work: Callable[[UnitOfWork], T], origin: Origin, asking: Acting) -> T:
        return self._patiently(lambda: self._write_once(scope, work, origin, asking))

    def _write_once(self, scope: Scope | None, work: Callable[[UnitOfWork], T], origin: Origin, asking: Acting) -> T:
        with self._database.writing() as connection:
            scope_id = UNKNOWN_SCOPE
            if scope is not None:
                scope_id = self._database.own_scope(connection, scope, self._scope_keys.get(scope))
            transaction = self._transaction(connection, scope or _ANYWHERE, scope_id, origin, asking.actor)
            transaction.among_writers = self._database.writers > 1
            if scope is not None:
                self._keep_within(transaction)
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
        if scope is not None:
            self._found(scope, scope_id)
        self._database.after_write(forgot=transaction.forgot)
        return result

    def _patiently(self, attempt: Callable[[], T]) -> T:
        """Try again what others came in the way of, or a server that restarts."""
        failures = 0
        while True:
            try:
                return attempt()
            except StorageError as error:
                failures += 1
                if not self._database.tries_again(error, failures):
                    raise

    def _found(self, scope: Scope, key: int | None) -> int | None:
        """Remember the key of a scope that is committed: it is never taken away, so it is asked for once."""
        if key is not None and scope not in self._scope_keys:
            if len(self._scope_keys) >= _SCOPES_KNOWN:
                self._scope_keys.clear()
            self._scope_keys[scope] = key
        return key

    def _across_scopes(self, look: Callable[[Connection], T]) -> T:
        def attempt() -> T:
            with self._database.reading() as connection:
                return look(connection)

        return self._patiently(attempt)

    def _copy(self, scope: Scope, copy: "SqlStorage") -> None:
        with self._database.reading() as source, copy._database.writing() as target:  # noqa: SLF001 - one of us
            copy_scope(source, scope, target)

    def _keep_within(self, transaction: Transaction) -> None:
        """Let no statement reach beyond the scope, where the database has means for that."""
        transaction.bounds = self._database.bounds(transaction.connection)
        if transaction.bounds is not None:
            transaction.bounds.enter(transaction.scope, transaction.scope_id)

    def _transaction(
        self,
        connection: Connection,
        scope: Scope,
        scope_id: int,
        origin: Origin = Origin.HOST,
        asked_by: Actor = HOST,
    ) -> Transaction:
        now = self._clock.now()
        transaction = Transaction(connection, scope, scope_id, now, self._decay, origin, asked_by, key=self._key)
        # A clock that is no machine's is everybody's, as in tests.
        transaction.by_database = self._database.has_clock and isinstance(self._clock, SystemClock)
        return transaction


def _try_to_write(unit: UnitOfWork) -> None:
    unit.hosts.require_current()
    unit.hosts.touch()


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
