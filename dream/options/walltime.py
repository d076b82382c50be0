"""Times, zones and cron expressions as people write them, checked."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from agentcore.errors import InvalidOptionsError

LOCAL = "Local"
"""The zone of the machine."""

_TIME = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d", re.ASCII)
_CRON_FIELDS = 5
_SOME_DAY = datetime(2024, 1, 1)  # noqa: DTZ001 - cron expressions know no zone


def checked_time(text: str, *, field: str) -> str:
    """Return *text* if it is a time of day, HH:MM.

    Raises:
        InvalidOptionsError: it is none.
    """
    if not _TIME.fullmatch(text):
        raise InvalidOptionsError(field=field, value=text, allowed="write HH:MM, from 00:00 to 23:59")
    return text


def minute_of_day(time: str) -> int:
    """Return how many minutes after 00:00 a checked time is.

    Example:
        >>> minute_of_day("03:30")
        210
    """
    return int(time[:2]) * 60 + int(time[3:])


def checked_zone(name: str, *, field: str) -> str:
    """Return *name* if it is an IANA zone or `Local`.

    Raises:
        InvalidOptionsError: it is none.
    """
    if name == LOCAL:
        return name
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, not a key, a folder of the database
        allowed = "give an IANA name such as Europe/Lisbon or UTC, or Local for the machine's own zone"
        raise InvalidOptionsError(field=field, value=name, allowed=allowed) from None
    return name


def checked_cron(expression: str, *, field: str) -> str:
    """Return *expression* if cron has a next time for it.

    Raises:
        InvalidOptionsError: it is no cron expression of five fields, or its date never comes.
    """
    # Only those who use cron pay for its import.
    from croniter import croniter  # noqa: PLC0415

    allowed = "write five fields (minute, hour, day of month, month, day of week), such as 0 3 * * *, or @daily"
    is_short = expression.startswith("@") or len(expression.split()) == _CRON_FIELDS
    # R and H stand for numbers that croniter would draw anew in each process.
    is_random = bool(re.search(r"(?<![a-z])[rh](?![a-z])", expression, re.IGNORECASE))
    if not is_short or is_random or not croniter.is_valid(expression):
        raise InvalidOptionsError(field=field, value=expression, allowed=allowed)
    try:
        croniter(expression, _SOME_DAY).get_next(datetime)
    except ValueError:
        raise InvalidOptionsError(field=field, value=expression, allowed="give a date that exists") from None
    return expression
