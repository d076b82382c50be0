"""Leases: the right to be the only one who does something in a scope."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to be the only one who does *name* in a scope, until it expires.

    Args:
        name: What it is for.
        holder: Id of the holder.
        host: Machine of the holder.
        pid: Process of the holder.
        token: Fencing token; grows with every change of hands.
        expires_at: When it runs out unless renewed.
    """

    name: str
    holder: str
    host: str
    pid: int
    token: int
    expires_at: datetime


class LeaseReader(Protocol):
    """See who holds leases."""

    def holder(self, name: str) -> Lease | None:
        """Return the unexpired lease of a living holder, or None."""
        ...


class LeaseStore(LeaseReader, Protocol):
    """Hold, renew and give back leases."""

    def acquire(self, name: str, *, holder: str, duration: timedelta) -> Lease | None:
        """Take the lease, or return None while a living holder has it.

        A holder on this machine whose process is gone (host, pid and start time) loses it at once.
        """
        ...

    def renew(self, lease: Lease, *, duration: timedelta) -> Lease:
        """Extend it; LeaseLostError if it changed hands or was given back."""
        ...

    def assert_held(self, lease: Lease) -> None:
        """LeaseLostError if it changed hands or was given back."""
        ...

    def release(self, lease: Lease) -> None:
        """Give it back; nothing happens if it changed hands. The token goes on growing."""
        ...

    def revoke(self, name: str) -> None:
        """Free the lease whoever holds it, as on a copy, where its holder does not work."""
        ...
