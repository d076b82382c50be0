"""Reads durations as people write them: `30s`, `4h`, `1h30m`, `45d`."""

import re
from datetime import timedelta
from typing import Final

_UNITS: Final = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|min|s|m|h|d|w)\s*", re.ASCII)
_MOST = 64
_DAY = timedelta(days=1)

MEANT_IN_DAYS: Final = "write a duration with its unit, such as 45d or 12h; a bare number would be seconds"
"""What is told where a bare number is refused."""


def read_duration(text: str) -> timedelta | None:
    """Return the duration that *text* says in numbers with units; None if it says none so.

    Raises:
        OverflowError: it is too long for any `timedelta`.

    Example:
        >>> read_duration("1h30m"), read_duration("45 d"), read_duration("PT4H")
        (datetime.timedelta(seconds=5400), datetime.timedelta(days=45), None)
    """
    left, total = text.strip().lower(), timedelta()
    if not left or len(left) > _MOST:
        return None
    sign = -1 if left.startswith("-") else 1
    left = left.removeprefix("-")
    while left:
        part = _PART.match(left)
        if part is None:
            return None
        total += float(part[1]) * _UNITS[part[2]]
        left = left[part.end() :]
    return sign * total


def is_ambiguous(value: object, default: object) -> bool:
    """Tell whether a bare number is given for what is measured in days: its unit has to be told.

    Args:
        value: What was given.
        default: What the option is by default; a day or more means that it is measured in days.

    Example:
        >>> is_ambiguous(60, timedelta(days=45)), is_ambiguous(60, timedelta(seconds=5)), is_ambiguous(0, _DAY)
        (True, False, False)
    """
    if not isinstance(default, timedelta) or default < _DAY or isinstance(value, bool):
        return False
    try:
        return isinstance(value, (int, float, str)) and float(value) > 0
    except ValueError:
        return False
