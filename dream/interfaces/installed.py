"""Passes that installed packages bring, by the entry-point group `dream.passes`."""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from agentcore.errors import AgentcoreError
from dream.errors import InvalidEntryPointError
from dream.options import OwnPasses
from dream.passes import arranged

GROUP: Final = "dream.passes"
"""An entry point of it names a function from the passes so far to more of them."""


def installed_passes() -> OwnPasses:
    """Return the passes of all installed packages, in the order of the names of their entry points.

    Raises:
        InvalidEntryPointError: one of them cannot be loaded, or does not add passes that can join the others.
    """
    own = OwnPasses()
    for point in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        own = _extended(own, point)
    return own


def _extended(own: OwnPasses, point: EntryPoint) -> OwnPasses:
    try:
        extend: Callable[[OwnPasses], object] = point.load()
        extended = extend(own)
    except Exception as error:
        raise _refusal(point, f"{type(error).__name__}: {error}") from error
    if not isinstance(extended, OwnPasses):
        raise _refusal(point, "it must name a function that takes and returns the own passes")
    try:
        arranged(extended)
    except AgentcoreError as error:
        raise _refusal(point, str(error)) from error
    return extended


def _refusal(point: EntryPoint, problem: str) -> InvalidEntryPointError:
    package = point.dist.name if point.dist is not None else point.module
    return InvalidEntryPointError(group=GROUP, name=point.name, package=package, problem=problem)
