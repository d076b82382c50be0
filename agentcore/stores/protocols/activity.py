"""Activity: when people and agents last did something, by whatever process and channel."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from agentcore.domain.scope import Scope


@dataclass(frozen=True, slots=True, order=True)
class Peer:
    """Somebody a workspace has memories of: its activity concerns whoever observes it.

    Args:
        workspace: The tenant or application.
        observed: Whom memories are about.

    Example:
        >>> Peer.of(Scope("acme", "agent", "ana"))
        Peer(workspace='acme', observed='ana')
    """

    workspace: str
    observed: str

    @classmethod
    def of(cls, scope: Scope) -> "Peer":
        """Return whom *scope* is about."""
        return cls(scope.workspace, scope.observed)


class ActivityReader(Protocol):
    """See when the scope's peer was active."""

    def last(self) -> datetime | None:
        """Return when the peer of the view's scope was last active, whoever observed it; None if it never was."""
        ...

    def explicit_entries(self) -> int:
        """Return how many explicit entries people and imports have ever added to the scope; it only grows."""
        ...


class ActivityStore(ActivityReader, Protocol):
    """Record activity that comes without a record.

    A transaction of a host or an import records its own: whoever adds turns, entries or signals, or says an entry
    again, is active at its instant. What dreams write is no activity, nor what belongs to sessions that are off.
    """

    def touch(self, moments: Mapping[Peer, datetime]) -> None:
        """Note that peers, of whatever scope, were active; an earlier moment than the known one changes nothing."""
        ...

    def notify(self) -> None:
        """Have whoever plans dreams look again at those of the scope's peer; it is no activity."""
        ...
