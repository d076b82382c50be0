"""Between the clock on the wall and instants, over days on which clocks are put forward or back.

A minute that the clocks skip stands for the instant at which they skip it; one that comes twice, for its first coming.
So the instants of later wall times are never earlier, and each wall time has exactly one.
"""

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from dream.options.walltime import LOCAL

_MINUTE = timedelta(minutes=1)
_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)


@lru_cache(maxsize=64)
def zone_of(name: str, machine: str) -> tzinfo:
    """Return the zone called *name*, where `Local` is the *machine*'s.

    A zone that the machine's data do not know any more counts as UTC.
    """
    try:
        return ZoneInfo(machine if name == LOCAL else name)
    except (KeyError, ValueError, OSError):
        return UTC


def instant_of(wall: datetime, zone: tzinfo) -> datetime:
    """Return the instant in UTC at which clocks in *zone* first show *wall*, or skip it.

    Example:
        >>> skipped = datetime(2026, 3, 8, 2, 30)
        >>> instant_of(skipped, ZoneInfo("America/New_York")).isoformat()
        '2026-03-08T07:00:00+00:00'
    """
    instant = wall.replace(tzinfo=zone).astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None, fold=0) == wall:
        return instant
    before = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return change_between(before, instant, zone)


def change_between(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """Return when between two instants the clocks of *zone* were put to what they show at *after*; whole seconds."""
    offset = after.astimezone(zone).utcoffset()
    low, high = 0, int((after - before) / _SECOND)
    while high - low > 1:
        middle = (low + high) // 2
        if (before + middle * _SECOND).astimezone(zone).utcoffset() == offset:
            high = middle
        else:
            low = middle
    return before + high * _SECOND


def next_midnight(after: datetime, zone: tzinfo) -> datetime:
    """Return when the day after the one of *after* begins in *zone*."""
    wall = after.astimezone(zone).replace(tzinfo=None, fold=0)
    day = wall.replace(hour=0, minute=0, second=0, microsecond=0)
    while (begins := instant_of(day := day + _DAY, zone)) <= after:
        pass
    return begins


def end_of_quiet(at: datetime, zone: tzinfo, ranges: tuple[tuple[int, int], ...]) -> datetime:
    """Return the earliest instant from *at* on that lies in none of the *ranges* of minutes of the local day."""
    while (end := _end_of_range(at, zone, ranges)) is not None:
        at = end
    return at


def _end_of_range(at: datetime, zone: tzinfo, ranges: tuple[tuple[int, int], ...]) -> datetime | None:
    """Return when the range that *at* lies in ends, or when the clocks are changed if that is earlier; None if none."""
    local = at.astimezone(zone)
    minute = local.hour * 60 + local.minute
    for start, end in ranges:
        if (minute - start) % 1440 >= (end - start) % 1440:
            continue
        past = timedelta(seconds=local.second, microseconds=local.microsecond)
        until = at + ((end - minute) % 1440) * _MINUTE - past
        if until.astimezone(zone).utcoffset() == local.utcoffset():
            return until
        return change_between(at - past, until, zone)
    return None
