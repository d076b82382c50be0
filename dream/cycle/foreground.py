"""People go first: whose turns hold the dreams of a scope back."""

from agentcore.domain.busy_reach import BusyReach
from agentcore.domain.scope import Scope
from agentcore.hosting.busy import BusyWatch
from agentcore.hosting.parts import HostParts
from dream.options import DreamOptions


def people_before(parts: HostParts, options: DreamOptions, scope: Scope) -> BusyWatch:
    """Return what tells whether people are served who hold back the dreams of *scope*.

    A model that is marked as shared answers people of all scopes: it is waited for whosever turn it is.
    """
    reach = BusyReach.ALL if parts.shares_endpoint else options.schedule.busy_reach
    return parts.watch.of(scope, reach)
