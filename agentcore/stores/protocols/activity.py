"""Activity: when people and agents last did something, by whatever process and channel."""

from dataclasses import dataclass

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
