"""What `AgentHostBuilder.with_dreaming` installs."""

from collections.abc import Callable

from agentcore.hosting.parts import HostParts
from dream.cycle.dreams import Dreams
from dream.cycle.session_evaluator import SESSION_EVALUATOR
from dream.directives.library import require_known
from dream.errors import UnknownPassError
from dream.options import DreamOptions
from dream.passes import ORDER

Configure = Callable[[DreamOptions], DreamOptions] | DreamOptions | None
DreamFactory = Callable[[HostParts], Dreams]


def install_dreaming(configure: Configure = None) -> DreamFactory:
    """Check the options and return what makes the dreams of a host.

    Args:
        configure: Options, or a function from the defaults to them.

    Raises:
        InvalidOptionsError: an option cannot have its value.
        UnknownPassError: a pass was named that does not exist.
        UnknownDirectiveError: a directive was named that does not exist.

    Example:
        >>> make = install_dreaming(lambda options: options.replace(disabled={"near-duplicates"}))
    """
    options = configure(DreamOptions()) if callable(configure) else configure or DreamOptions()
    known = (*(place.dream_pass.name for place in ORDER), SESSION_EVALUATOR)
    for name in sorted(options.disabled - set(known)):
        raise UnknownPassError(name=name, known=known)
    require_known(options.directives)
    return lambda parts: Dreams(parts, options)
