"""Keeps records in PostgreSQL: writers of different scopes side by side, one at a time in each."""

import logging
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, bindparam, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from agentcore.domain.scope import Scope
from agentcore.errors import HostNotStartedError, StorageError
from agentcore.stores.sql.engines.database_url import parsed_url, shown_url
from agentcore.stores.sql.engines.postgres import SCHEMA, CollisionError, postgres_engine, postgres_faults
from agentcore.stores.sql.engines.postgres_schema import bring_up_to_date
from agentcore.stores.sql.prepared import Prepared
from agentcore.stores.sql.schema import metadata, scopes
from agentcore.stores.sql.scope_keys import IS_NAMED, parts_of
from agentcore.stores.sql.transaction import MY_SCOPE
from agentcore.stores.values import Synchronous

_log = logging.getLogger(__name__)

_WRITERS: Final = 4
_READERS: Final = 4

_LOCK_KNOWN: Final = Prepared(select(scopes.c.pk).where(scopes.c.pk == bindparam(MY_SCOPE)).with_for_update())
_LOCK_NAMED: Final = Prepared(select(scopes.c.pk).where(IS_NAMED).with_for_update())
_MAKE: Final = insert(scopes).on_conflict_do_nothing().returning(scopes.c.pk)


class PostgresDatabase:
    """A PostgreSQL database, in its schema `agentcore`; lives as long as the storage.

    Args:
        url: Where it is.
        busy_timeout: How long to wait for another that writes to the same scope.
        synchronous: NORMAL leaves to the server when a commit reaches the disk, FULL has it done before it is told.
    """

    def __init__(self, url: str | URL, *, busy_timeout: timedelta, synchronous: Synchronous) -> None:
        self.file: Path | None = None
        self.refusal: StorageError | None = None
        self.has_clock = True
        self.writers = _WRITERS
        self.readers = _READERS
        self.passing: tuple[type[StorageError], ...] = (CollisionError,)
        self.no_backup = "use pg_dump, or copy it to a file with `dream copy`"
        self._url = parsed_url(url) if isinstance(url, str) else url
        self._busy_timeout = busy_timeout
        self._synchronous = synchronous
        self._writer: Engine | None = None
        self._reader: Engine | None = None
        self._cleaner = ThreadPoolExecutor(1, thread_name_prefix="agentcore-vacuum")
        self._cleaning: Future[None] | None = None

    @property
    def name(self) -> str:
        """The URL without its password."""
        return shown_url(self._url)

    def open(self) -> None:
        """Connect, and create or migrate the schema under a lock that all processes share."""
        with postgres_faults(self.name):
            self._writer = postgres_engine(self._url, writes=True, connections=_WRITERS)
            bring_up_to_date(self._writer, self.name)
            self._reader = postgres_engine(self._url, writes=False, connections=_READERS)

    def close(self) -> None:
        """Close every connection, after what was forgotten is cleared."""
        if self._cleaning is not None:
            wait([self._cleaning])
            self._cleaning = None
        for engine in (self._writer, self._reader):
            if engine is not None:
                engine.dispose()
        self._writer = self._reader = None

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Begin a transaction, REPEATABLE READ and READ ONLY."""
        with postgres_faults(self.name), _open_engine(self._reader).begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """Begin a transaction, READ COMMITTED: who locks a row reads what its last holder committed."""
        with postgres_faults(self.name), _open_engine(self._writer).connect() as connection, connection.begin():
            yield connection
            with postgres_faults(self.name, committing=True):
                connection.commit()

    def own_scope(self, connection: Connection, scope: Scope, known: int | None) -> int:
        """Lock the row of the scope, made if there is none, until the transaction ends; return its key."""
        found = _LOCK_NAMED.rows(connection, parts_of(scope)) if known is None else _locked(connection, known)
        if not found:
            # Who makes it holds its row, as whoever was faster does until it is committed.
            made = connection.execute(_MAKE, parts_of(scope)).scalar()
            found = [(made,)] if made is not None else _LOCK_NAMED.rows(connection, parts_of(scope))
        ((key,),) = found
        return key

    def prepare_prompt_reader(self) -> None:
        """Do nothing: no answer of a server comes without waiting for it."""

    def revision_now(self, scope_id: int) -> int | None:  # noqa: ARG002 - others go by it
        """Return None: no answer of a server comes without waiting for it."""
        return None

    def after_write(self, *, forgot: bool) -> None:
        """After a forget, have the server clear the dead rows, beside whatever happens next."""
        if forgot:
            self._cleaning = self._cleaner.submit(self._vacuum)

    def _vacuum(self) -> None:
        """Clear dead rows of every table; those that an older reader still sees are left to the server's own vacuum."""
        tables = ", ".join(f"{SCHEMA}.{table.name}" for table in metadata.sorted_tables)
        try:
            with _open_engine(self._writer).connect() as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(f"VACUUM {tables}")
        except (DBAPIError, HostNotStartedError):
            _log.warning("vacuum_failed database=%s", self.name, exc_info=True)


def _locked(connection: Connection, key: int) -> list[tuple[int]]:
    return list(_LOCK_KNOWN.rows(connection, {MY_SCOPE: key}))


def _open_engine(engine: Engine | None) -> Engine:
    if engine is None:
        raise HostNotStartedError(service="storage")
    return engine
