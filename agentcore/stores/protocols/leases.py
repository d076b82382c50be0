"""Leases: the right to be the only one who does something in a scope."""

from dataclasses import dataclass
from datetime import datetime


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
