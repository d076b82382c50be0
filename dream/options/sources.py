"""Where options come from: defaults, a preset, the settings file, the environment, the host's code; later ones win."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

import orjson

from agentcore.errors import InvalidOptionsError
from agentcore.hosting.options import Options
from agentcore.llm.settings_file import FILE_NAME, read_section
from dream.options import DreamOptions, Interval

SECTION = "dreaming"
"""The settings file's table of the options of dreams, and what their variables begin with after AGENTCORE_."""
PRESET = "preset"
"""The one key there that is no option: the preset that the others start from."""
_KIND = "kind"
_VARIABLES = "AGENTCORE_DREAMING"

Values = dict[str, Any]


class OptionSource(StrEnum):
    """Who said what an option is."""

    DEFAULT = "default"
    PRESET = "preset"
    FILE = "toml"
    ENVIRONMENT = "environment"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class EffectiveOption:
    """One option as it is in force.

    Args:
        name: Its path, such as `schedule.trigger.every`.
        value: What it is.
        source: Who said so.
    """

    name: str
    value: object
    source: OptionSource

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"name": self.name, "value": self.value, "source": self.source.value}


@dataclass(frozen=True, slots=True)
class Configured:
    """Options as the environment and the settings file say.

    Args:
        options: The options.
        sources: Who said what is no default, by path.
    """

    options: DreamOptions = field(default_factory=DreamOptions)
    sources: Mapping[str, OptionSource] = field(default_factory=dict[str, OptionSource])

    def effective(self, options: DreamOptions) -> list[EffectiveOption]:
        """Return every one of *options*, which the host's code may have changed, and who said what it is."""
        before = dict(_leaves(_document(self.options)))
        return [
            EffectiveOption(name, value, self._source(name) if before.get(name) == value else OptionSource.CODE)
            for name, value in _leaves(_document(options))
        ]

    def _source(self, name: str) -> OptionSource:
        parts = name.split(".")
        paths = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        return next((self.sources[path] for path in paths if path in self.sources), OptionSource.DEFAULT)


def configured(data_dir: Path | None = None) -> Configured:
    """Return the options that the environment and the settings file say; what neither says is the preset's, or usual.

    Args:
        data_dir: The folder with `agentcore.toml`, which need not exist; None for the environment alone.

    Raises:
        InvalidOptionsError: an option is unknown or cannot have its value, or the file cannot be read.
        ExceptionGroup: several are.

    Example:
        >>> configured().options.schedule.trigger.kind
        'interval'
    """
    written: Values = {} if data_dir is None else dict(read_section(data_dir / FILE_NAME, SECTION))
    said = _variables()
    from_file, from_variable = written.pop(PRESET, None), said.pop(PRESET, None)
    written, said = DreamOptions.current_names(written), DreamOptions.current_names(said)
    preset = from_file if from_variable is None else from_variable
    sources: dict[str, OptionSource] = {}
    layers = ((OptionSource.PRESET, _of_preset(preset)), (OptionSource.FILE, written), (OptionSource.ENVIRONMENT, said))
    if not any(layer for _, layer in layers):
        return Configured()
    # What is said of a trigger of no kind is said of the usual one.
    values: Values = {"schedule": {"trigger": {_KIND: Interval().kind}}}
    for source, layer in layers:
        values = _laid_over(values, layer)
        sources |= dict.fromkeys((name for name, _ in _leaves(layer)), source)
    return Configured(DreamOptions(**values), sources)


def _variables() -> Values:
    if not any(name.upper().startswith(_VARIABLES) for name in os.environ):
        return {}
    from dream.options.environment import read_variables  # noqa: PLC0415 - a hundredth of a second, seldom wanted

    return cast("Values", _read(read_variables()))


def _of_preset(name: object) -> Values:
    if name is None:
        return {}
    if not isinstance(name, str):
        raise InvalidOptionsError(field=f"{SECTION}.{PRESET}", value=name, allowed="give the name of a preset")
    return _said(DreamOptions.preset(name))


def _said(options: Options) -> Values:
    """Return what was said when *options* were made, and which trigger it is about."""
    values: Values = {}
    for name in type(options).model_fields:
        value = getattr(options, name)
        if isinstance(value, Options):
            if nested := _said(value):
                values[name] = nested
        elif name == _KIND or name in options.model_fields_set:
            values[name] = value
    return values


def _laid_over(below: Values, above: Values) -> Values:
    """Return *below* with what *above* says; another trigger leaves nothing of the one below."""
    if _KIND in above and above[_KIND] != below.get(_KIND):
        return above
    merged = dict(below)
    for name, value in above.items():
        under = merged.get(name)
        both = isinstance(value, dict) and isinstance(under, dict)
        merged[name] = _laid_over(cast("Values", under), cast("Values", value)) if both else value
    return merged


def _read(value: object) -> object:
    """Return what a variable says: JSON if it is that, else its text."""
    if isinstance(value, dict):
        return {name: _read(inner) for name, inner in cast("Values", value).items()}
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        return value


def _document(options: DreamOptions) -> Values:
    return options.model_dump(mode="json")


def _leaves(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(cast("Values", value), f"{path}{name}.")
        else:
            yield f"{path}{name}", value
