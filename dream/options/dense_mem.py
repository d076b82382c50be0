"""Reads Dense-Mem's variables, which hold where ours say nothing."""

from collections.abc import Mapping
from typing import Any, Final

from agentcore.errors import InvalidOptionsError
from dream.domain.declaration import PassMode, Preset
from dream.domain.guessing_passes import HYPOTHESES, RE_EVALUATE, REFLECT

_MOST_OUTPUTS: Final = 50
_TRUE: Final = frozenset({"true", "1", "t", "yes", "on"})
_FALSE: Final = frozenset({"false", "0", "f", "no", "off"})
_PHASES: Final = {
    "DREAMING_REFLECT_ENABLED": REFLECT.name,
    "DREAMING_REEVALUATE_ENABLED": RE_EVALUATE.name,
    "DREAMING_DREAM_ENABLED": HYPOTHESES.name,
}


def dense_mem_variables(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return what Dense-Mem's variables say of our options, those that are set.

    `DREAMING_ENABLED` starts or stops the schedule alone: a run by hand is made all the same. Where it is true and
    nothing names a preset, the preset is `reviewed`.

    Raises:
        InvalidOptionsError: one that is true or false is neither, or the number of outputs is none.

    Example:
        >>> dense_mem_variables({"DREAMING_ENABLED": "false", "APP_TIMEZONE": "America/New_York"})
        {'schedule': {'enabled': False, 'zone': 'America/New_York'}}
    """
    told = {name: value.strip() for name, value in environment.items() if value.strip()}
    schedule: dict[str, Any] = {}
    found: dict[str, Any] = {}
    if "DREAMING_ENABLED" in told:
        schedule["enabled"] = _flag("DREAMING_ENABLED", told["DREAMING_ENABLED"])
        if schedule["enabled"]:
            found["preset"] = Preset.REVIEWED.value
    if "DREAMING_START_TIME_LOCAL" in told:
        schedule["trigger"] = {"kind": "daily", "at": told["DREAMING_START_TIME_LOCAL"]}
    if "APP_TIMEZONE" in told and any(name.startswith("DREAMING_") for name in told):
        schedule["zone"] = told["APP_TIMEZONE"]
    if "DREAMING_FORCE_ENABLED" in told:
        found["ignore_scope_switches"] = _flag("DREAMING_FORCE_ENABLED", told["DREAMING_FORCE_ENABLED"])
    if "DREAMING_MAX_OUTPUTS" in told:
        found["hypotheses"] = {"max_outputs": _number("DREAMING_MAX_OUTPUTS", told["DREAMING_MAX_OUTPUTS"])}
    modes = {
        phase: (PassMode.APPLY if _flag(name, told[name]) else PassMode.OFF).value
        for name, phase in _PHASES.items()
        if name in told
    }
    return found | ({"schedule": schedule} if schedule else {}) | ({"modes": modes} if modes else {})


def _flag(name: str, value: str) -> bool:
    if value.casefold() in _TRUE | _FALSE:
        return value.casefold() in _TRUE
    raise InvalidOptionsError(field=name, value=value, allowed="write true or false")


def _number(name: str, value: str) -> int:
    if value.isdecimal() and 1 <= int(value) <= _MOST_OUTPUTS:
        return int(value)
    raise InvalidOptionsError(field=name, value=value, allowed=f"write a number from 1 to {_MOST_OUTPUTS}")
