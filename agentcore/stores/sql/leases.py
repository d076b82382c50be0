"""Leases: one holder per name and scope, fenced, freed at once when its process on this machine is gone."""

import dataclasses
import os
from datetime import timedelta
from typing import Any

from sqlalchemy import Row, bindparam, delete, insert, select, update

from agentcore.domain.instants import from_micros, to_micros
from agentcore.errors import LeaseLostError
from agentcore.stores.protocols import Lease
from agentcore.stores.sql.processes import is_gone, machine, process_mark
from agentcore.stores.sql.schema import leases
from agentcore.stores.sql.transaction import Transaction, of_my_scope

_MINE = of_my_scope(leases) & (leases.c.name == bindparam("of_name"))
_FIND = select(leases).where(_MINE)
_TAKE_AWAY = delete(leases).where(_MINE)
_GIVE = insert(leases)
_PROLONG = update(leases).where(_MINE).values(expires_at=bindparam("until"))
_RELEASE = (
    update(leases)
    .where(_MINE, leases.c.token == bindparam("of_token"), leases.c.holder == bindparam("of_holder"))
    .values(expires_at=0)
)


class SqlLeaseReader:
    """See who holds leases."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def holder(self, name: str) -> Lease | None:
        """Return the unexpired lease of a living holder, or None."""
        row = self._row(name)
        return _to_lease(row) if row is not None and self._is_alive(row) else None

    def _row(self, name: str) -> Row[Any] | None:
        return self._transaction.execute(_FIND, of_name=name).one_or_none()

    def _is_alive(self, row: Row[Any]) -> bool:
        expired = row.expires_at <= to_micros(self._transaction.now)
        return not expired and not is_gone(row.host, row.pid, row.process_started)


class SqlLeaseStore(SqlLeaseReader):
    """Hold, renew and give back leases."""

    def acquire(self, name: str, *, holder: str, duration: timedelta) -> Lease | None:
        """Take the lease, or return None while a living holder has it.

        A holder on this machine whose process is gone (host, pid and start time) loses it at once.
        """
        row = self._row(name)
        if row is not None and self._is_alive(row):
            return None
        now = self._transaction.now
        lease = Lease(
            name=name,
            holder=holder,
            host=machine(),
            pid=os.getpid(),
            token=1 if row is None else row.token + 1,
            expires_at=now + duration,
        )
        written = dataclasses.asdict(lease) | {
            "scope_id": self._transaction.scope_id,
            "process_started": process_mark(lease.pid),
            "acquired_at": to_micros(now),
            "expires_at": to_micros(lease.expires_at),
        }
        self._transaction.execute(_TAKE_AWAY, of_name=name)
        self._transaction.connection.execute(_GIVE, written)
        return lease

    def renew(self, lease: Lease, *, duration: timedelta) -> Lease:
        """Extend it; LeaseLostError if it changed hands or was given back."""
        self.assert_held(lease)
        renewed = dataclasses.replace(lease, expires_at=self._transaction.now + duration)
        self._transaction.execute(_PROLONG, of_name=lease.name, until=to_micros(renewed.expires_at))
        return renewed

    def assert_held(self, lease: Lease) -> None:
        """LeaseLostError if it changed hands or was given back."""
        row = self._row(lease.name)
        if row is None or not row.expires_at or (row.token, row.holder) != (lease.token, lease.holder):
            raise LeaseLostError(name=lease.name)

    def release(self, lease: Lease) -> None:
        """Give it back; nothing happens if it changed hands.

        The row stays, expired, so that the fencing token keeps growing.
        """
        self._transaction.execute(_RELEASE, of_name=lease.name, of_token=lease.token, of_holder=lease.holder)

    def revoke(self, name: str) -> None:
        """Free the lease whoever holds it, as on a copy, where its holder does not work."""
        self._transaction.execute(_PROLONG, of_name=name, until=0)


def _to_lease(row: Row[Any]) -> Lease:
    return Lease(
        name=row.name,
        holder=row.holder,
        host=row.host,
        pid=row.pid,
        token=row.token,
        expires_at=from_micros(row.expires_at),
    )
