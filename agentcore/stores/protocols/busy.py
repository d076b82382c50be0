"""Who serves people: processes that share a database tell each other, so that none dreams while another is needed."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyHolder:
    """Somebody who serves a person, until that expires.

    Args:
        holder: Id of the host.
        host: Machine of its process.
        pid: Its process.
        since: When it began.
        expires_at: When it no longer counts unless it is announced again.
    """

    holder: str
    host: str
    pid: int
    since: datetime
    expires_at: datetime


class BusyReader(Protocol):
    """See who serves people; the one thing in a view that is not bound to its scope."""

    def holders(self, *, besides: str | None = None) -> list[BusyHolder]:
        """Return who serves a person now, the longest first.

        What expired does not count, nor does who ran on this machine and whose process (host, pid and start time) is
        gone.

        Args:
            besides: The holder that asks, which is left out.
        """
        ...


class BusyStore(BusyReader, Protocol):
    """Tell others; nothing of a scope changes by it, so neither revision nor change feed moves."""

    def announce(self, holder: str, *, duration: timedelta) -> None:
        """Count as serving a person for *duration* from now; the beginning stays when it is announced again."""
        ...

    def withdraw(self, holder: str) -> None:
        """No longer count; nothing happens if it did not."""
        ...
