"""Who serves people, across the processes that share the database; who died is known as with leases."""

import os
from datetime import timedelta

from sqlalchemy import bindparam, delete, insert, select, update

from agentcore.domain.instants import from_micros, to_micros
from agentcore.stores.protocols import BusyHolder
from agentcore.stores.sql.processes import is_gone, machine, process_mark
from agentcore.stores.sql.schema import busy_holders
from agentcore.stores.sql.transaction import Transaction

_HOLDERS = busy_holders.c
_UNEXPIRED = (
    select(busy_holders).where(_HOLDERS.expires_at > bindparam("now")).order_by(_HOLDERS.since, _HOLDERS.holder)
)
_UNEXPIRED_BESIDES = _UNEXPIRED.where(_HOLDERS.holder != bindparam("besides"))


class SqlBusyStore:
    """Who serves people, seen in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection

    def holders(self, *, besides: str | None = None) -> list[BusyHolder]:
        """Return who serves a person now, the longest first."""
        statement = _UNEXPIRED if besides is None else _UNEXPIRED_BESIDES
        given = {"now": to_micros(self._transaction.now), "besides": besides}
        return [
            BusyHolder(
                holder=row.holder,
                host=row.host,
                pid=row.pid,
                since=from_micros(row.since),
                expires_at=from_micros(row.expires_at),
            )
            for row in self._connection.execute(statement, given)
            if not is_gone(row.host, row.pid, row.process_started)
        ]

    def announce(self, holder: str, *, duration: timedelta) -> None:
        """Count as serving a person for *duration* from now; rows that expired are swept away."""
        now = self._transaction.now
        expires_at = to_micros(now + duration)
        self._connection.execute(delete(busy_holders).where(_HOLDERS.expires_at <= to_micros(now)))
        renewal = update(busy_holders).where(_HOLDERS.holder == holder).values(expires_at=expires_at)
        if self._connection.execute(renewal).rowcount:
            return
        row = {
            "holder": holder,
            "host": machine(),
            "pid": os.getpid(),
            "process_started": process_mark(os.getpid()),
            "since": to_micros(now),
            "expires_at": expires_at,
        }
        self._connection.execute(insert(busy_holders).values(row))

    def withdraw(self, holder: str) -> None:
        """No longer count; nothing happens if it did not."""
        self._connection.execute(delete(busy_holders).where(_HOLDERS.holder == holder))
