"""What the dreams of all scopes of a host share."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dream.cycle.watching import DreamListeners
from dream.options.sources import Configured

if TYPE_CHECKING:
    from dream.cycle.scheduling.service import DreamService


@dataclass(frozen=True, slots=True)
class HostDreams:
    """Shared by the dreams of every scope; lives as long as the host.

    Args:
        watch: Who wants to know of the host's runs.
        service: What starts dreams by themselves; None if nothing does.
        configured: The options as they were before the host's code had its say.
    """

    watch: DreamListeners
    service: "DreamService | None" = None
    configured: Configured = field(default_factory=Configured)
