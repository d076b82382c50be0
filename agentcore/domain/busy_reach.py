"""Defines whose turns hold a scope's dreams back."""

from enum import StrEnum

from agentcore.domain.scope import Scope


class BusyReach(StrEnum):
    """How far a person's turn reaches; a turn of which nobody said whose it is reaches everybody."""

    SCOPE = "scope"
    """It holds back dreams of its own scope."""
    WORKSPACE = "workspace"
    """It holds back dreams of all scopes of its workspace, as those of one tenant."""
    ALL = "all"
    """It holds back every dream, as where all of them share one model."""

    def holds_back(self, served: Scope | None, dreaming: Scope) -> bool:
        """Tell whether a turn of the scope *served* (None: nobody said whose) holds back dreams of another.

        Example:
            >>> ana, ben = Scope("acme", "agent", "ana"), Scope("acme", "agent", "ben")
            >>> [reach.holds_back(ben, ana) for reach in BusyReach], BusyReach.SCOPE.holds_back(None, ana)
            ([False, True, True], True)
        """
        if served is None or self is BusyReach.ALL:
            return True
        return served.workspace == dreaming.workspace if self is BusyReach.WORKSPACE else served == dreaming
