"""Keeps records in PostgreSQL: writers of different scopes side by side, one at a time in each."""

from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import chain, repeat
from pathlib import Path
from threading import Event
from typing import Final

from sqlalchemy import Connection, Engine, String, bindparam, cast, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from agentcore.domain.scope import Scope
from agentcore.errors import HostNotStartedError, StorageError, StorageUnreachableError
from agentcore.stores.sql.bulk import BOUND, COPIED
from agentcore.stores.sql.engines.database_url import parsed_url, shown_url
from agentcore.stores.sql.engines.postgres import (
    CollisionError,
    LostInCommitError,
    postgres_engine,
    postgres_faults,
)
from agentcore.stores.sql.engines.postgres_schema import bring_up_to_date
from agentcore.stores.sql.engines.postgres_upkeep import Upkeep
from agentcore.stores.sql.engines.row_security import ScopeBounds, role_for_scopes
from agentcore.stores.sql.prepared import Prepared, Rows
from agentcore.stores.sql.schema import scopes
from agentcore.stores.sql.scope_keys import IS_NAMED, parts_of
from agentcore.stores.sql.transaction import MY_SCOPE

_WRITERS: Final = 4
_READERS: Final = 4

_ATTEMPTS: Final = 5
"""How often a transaction is tried that others come in the way of."""
_PAUSES: Final = (0.0, 0.05, 0.1, 0.2, 0.4)
_LONGEST_PAUSE: Final = 0.5

_THIS: Final = cast(func.pg_current_xact_id(), String).label("this")
_LOST: Final = ("lost the connection before it committed", "run again")
_OURS: Final = "agentcore_transaction"
_LOCKED: Final = select(scopes.c.pk, _THIS)
_LOCK_KNOWN: Final = Prepared(_LOCKED.where(scopes.c.pk == bindparam(MY_SCOPE)).with_for_update())
_LOCK_NAMED: Final = Prepared(_LOCKED.where(IS_NAMED).with_for_update())
_MAKE: Final = insert(scopes).on_conflict_do_nothing().returning(scopes.c.pk, _THIS)
_FATE: Final = text("SELECT pg_xact_status(CAST(:transaction AS xid8))")


