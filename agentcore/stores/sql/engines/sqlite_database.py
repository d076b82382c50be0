"""Keeps records in one SQLite file, or in memory: how it is opened, read beside its one writer, and cleared."""

import sqlite3
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, delete, select

from agentcore.domain.scope import Scope
from agentcore.errors import HostNotStartedError, StorageError, StorageUnavailableError
from agentcore.stores.sql.engines.reading_only import ReadingPlace, is_unwritable
from agentcore.stores.sql.engines.sqlite import (
    BUSY_TIMEOUT,
    Readers,
    barred_from_writing,
    sqlite_engine,
    storage_faults,
    sweep_snapshots,
    truncate_write_ahead_log,
)
from agentcore.stores.sql.forget_key import ForgetKey
from agentcore.stores.sql.migrate import is_current, migrate
from agentcore.stores.sql.prepared import Rows
from agentcore.stores.sql.schema import settings
from agentcore.stores.sql.scope_keys import make_scope, scope_key
from agentcore.stores.sql.settings import FORMER_SALT
from agentcore.stores.sql.transaction import MY_SCOPE, SCOPE_REVISION, UNKNOWN_SCOPE
from agentcore.stores.values import Synchronous

_READERS: Final = 2
_SCRUB_PATIENCE_MS: Final = 200


class SqliteDatabase:
    """A SQLite file with one writer and readers beside it; lives as long as the storage.

    Args:
        path: The file, created with its folder when missing; None keeps everything in memory.
        key: Recognises forgotten texts.
        busy_timeout: How long to wait for another process that holds the file.
        synchronous: When what is written reaches the disk itself.
        copies_at: When a copy is kept before a migration; None keeps none.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        key: ForgetKey,
        busy_timeout: timedelta = BUSY_TIMEOUT,
        synchronous: Synchronous = Synchronous.NORMAL,
        copies_at: Callable[[], datetime] | None = None,
    ) -> None:
        self.has_clock = False
        self.writers = 1
        self.no_backup = "give the host a data directory"
        self._path = path
        self._key = key
        self._busy_timeout = busy_timeout
        self._synchronous = synchronous
        self._copies_at = copies_at
        self._writer: Engine | None = None
        self._reader: Engine | None = None
        self._readers: Readers | None = None
        self._prompt_reader: Connection | None = None
        self._revision_of: Callable[[Mapping[str, object]], Rows] | None = None
        self._log_holds_forgotten = False
        self._place: ReadingPlace | None = None
        self._refusal: StorageUnavailableError | None = None

    @property
    def name(self) -> str:
        """The path."""
        return "in memory" if self._path is None else str(self._path)

    @property
    def file(self) -> Path | None:
        """The path of the file; None in memory."""
        return self._path

    @property
    def readers(self) -> int:
        """How many threads read; none in memory, where all transactions share one connection."""
        return 0 if self._path is None else _READERS

    @property
    def refusal(self) -> StorageUnavailableError | None:
        """Why nothing can be written, where the folder or the disk allows no more than to read."""
        return self._refusal

    def tries_again(self, error: StorageError, failures: int) -> bool:  # noqa: ARG002 - others go by them
        """Return False: SQLite itself waits for others."""
        return False

    def open(self) -> None:
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
            with storage_faults(self.name):
                self._reader = self._engine(writes=False)
                if not is_current(self._reader, self.name):
                    raise
                self._readers = Readers(self._reader)

    def close(self) -> None:
        """Close every connection; the log is emptied of what was forgotten."""
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

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Begin a transaction that cannot write."""
        with storage_faults(self.name):
            if self._readers is not None:
                with self._readers.reading() as connection:
                    yield connection
            else:
                with self.writer.begin() as connection, barred_from_writing(connection):
                    yield connection

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """Begin the one transaction that writes."""
        if self._refusal is not None:
            raise self._refusal.with_traceback(None)
        with storage_faults(self.name), self.writer.begin() as connection:
            yield connection

    def own_scope(self, connection: Connection, scope: Scope, known: int | None) -> int:
        """Return the scope's key, made if there is none; nobody else writes to the file."""
        return known or scope_key(connection, scope) or make_scope(connection, scope)

    def bounds(self, connection: Connection) -> None:
        """Return None: SQLite knows no users."""

    def prepare_prompt_reader(self) -> None:
        """Open the connection of `revision_now`, which waits for no other process, and have it read the schema."""
        if self._prompt_reader is not None or self._path is None:
            return
        with storage_faults(self.name):
            address = None if self._place is None else self._place.address
            reader = sqlite_engine(self._path, writes=False, busy_timeout=timedelta(), address=address)
            self._prompt_reader = reader.connect()
            revision_of = SCOPE_REVISION.bound(self._prompt_reader)
            revision_of({MY_SCOPE: UNKNOWN_SCOPE})
        self._revision_of = revision_of

    def revision_now(self, scope_id: int) -> int | None:
        """Return the last revision, one row that whoever committed last has just written; None if the file is held."""
        if self._revision_of is None:
            return None
        try:
            ((revision,),) = self._revision_of({MY_SCOPE: scope_id})
        except sqlite3.Error:
            return None  # whoever then reads the usual way is told
        return revision

    def after_write(self, *, forgot: bool) -> None:
        """Empty the write-ahead log of forgotten texts, at the next write if a reader still holds it."""
        self._log_holds_forgotten |= forgot
        self._clear_log(self.writer)

    @property
    def writer(self) -> Engine:
        """The engine that writes."""
        return _open_engine(self._writer)

    @property
    def reader(self) -> Engine:
        """The engine that reads."""
        return _open_engine(self._reader)

    def _open_to_write(self) -> None:
        with storage_faults(self.name):
            if self._path is not None:
                self._make_private(self._path)
                sweep_snapshots(self._path.parent)
            self._writer = self._engine(writes=True)
            copied_at = None if self._copies_at is None else self._copies_at()
            migrate(self._writer, path=self.name, at=copied_at, patience=self._busy_timeout)
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
            raise StorageUnavailableError(path=self.name, problem="cannot be created", remedy=remedy) from error

    def _clear_log(self, writer: Engine) -> None:
        if self._log_holds_forgotten and self._path is not None:
            self._log_holds_forgotten = not truncate_write_ahead_log(writer, patience_ms=_SCRUB_PATIENCE_MS)


def _open_engine(engine: Engine | None) -> Engine:
    if engine is None:
        raise HostNotStartedError(service="storage")
    return engine
