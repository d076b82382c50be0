"""What `AgentHostBuilder.with_dreaming` installs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from agentcore.domain.predicates import read_rules
from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.hosting.left_options import LeftOptions
from agentcore.hosting.services import HostServices
from agentcore.llm.gate import CallSlots
from dream.cycle.dreams import Dreams, HostDreams
from dream.cycle.listeners import DreamListeners
from dream.interfaces.installed import installed_passes
from dream.options import DreamOptions, OwnPasses
from dream.options.levels import OptionLevels, ScopeLevel, Told, levels_of, of_code
from dream.passes import require_names

Configure = Callable[[DreamOptions], DreamOptions] | DreamOptions | None
DreamFactory = Callable[[HostServices], Dreams]


def install_dreaming(
    configure: Configure = None,
    *,
    scopes: Sequence[tuple[str, Told]] = (),
    in_background: bool = True,
    data_dir: Path | None = None,
    left: LeftOptions | None = None,
) -> DreamFactory:
    """Check the options and return what makes the dreams of a host.

    Args:
        configure: Options, or a function to them from what the environment and the settings file say.
        scopes: The same of some scopes alone, by patterns such as `acme/*/*`, over what holds more widely.
        in_background: Whether the host starts them by themselves.
        data_dir: The folder with the settings file `agentcore.toml`, if there is one.
        left: What the code of another host says, to go by that too.

    Raises:
        InvalidOptionsError: an option cannot have its value.
        UnknownPassError: a pass was named that does not exist.
        InvalidPassError: a pass of the host's own cannot join.
        InvalidEntryPointError: one that an installed package brings cannot.
        UnknownDirectiveError: a directive was named that does not exist.

    Example:
        >>> make = install_dreaming(lambda options: options.replace(modes={"near-duplicates": "off"}))
    """
    wide = levels_of(data_dir, left)
    options = configure(wide.host) if callable(configure) else configure or wide.host
    installed = installed_passes()
    if installed:
        options = options.replace(passes=OwnPasses((*installed, *options.passes)))
    if options.verifier is not None:
        # Deferred, because it loads the guards, and few hosts have one.
        from dream.passes.host_verifier import host_verifier  # noqa: PLC0415

        options = options.replace(verifier=host_verifier(options.verifier))
    levels = wide.with_code(
        options, [_level(*one) for one in scopes], installed=[one.own_pass.name for one in installed]
    )
    for variant in levels.variants:
        require_names(variant)
        if left is None:  # another host's file may be on another machine
            read_rules(variant.claims.rules)
    return lambda parts: _dreams(parts, levels, in_background=in_background)


def _level(pattern: str, told: Told) -> ScopeLevel:
    return of_code(ScopePattern.parse(pattern), told)


def _dreams(parts: HostServices, levels: OptionLevels, *, in_background: bool) -> Dreams:
    parts = replace(parts, slots=CallSlots(levels.host.model.calls_in_flight))
    watch = DreamListeners(parts, levels)
    service = None
    if in_background:
        # Deferred, because a command starts no dream by itself.
        from dream.cycle.scheduling.planner import Planner  # noqa: PLC0415
        from dream.cycle.scheduling.scope_runners import ScopeRunners  # noqa: PLC0415
        from dream.cycle.scheduling.service import DreamService  # noqa: PLC0415

        planner, runners = Planner(levels, parts.ids, parts.capabilities), ScopeRunners(parts, levels)
        service = DreamService.of_host(parts=parts, runners=runners, planner=planner, watch=watch)
    return Dreams(parts, levels.of(Scope.default()), shared=HostDreams(watch, levels, service))
