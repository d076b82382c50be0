"""Converts instants: integer microseconds since the epoch in columns, RFC 3339 in text."""

import re
from datetime import UTC, datetime, timedelta

from agentcore.errors import InvalidContentError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LOWEST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_HIGHEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_HOUR_MINUTE = r"(?:[01]\d|2[0-3]):[0-5]\d"
_TEXT = re.compile(
    rf"\d{{4}}-\d\d-\d\d(?P<time>[T ]{_HOUR_MINUTE}:[0-5]\d(?:\.\d{{1,9}})?(?P<zone>Z|[+-]{_HOUR_MINUTE})?)?",
    re.ASCII | re.IGNORECASE,
)
_HINT = "write it like 2025-05-01T10:00:00Z, 2025-05-01T12:00:00+02:00 or 2025-05-01"


def _refusal(problem: str) -> InvalidContentError:
    return InvalidContentError(field="instant", problem=problem)


def to_micros(instant: datetime) -> int:
    """Return *instant* as whole microseconds since 1970-01-01T00:00:00Z, exactly.

    Raises:
        InvalidContentError: it has no time zone, or its UTC value leaves the years 1 to 9999.

    Example:
        >>> to_micros(datetime(1970, 1, 2, tzinfo=UTC))
        86400000000
    """
    try:
        micros = (instant - _EPOCH) // _MICROSECOND
    except TypeError:
        raise _refusal(f"{instant.isoformat()} has no time zone; give one, such as UTC") from None
    if not _LOWEST <= micros <= _HIGHEST:
        raise _refusal(f"{instant.isoformat()} lies outside the years 1 to 9999 in UTC")
    return micros


def from_micros(micros: int) -> datetime:
    """Return the instant *micros* microseconds after the epoch, aware and in UTC; inverse of `to_micros`.

    Raises:
        InvalidContentError: it lies outside the years 1 to 9999.

    Example:
        >>> from_micros(86_400_000_001)
        datetime.datetime(1970, 1, 2, 0, 0, 0, 1, tzinfo=datetime.timezone.utc)
    """
    try:
        # By place: naming the argument doubles the time, and a turn's context has a hundred instants.
        return _EPOCH + timedelta(0, 0, micros)
    except OverflowError:
        raise _refusal(f"{micros} microseconds lie outside the years 1 to 9999") from None


def to_text(instant: datetime) -> str:
    """Return *instant* as RFC 3339 in UTC, with microseconds only where there are some.

    Raises:
        InvalidContentError: as `to_micros`.

    Example:
        >>> to_text(datetime(2025, 5, 1, 10, tzinfo=UTC))
        '2025-05-01T10:00:00Z'
    """
    utc = instant if instant.tzinfo is UTC else from_micros(to_micros(instant))
    return utc.isoformat().removesuffix("+00:00") + "Z"


def from_text(text: str) -> datetime:
    """Read an RFC 3339 instant with any offset, or a date alone (its midnight in UTC); the result is in UTC.

    Digits below the microsecond are cut off.

    Raises:
        InvalidContentError: *text* is written otherwise, has no offset, or names no real instant.

    Example:
        >>> to_text(from_text("2025-05-01T12:00:00+02:00"))
        '2025-05-01T10:00:00Z'
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise _refusal(f"{text[:80]!r} is no instant; {_HINT}")
    if match["time"] and not match["zone"]:
        raise _refusal(f"{text[:80]!r} has no time zone; {_HINT}")
    try:
        instant = datetime.fromisoformat(text.upper())
        return instant.astimezone(UTC) if match["time"] else instant.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise _refusal(f"{text[:80]!r} is on no calendar; {_HINT}") from None
