"""What one request or tool call works with."""

from dataclasses import dataclass

from agentcore.domain.scope import Scope
from agentcore.hosting.host import Host
from agentcore.hosting.scoped_host import ScopedHost
from dream.interfaces.serving.caller import Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopedCall:
    """Who asks, of whose memory, and the services that answer; lives as long as the request.

    Args:
        caller: Who asks.
        host: The host.
        scope: Whose memory.
        services: The host's services, bound to that scope.
    """

    caller: Caller
    host: Host
    scope: Scope
    services: ScopedHost

    @classmethod
    def of(cls, host: Host, caller: Caller, scope: str | None) -> "ScopedCall":
        """Return a call of *caller* on the scope that it names, if it reaches it.

        Raises:
            InvalidScopeError: the name is no scope.
            NotAllowedError: the caller does not reach it.
        """
        meant = caller.scope(scope)
        return cls(caller=caller, host=host, scope=meant, services=host.for_scope(meant))
