"""Who serves people: processes that share a database tell each other, so that none dreams while another is needed."""

from dataclasses import dataclass
from datetime import datetime

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
