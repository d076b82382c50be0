"""Who serves people: processes that share a database tell each other, so that none dreams while another is needed."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from agentcore.domain.busy_reach import BusyReach
from agentcore.domain.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyHolder:
    """Somebody who serves a person, until that expires.

    Args:
        holder: Id of the host.
        host: Machine of its process.
        pid: Its process.
        since: When it began.
        expires_at: When it no longer counts unless it is announced again.
        scope: Whose person it is; None if nobody said so, which holds back all dreams.
    """

    holder: str
    host: str
    pid: int
    since: datetime
    expires_at: datetime
    scope: Scope | None = None


class BusyReader(Protocol):
    """See who serves people, of whatever scope unless told otherwise."""

    def holders(self, *, besides: str | None = None, reach: BusyReach = BusyReach.ALL) -> list[BusyHolder]:
        """Return who serves a person now that holds back the dreams of the view's scope, the longest first.

        What expired does not count, nor does who ran on this machine and whose process (host, pid and start time) is
        gone.

        Args:
            besides: The holder that asks, which is left out.
            reach: Whose turns count; those of nobody knows which scope always do.
        """
        ...


class BusyStore(BusyReader, Protocol):
    """Tell others; nothing of a scope changes by it, so neither revision nor change feed moves."""

    def announce(self, holder: str, *, duration: timedelta, scopes: Collection[Scope | None] = (None,)) -> None:
        """Count as serving people for *duration* from now; the beginning stays when it is announced again.

        Args:
            holder: Who serves them.
            duration: For how long.
            scopes: Whose people; None is nobody knows whose.
        """
        ...

    def withdraw(self, holder: str, *, scopes: Collection[Scope | None] | None = None) -> None:
        """No longer count as serving people of *scopes*, of any if None; nothing happens if it did not."""
        ...
