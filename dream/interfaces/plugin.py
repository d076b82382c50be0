"""What `AgentHostBuilder.with_dreaming` installs."""

from collections.abc import Callable

from agentcore.hosting.parts import HostParts
from dream.cycle.dreams import Dreams
from dream.cycle.session_evaluator import SESSION_EVALUATOR
from dream.directives import KNOWN
from dream.directives.library import require_known
from dream.errors import UnknownPassError
from dream.interfaces.installed import installed_passes
from dream.options import OTHERS, DreamOptions, OwnPasses
from dream.passes.arrangement import arranged, brought

Configure = Callable[[DreamOptions], DreamOptions] | DreamOptions | None
DreamFactory = Callable[[HostParts], Dreams]


def install_dreaming(configure: Configure = None) -> DreamFactory:
    """Check the options and return what makes the dreams of a host.

    Args:
        configure: Options, or a function from the defaults to them.

    Raises:
        InvalidOptionsError: an option cannot have its value.
        UnknownPassError: a pass was named that does not exist.
        InvalidPassError: a pass of the host's own cannot join.
        InvalidEntryPointError: one that an installed package brings cannot.
        UnknownDirectiveError: a directive was named that does not exist.

    Example:
        >>> make = install_dreaming(lambda options: options.replace(modes={"near-duplicates": "off"}))
    """
    options = configure(DreamOptions()) if callable(configure) else configure or DreamOptions()
    options = options.replace(passes=OwnPasses((*installed_passes(), *options.passes)))
    known = (*(place.dream_pass.name for place in arranged(options.passes)), SESSION_EVALUATOR)
    for name in sorted(options.modes.keys() - {*known, OTHERS}):
        raise UnknownPassError(name=name, known=known)
    require_known(options.directives, {**KNOWN, **brought(options.passes)})
    return lambda parts: Dreams(parts, options)