class PostgresDatabase:
    """A PostgreSQL database, in its schema `agentcore`; lives as long as the storage.

    Args:
        url: Where it is.
        patience: How long transactions wait, when the server goes away, for it to come back.
        role: What transactions on a scope go on as, held back by row-level security; by default the environment's.
    """

    def __init__(self, url: str | URL, *, patience: timedelta, role: str | None = None) -> None:
        self.file: Path | None = None
        self.refusal: StorageError | None = None
        self.has_clock = True
        self.writers = _WRITERS
        self.readers = _READERS
        self.no_backup = "use pg_dump, or copy it to a file with `dream copy`"
        self._url = parsed_url(url) if isinstance(url, str) else url
        self._pauses = tuple(_pauses(patience))
        self._role = role or role_for_scopes()
        self._given_up = False
        self._closing = Event()
        self._writer: Engine | None = None
        self._reader: Engine | None = None
        self._upkeep = Upkeep(lambda: _open_engine(self._writer), self.name)

    @property
    def name(self) -> str:
        """The URL without its password."""
        return shown_url(self._url)

    def open(self) -> None:
        """Connect, and create or migrate the schema under a lock that all processes share."""
        self._closing.clear()
        with postgres_faults(self.name):
            self._writer = postgres_engine(self._url, writes=True, connections=_WRITERS)
            bring_up_to_date(self._writer, self.name, self._role)
            self._reader = postgres_engine(self._url, writes=False, connections=_READERS)

    def close(self) -> None:
        """Close every connection, after what was forgotten is cleared."""
        self._closing.set()
        self._upkeep.finish()
        for engine in (self._writer, self._reader):
            if engine is not None:
                engine.dispose()
        self._writer = self._reader = None

    def tries_again(self, error: StorageError, failures: int) -> bool:
        """Try again at once what others came in the way of; wait for a server that went away, till all gave it up."""
        if isinstance(error, CollisionError):
            return failures < _ATTEMPTS
        if not isinstance(error, StorageUnreachableError) or isinstance(error, LostInCommitError):
            return False
        if failures > len(self._pauses):
            self._given_up = True
        # The first failure may be that of a connection from before a restart, so it is no sign.
        if self._given_up and failures > 1:
            return False
        return not self._closing.wait(self._pauses[failures - 1])

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Begin a transaction, REPEATABLE READ and READ ONLY."""
        with postgres_faults(self.name), _open_engine(self._reader).begin() as connection:
            self._given_up = False
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """Begin a transaction, READ COMMITTED: who locks a row reads what its last holder committed.

        Where the connection is lost while it commits, the server is asked what became of the transaction.
        """
        with postgres_faults(self.name), _open_engine(self._writer).connect() as connection, connection.begin():
            self._given_up = False
            connection.info.pop(_OURS, None)
            connection.info.pop(BOUND, None)
            connection.info[COPIED] = copied = Counter[str]()
            yield connection
            ours = connection.info.get(_OURS)
            try:
                with postgres_faults(self.name, committing=True):
                    connection.commit()
            except LostInCommitError as error:
                if ours is None or not self._was_committed(ours, error):
                    raise
        self._upkeep.count(copied)

    def own_scope(self, connection: Connection, scope: Scope, known: int | None) -> int:
        """Lock the row of the scope, made if there is none, until the transaction ends; return its key."""
        found: Rows = _LOCK_NAMED.rows(connection, parts_of(scope)) if known is None else _locked(connection, known)
        if not found:
            # Who makes it holds its row, as whoever was faster does until it is committed.
            made: Rows = connection.execute(_MAKE, parts_of(scope)).all()
            found = made or _LOCK_NAMED.rows(connection, parts_of(scope))
        ((key, connection.info[_OURS]),) = found
        return key

    def bounds(self, connection: Connection) -> ScopeBounds | None:
        """Return the role that a transaction on a scope takes on, if there is one."""
        return None if self._role is None else ScopeBounds(connection, self._role)

    def prepare_prompt_reader(self) -> None:
        """Do nothing: no answer of a server comes without waiting for it."""

    def revision_now(self, scope_id: int) -> int | None:  # noqa: ARG002 - others go by it
        """Return None: no answer of a server comes without waiting for it."""
        return None

    def after_write(self, *, forgot: bool) -> None:
        """After a forget, have the server clear the dead rows, beside whatever happens next."""
        if forgot:
            self._upkeep.clear()

    def _was_committed(self, transaction: str, lost: LostInCommitError) -> bool:
        """Ask what became of a transaction whose connection was lost; False if nobody can tell.

        Raises:
            StorageUnreachableError: nothing of it was written.
        """
        for pause in self._pauses:
            if self._closing.wait(pause):
                return False
            try:
                with postgres_faults(self.name), _open_engine(self._writer).connect() as connection:
                    fate = connection.execute(_FATE, {"transaction": transaction}).scalar()
            except (StorageUnreachableError, HostNotStartedError):
                continue
            except (StorageError, DBAPIError):
                return False  # another server has taken its place, which never heard of it
            if fate == "aborted":
                problem, remedy = _LOST
                raise StorageUnreachableError(path=self.name, problem=problem, remedy=remedy) from lost
            if fate != "in progress":
                return fate == "committed"
        return False


def _pauses(patience: timedelta) -> Iterator[float]:
    """Yield pauses that grow, and come to so much in all."""
    left = patience.total_seconds()
    for pause in chain(_PAUSES, repeat(_LONGEST_PAUSE)):
        if pause > left:
            return
        left -= pause
        yield pause


def _locked(connection: Connection, key: int) -> Rows:
    return _LOCK_KNOWN.rows(connection, {MY_SCOPE: key})


def _open_engine(engine: Engine | None) -> Engine:
    if engine is None:
        raise HostNotStartedError(service="storage")
    return engine
