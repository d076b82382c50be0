"""Keeps leases, and who is serving a person: both freed at once when their process on this machine is gone.

A lease has one holder per name and scope, and is fenced. Processes that share a database tell each other whom they
serve, so that none dreams while another is needed.
"""

import dataclasses
import os
import platform
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Row, and_, bindparam, delete, insert, or_, select, true, update

from agentcore.domain.busy_reach import BusyReach
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.errors import LeaseLostError
from agentcore.stores.sql.schema import busy_holders, leases
from agentcore.stores.sql.transaction import Transaction, of_my_scope
from agentcore.stores.values import BusyHolder, Lease

_PROC = Path("/proc")
_DEAD = frozenset({"Z", "X", "x"})


def machine() -> str:
    """Return this machine's name."""
    return platform.node()


def process_mark(pid: int) -> str:
    """Return what tells process *pid* from a later one with the same number: kernel, process namespace, start tick.

    Without /proc, or when the process is gone, it is shorter: whatever could not be learned is missing.
    """
    return ".".join((*_kernel(), _start_tick(pid) or ""))


def is_gone(host: str, pid: int, mark: str) -> bool:
    """Tell whether the process is certainly no more; one that cannot be seen from here counts as living.

    Args:
        host: The `machine` it ran on.
        pid: Its number there.
        mark: Its `process_mark`, as it was when it was written down.
    """
    *kernel, tick = mark.split(".")
    if host != machine() or tuple(kernel) != _kernel():
        return False
    if not _answers(pid):
        return True
    present = _start_tick(pid)
    return present == "" or (bool(present) and bool(tick) and present != tick)


def _kernel() -> tuple[str, str]:
    """Return the boot and the process namespace: in another one of either, a number names another process."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return boot.replace("-", ""), (_PROC / "self/ns/pid").readlink().name.strip("pid:[]")
    except OSError:
        return "", ""


def _start_tick(pid: int) -> str | None:
    """Return the tick at which *pid* started, empty for a zombie, None where the kernel does not tell."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        return "" if fields[0] in _DEAD else fields[19]
    except (OSError, IndexError):
        return None


def _answers(pid: int) -> bool:
    if os.name == "nt":
        return True  # there, signal 0 is Ctrl+C
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


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
        expired = row.expires_at <= to_micros(self._transaction.shared_now)
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
        now = self._transaction.shared_now
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
        renewed = dataclasses.replace(lease, expires_at=self._transaction.shared_now + duration)
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


_HOLDERS = busy_holders.c
_NOBODY_SAID = ("", "", "")
"""The parts of no scope: that of a turn of which nobody said whose it is."""
_IN_WORKSPACE = _HOLDERS.workspace.in_(["", bindparam("workspace")])
_REACHES = {
    BusyReach.SCOPE: and_(
        _IN_WORKSPACE,
        or_(
            _HOLDERS.workspace == "",
            and_(_HOLDERS.observer == bindparam("observer"), _HOLDERS.observed == bindparam("observed")),
        ),
    ),
    BusyReach.WORKSPACE: _IN_WORKSPACE,
    BusyReach.ALL: true(),
}
_UNEXPIRED = {
    reach: select(busy_holders)
    .where(_HOLDERS.expires_at > bindparam("now"), _HOLDERS.holder != bindparam("besides"), condition)
    .order_by(_HOLDERS.since, _HOLDERS.holder, _HOLDERS.workspace, _HOLDERS.observer, _HOLDERS.observed)
    for reach, condition in _REACHES.items()
}
_OF_HOLDER = and_(
    _HOLDERS.workspace == bindparam("b_workspace"),
    _HOLDERS.observer == bindparam("b_observer"),
    _HOLDERS.observed == bindparam("b_observed"),
    _HOLDERS.holder == bindparam("b_holder"),
)


class SqlBusyReader:
    """See who serves people, of whatever scope unless told otherwise."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection

    def holders(self, *, besides: str | None = None, reach: BusyReach = BusyReach.ALL) -> list[BusyHolder]:
        """Return who serves a person now that holds back the dreams of the view's scope, the longest first.

        What expired does not count, nor does who ran on this machine and whose process (host, pid and start time) is
        gone.

        Args:
            besides: The holder that asks, which is left out.
            reach: Whose turns count; those of nobody knows which scope always do.
        """
        scope = self._transaction.scope
        given = {"now": to_micros(self._transaction.shared_now), "besides": besides or ""}
        if reach is not BusyReach.ALL:
            given |= {"workspace": scope.workspace}
        if reach is BusyReach.SCOPE:
            given |= {"observer": scope.observer, "observed": scope.observed}
        return [
            BusyHolder(
                holder=row.holder,
                host=row.host,
                pid=row.pid,
                since=from_micros(row.since),
                expires_at=from_micros(row.expires_at),
                scope=Scope(row.workspace, row.observer, row.observed) if row.workspace else None,
            )
            for row in self._connection.execute(_UNEXPIRED[reach], given)
            if not is_gone(row.host, row.pid, row.process_started)
        ]


class SqlBusyStore(SqlBusyReader):
    """Announce who serves people; nothing of a scope changes by it, so neither revision nor change feed moves."""

    def announce(self, holder: str, *, duration: timedelta, scopes: Collection[Scope | None] = (None,)) -> None:
        """Count as serving people for *duration* from now; the beginning stays when it is announced again.

        Args:
            holder: Who serves them.
            duration: For how long.
            scopes: Whose people; None is nobody knows whose.
        """
        now = self._transaction.shared_now
        self._connection.execute(delete(busy_holders).where(_HOLDERS.expires_at <= to_micros(now)))
        mine = {
            "holder": holder,
            "host": machine(),
            "pid": os.getpid(),
            "process_started": process_mark(os.getpid()),
            "since": to_micros(now),
            "expires_at": to_micros(now + duration),
        }
        standing = select(_HOLDERS.workspace, _HOLDERS.observer, _HOLDERS.observed).where(_HOLDERS.holder == holder)
        known = {tuple(row) for row in self._connection.execute(standing)}
        renewed = [_named(holder, scope) for scope in scopes if tuple(_parts(scope).values()) in known]
        new = [mine | _parts(scope) for scope in scopes if tuple(_parts(scope).values()) not in known]
        if renewed:
            self._connection.execute(
                update(busy_holders).where(_OF_HOLDER).values(expires_at=mine["expires_at"]), renewed
            )
        if new:
            self._connection.execute(insert(busy_holders), new)

    def withdraw(self, holder: str, *, scopes: Collection[Scope | None] | None = None) -> None:
        """No longer count as serving people of *scopes*, of any if None; nothing happens if it did not."""
        if scopes is None:
            self._connection.execute(delete(busy_holders).where(_HOLDERS.holder == holder))
        elif scopes:
            self._connection.execute(
                delete(busy_holders).where(_OF_HOLDER), [_named(holder, scope) for scope in scopes]
            )


def _named(holder: str, scope: Scope | None) -> dict[str, str]:
    return {"b_holder": holder, **{f"b_{name}": part for name, part in _parts(scope).items()}}


def _parts(scope: Scope | None) -> dict[str, str]:
    parts = _NOBODY_SAID if scope is None else (scope.workspace, scope.observer, scope.observed)
    return dict(zip(("workspace", "observer", "observed"), parts, strict=True))
