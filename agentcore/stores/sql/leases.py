"""Leases: one holder per name and scope, fenced, freed at once when its process on this machine is gone."""

import os
import platform
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Row, delete, insert, select, update

from agentcore.domain.instants import from_micros, to_micros
from agentcore.errors import LeaseLostError
from agentcore.stores.protocols import Lease
from agentcore.stores.sql.schema import leases
from agentcore.stores.sql.transaction import Transaction


class SqlLeaseStore:
    """Leases of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = leases.c.scope_id == transaction.scope_id

    def acquire(self, name: str, *, holder: str, duration: timedelta) -> Lease | None:
        """Take the lease, or return None while a living holder has it."""
        row = self._row(name)
        if row is not None and self._is_alive(row):
            return None
        token = 1 if row is None else row.token + 1
        now = self._transaction.now
        self._connection.execute(delete(leases).where(self._mine, leases.c.name == name))
        self._connection.execute(
            insert(leases).values(
                scope_id=self._transaction.scope_id,
                name=name,
                holder=holder,
                host=platform.node(),
                pid=os.getpid(),
                process_started=process_started(os.getpid()) or "",
                token=token,
                acquired_at=to_micros(now),
                expires_at=to_micros(now + duration),
            ),
        )
        return self.holder(name)

    def holder(self, name: str) -> Lease | None:
        """Return the unexpired lease of a living holder, or None."""
        row = self._row(name)
        return _to_lease(row) if row is not None and self._is_alive(row) else None

    def renew(self, lease: Lease, *, duration: timedelta) -> Lease:
        """Extend it; LeaseLostError if it changed hands."""
        self.assert_held(lease)
        expires_at = to_micros(self._transaction.now + duration)
        statement = update(leases).where(self._mine, leases.c.name == lease.name).values(expires_at=expires_at)
        self._connection.execute(statement)
        return self.holder(lease.name) or lease

    def assert_held(self, lease: Lease) -> None:
        """LeaseLostError if it changed hands."""
        row = self._row(lease.name)
        if row is None or not row.expires_at or (row.token, row.holder) != (lease.token, lease.holder):
            raise LeaseLostError(name=lease.name)

    def release(self, lease: Lease) -> None:
        """Give it back; nothing happens if it changed hands.

        The row stays, expired, so that the fencing token keeps growing.
        """
        statement = (
            update(leases)
            .where(self._mine, leases.c.name == lease.name, leases.c.token == lease.token)
            .where(leases.c.holder == lease.holder)
            .values(expires_at=0)
        )
        self._connection.execute(statement)

    def _row(self, name: str) -> Row[Any] | None:
        return self._connection.execute(select(leases).where(self._mine, leases.c.name == name)).one_or_none()

    def _is_alive(self, row: Row[Any]) -> bool:
        if row.expires_at <= to_micros(self._transaction.now):
            return False
        if row.host != platform.node():
            return True
        return process_started(row.pid) == row.process_started


def process_started(pid: int) -> str | None:
    """Return when process *pid* of this machine started, in the kernel's own ticks; None if it is gone.

    Where the kernel does not tell (no /proc), a living process answers with an empty text.
    """
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        fields = status.rpartition(")")[2].split()
        return None if fields[0] in {"Z", "X"} else fields[19]
    except FileNotFoundError:
        return None if Path("/proc/self/stat").exists() or not _answers(pid) else ""
    except (OSError, IndexError):
        return ""


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _to_lease(row: Row[Any]) -> Lease:
    return Lease(
        name=row.name,
        holder=row.holder,
        host=row.host,
        pid=row.pid,
        token=row.token,
        expires_at=from_micros(row.expires_at),
    )
