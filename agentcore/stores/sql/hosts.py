"""Keeps which hosts work on a database and what their code says of options, for commands and other hosts."""

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Row, String, column, delete, insert, select, table, update
from sqlalchemy.exc import DBAPIError

from agentcore.domain.temporal import from_micros, to_micros
from agentcore.errors import StorageTooNewError
from agentcore.stores.sql.engines.database_url import require_driver
from agentcore.stores.sql.engines.sqlite import sqlite_engine
from agentcore.stores.sql.leases import is_gone, machine, process_mark
from agentcore.stores.sql.schema import REVISION, hosts
from agentcore.stores.sql.transaction import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRecord:
    """A host that works, or worked last, on the database, and what it left for others there.

    Args:
        holder: Id of the host.
        host: Machine of its process.
        pid: Its process.
        started_at: When it started.
        is_alive: Whether it has not stopped, as far as can be seen from here.
        options: What its code says of options, as JSON.
    """

    holder: str
    host: str
    pid: int
    started_at: datetime
    is_alive: bool
    options: str


_VERSION = select(column("version_num", String())).select_from(table("alembic_version"))
_NEWEST = select(hosts).order_by(hosts.c.started_at.desc(), hosts.c.holder)


class SqlHostReader:
    """See which hosts work on the database, of whatever scope."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def newest(self) -> list[HostRecord]:
        """Return the hosts that live, and the one that started last, the newest first."""
        return _found(self._transaction.connection)

    def require_current(self) -> None:
        """See whether the schema is still that of this version; a later one upgrades it on a server.

        Raises:
            StorageTooNewError: it is not.
        """
        connection = self._transaction.connection
        found = connection.execute(_VERSION).scalar_one()
        if found != REVISION:
            raise StorageTooNewError(path=str(connection.engine.url.database), found=found)


class SqlHostStore(SqlHostReader):
    """Tell which host works on the database; nothing of a scope changes by it."""

    def start(self, holder: str, options: str) -> None:
        """Write down a host that starts; those that are no more, and worked before it, are forgotten."""
        connection = self._transaction.connection
        over = [row.holder for row in connection.execute(_NEWEST) if not _is_alive(row)]
        connection.execute(delete(hosts).where(hosts.c.holder.in_([*over, holder])))
        row = {
            "holder": holder,
            "host": machine(),
            "pid": os.getpid(),
            "process_started": process_mark(os.getpid()),
            "started_at": to_micros(self._transaction.now),
            "stopped_at": None,
            "options": options,
        }
        connection.execute(insert(hosts), [row])

    def stop(self, holder: str) -> None:
        """Write down that a host has stopped; what it left stays until another one starts."""
        stopped = update(hosts).where(hosts.c.holder == holder)
        self._transaction.connection.execute(stopped.values(stopped_at=to_micros(self._transaction.now)))

    def touch(self) -> None:
        """Write what stands here once more: it fails where nothing can be written."""
        self._transaction.connection.execute(update(hosts).values(stopped_at=hosts.c.stopped_at))

    def clear(self) -> int:
        """Forget what hosts that have stopped left; return how many there were."""
        over = [row.holder for row in self._transaction.connection.execute(_NEWEST) if not _is_alive(row)]
        self._transaction.connection.execute(delete(hosts).where(hosts.c.holder.in_(over)))
        return len(over)


def hosts_of(place: Path | str) -> list[HostRecord]:
    """Return the hosts of a database that nobody has opened here, as `SqlHostReader.newest`; none if it has no such.

    One that cannot be read tells of none either: whoever opens it next says what is wrong with it.

    Args:
        place: The file, or the URL of the database.
    """
    if isinstance(place, Path) and not place.is_file():
        return []
    engine = looking_engine(place)
    try:
        with engine.connect() as connection:
            return _found(connection)
    except DBAPIError:
        return []
    finally:
        engine.dispose()


def looking_engine(place: Path | str) -> Engine:
    """Return an engine that only reads a database that nobody has opened here.

    Args:
        place: The file, or the URL of the database.
    """
    if isinstance(place, Path):
        return sqlite_engine(place, writes=False)
    from agentcore.stores.sql.engines.postgres import postgres_engine  # noqa: PLC0415 - wants the extra `postgres`

    return postgres_engine(require_driver(place), writes=False, connections=1)


def _found(connection: Connection) -> list[HostRecord]:
    rows = connection.execute(_NEWEST).all()
    return [_to_record(row) for place, row in enumerate(rows) if place == 0 or _is_alive(row)]


def _is_alive(row: Row[Any]) -> bool:
    return row.stopped_at is None and not is_gone(row.host, row.pid, row.process_started)


def _to_record(row: Row[Any]) -> HostRecord:
    return HostRecord(
        holder=row.holder,
        host=row.host,
        pid=row.pid,
        started_at=from_micros(row.started_at),
        is_alive=_is_alive(row),
        options=row.options,
    )
