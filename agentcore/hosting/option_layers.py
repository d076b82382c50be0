"""Lays options over each other: what a person said stands over what was said more widely, value by value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar, cast

from agentcore.hosting.options import Options

OptionsT = TypeVar("OptionsT", bound=Options)

Values = dict[str, Any]
"""Values by name; those of a section stand in a mapping of their own."""
KIND = "kind"
"""What tells a choice of options from others, such as a trigger: another kind leaves nothing of the one before."""


class OptionSource(StrEnum):
    """Who said what an option is."""

    DEFAULT = "default"
    PRESET = "preset"
    FILE = "toml"
    ADMIN = "admin"
    """An admin of the scope, over REST or on the page."""
    ENVIRONMENT = "environment"
    CODE = "code"
    HOST = "host"
    """The code of a host that ran on this data directory, as it left it in the database for others."""


@dataclass(frozen=True, slots=True)
class EffectiveOption:
    """One option as it is in force.

    Args:
        name: Its path, such as `schedule.trigger.every`.
        value: What it is.
        source: Who said so.
        scopes: Of which scopes that was said, such as `acme/*/*`; None for the whole host.
    """

    name: str
    value: object
    source: OptionSource
    scopes: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"name": self.name, "value": self.value, "source": self.source.value, "scopes": self.scopes}


def said(options: Options) -> Values:
    """Return what was said when *options* were made, and of which kind they are.

    Example:
        >>> from agentcore.hosting.options import MemoryOptions
        >>> said(MemoryOptions(floor=0.2).replace(k1=1.0))
        {'floor': 0.2, 'k1': 1.0}
    """
    values: Values = {}
    for name in type(options).model_fields:
        value = getattr(options, name)
        if isinstance(value, Options):
            if nested := said(value):
                values[name] = nested
        elif name == KIND or name in options.model_fields_set:
            values[name] = value
    return values


def changed(before: Options, after: Options) -> Values:
    """Return what of *after* differs from *before*; a mapping that differs stands whole."""
    values: Values = {}
    for name in type(after).model_fields:
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        is_section = isinstance(new, Options) and type(old) is type(new)
        values[name] = changed(cast("Options", old), new) if is_section else new
    return values


def overlaid(options: OptionsT, above: Mapping[str, Any], *, replaces_mappings: bool = False) -> OptionsT:
    """Return *options* with what *above* says; a choice of another kind leaves nothing of the one before.

    Args:
        options: What was said more widely.
        above: What is said more narrowly, section by section, as in a file.
        replaces_mappings: Whether a mapping takes the place of one before; else its items stand beside the others.

    Raises:
        InvalidOptionsError: an option is unknown or cannot have its value.
        ExceptionGroup: several are.

    Example:
        >>> from agentcore.hosting.options import MemoryOptions
        >>> overlaid(MemoryOptions(floor=0.2), {"half_life": "90d"}).half_life.days
        90
    """
    changes: Values = {}
    for name, value in type(options).current_names(above).items():
        before: object = getattr(options, name, None)
        if isinstance(before, Options) and isinstance(value, Mapping):
            changes[name] = _section(before, cast("Mapping[str, Any]", value), replaces_mappings=replaces_mappings)
        elif isinstance(before, Mapping) and isinstance(value, Mapping) and not replaces_mappings:
            changes[name] = {**before, **value}
        else:
            changes[name] = value
    return options.replace(**changes)


def _section(before: Options, above: Mapping[str, Any], *, replaces_mappings: bool) -> object:
    if above.get(KIND, getattr(before, KIND, None)) != getattr(before, KIND, None):
        return dict(above)
    return overlaid(before, above, replaces_mappings=replaces_mappings)


def leaves(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, object]]:
    """Yield each value with its path.

    Example:
        >>> dict(leaves({"model": {"profile": "small"}, "lease": 60}))
        {'model.profile': 'small', 'lease': 60}
    """
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(cast("Values", value), f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def shown(options: Options) -> dict[str, object]:
    """Return each value as it is shown, with its path."""
    return dict(leaves(options.model_dump(mode="json", fallback=_name)))


def _name(value: object) -> str:
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def wider(path: str) -> Iterator[str]:
    """Yield a path and each that it lies below, the narrowest first.

    Example:
        >>> list(wider("schedule.trigger.every"))
        ['schedule.trigger.every', 'schedule.trigger', 'schedule']
    """
    parts = path.split(".")
    yield from (".".join(parts[:end]) for end in range(len(parts), 0, -1))
