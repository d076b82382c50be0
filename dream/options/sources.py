"""Where options of a whole host come from: defaults, a preset, the settings file, the environment; later ones win."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import orjson

from agentcore.errors import InvalidOptionsError
from agentcore.hosting.option_layers import (
    KIND,
    EffectiveOption,
    OptionSource,
    Values,
    leaves,
    said,
    shown,
    wider,
)
from agentcore.llm.settings_file import FILE_NAME, read_section
from dream.options import DreamOptions, Interval
from dream.options.dense_mem import dense_mem_variables

SECTION = "dreaming"
"""The settings file's table of the options of dreams, and what their variables begin with after AGENTCORE_."""
PRESET = "preset"
"""The one key there that is no option: the preset that the others start from."""
_VARIABLES = "AGENTCORE_DREAMING"


@dataclass(frozen=True, slots=True)
class Configured:
    """Options as the environment and the settings file say.

    Args:
        options: The options.
        sources: Who said what is no default, by path.
    """

    options: DreamOptions = field(default_factory=DreamOptions)
    sources: Mapping[str, OptionSource] = field(default_factory=dict[str, OptionSource])

    def effective(self, options: DreamOptions, by: OptionSource = OptionSource.CODE) -> list[EffectiveOption]:
        """Return every one of *options*, which *by* may have changed, and who said what it is."""
        before = shown(self.options)
        return [
            EffectiveOption(name, value, self._source(name) if before.get(name) == value else by)
            for name, value in shown(options).items()
        ]

    def _source(self, name: str) -> OptionSource:
        return next((self.sources[path] for path in wider(name) if path in self.sources), OptionSource.DEFAULT)


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
    told, foreign = _variables(), dense_mem_variables(os.environ)
    from_file, from_variable = written.pop(PRESET, None), told.pop(PRESET, None)
    usual_preset = foreign.pop(PRESET, None)
    written, told = DreamOptions.current_names(written), DreamOptions.current_names(told)
    preset = next((one for one in (from_variable, from_file, usual_preset) if one is not None), None)
    sources: dict[str, OptionSource] = {}
    layers = (
        (OptionSource.PRESET, of_preset(preset)),
        (OptionSource.ENVIRONMENT, foreign),
        (OptionSource.FILE, written),
        (OptionSource.ENVIRONMENT, told),
    )
    if not any(layer for _, layer in layers):
        return Configured()
    # What is said of a trigger of no kind is said of the usual one.
    values: Values = {"schedule": {"trigger": {KIND: Interval().kind}}}
    for source, layer in layers:
        values = _laid_over(values, layer)
        sources |= dict.fromkeys((name for name, _ in leaves(layer)), source)
    return Configured(DreamOptions(**values), sources)


def of_preset(name: object) -> Values:
    """Return what a preset says; nothing if None.

    Raises:
        InvalidOptionsError: there is none of that name.
    """
    if name is None:
        return {}
    if not isinstance(name, str):
        raise InvalidOptionsError(field=f"{SECTION}.{PRESET}", value=name, allowed="give the name of a preset")
    return said(DreamOptions.preset(name))


def _variables() -> Values:
    if not any(name.upper().startswith(_VARIABLES) for name in os.environ):
        return {}
    from dream.options.environment import read_variables  # noqa: PLC0415 - a hundredth of a second, seldom wanted

    return cast("Values", _read(read_variables()))


def _laid_over(below: Values, above: Values) -> Values:
    """Return *below* with what *above* says; another trigger leaves nothing of the one below."""
    if KIND in above and above[KIND] != below.get(KIND):
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
        return {name: _read(inner) for name, inner in cast("dict[str, Any]", value).items()}
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        return value
