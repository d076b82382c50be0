"""Converts between the clock on the wall and instants, over days on which clocks are put forward or back.

A minute that the clocks skip stands for the instant at which they skip it; one that comes twice, for its first coming.
So the instants of later wall times are never earlier, and each wall time has exactly one.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from zoneinfo import ZoneInfo

from dream.options.walltime import LOCAL, minute_of_day

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, tzinfo

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


Minutes: TypeAlias = tuple[int, ...]

_TICK = timedelta(microseconds=1)
_LONGEST_FOLD = timedelta(hours=3)


class Calendar(ABC):
    """Which days count, and which minutes of them.

    Args:
        minutes: Minutes of the day, in order, at least one.
    """

    minutes: Minutes

    @abstractmethod
    def day_from(self, day: date) -> date:
        """Return the first day that counts, from *day* on."""

    @abstractmethod
    def day_until(self, day: date) -> date:
        """Return the last day that counts, up to *day*."""

    def at_or_after(self, instant: datetime, zone: tzinfo) -> datetime:
        """Return the first window that is not before *instant*."""
        wall = _wall(instant - _TICK, zone)
        day = self.day_from(wall.date())
        place = bisect_right(self.minutes, wall.hour * 60 + wall.minute) if day == wall.date() else 0
        while True:
            for minute in self.minutes[place:]:
                window = instant_of(_at(day, minute), zone)
                if window >= instant:
                    return window
            day, place = self.day_from(day + _DAY), 0

    def at_or_before(self, instant: datetime, zone: tzinfo) -> datetime:
        """Return the last window that is not after *instant*."""
        # In an hour that comes twice, windows later on the wall may have passed already.
        wall = _wall(instant, zone) + _LONGEST_FOLD
        day = self.day_until(wall.date())
        place = len(self.minutes)
        if day == wall.date():
            place = bisect_left(self.minutes, wall.hour * 60 + wall.minute + 1)
        while True:
            for minute in reversed(self.minutes[:place]):
                window = instant_of(_at(day, minute), zone)
                if window <= instant:
                    return window
            day, place = self.day_until(day - _DAY), len(self.minutes)


@dataclass(frozen=True, slots=True)
class EveryDay(Calendar):
    """The same minutes every day."""

    minutes: Minutes

    def day_from(self, day: date) -> date:
        """Return *day*."""
        return day

    def day_until(self, day: date) -> date:
        """Return *day*."""
        return day


@dataclass(frozen=True, slots=True)
class CronDays(Calendar):
    """The minutes of a cron expression on its days.

    croniter says which days those are; the minutes of a day are put together here, as it fires a local minute that
    comes twice a second time.

    Args:
        minutes: Minutes of the day.
        days: The expression with 0 0 in the place of minute and hour.
    """

    minutes: Minutes
    days: str

    def day_from(self, day: date) -> date:
        """Return the first day of the expression, from *day* on."""
        return _cron_day(self.days, day, forward=True)

    def day_until(self, day: date) -> date:
        """Return the last day of the expression, up to *day*."""
        return _cron_day(self.days, day, forward=False)


@lru_cache(maxsize=256)
def daily_calendar(at: str) -> Calendar:
    """Return every day at HH:MM."""
    return EveryDay((minute_of_day(at),))


@lru_cache(maxsize=256)
def cron_calendar(expression: str) -> Calendar:
    """Return the days and minutes of a cron expression."""
    # Only those who use cron pay for its import.
    from croniter import croniter  # noqa: PLC0415

    fields = croniter(expression).expressions
    parsed, _ = croniter.expand(expression)
    minutes, hours = _numbers(parsed[0], 60), _numbers(parsed[1], 24)
    times = tuple(hour * 60 + minute for hour in hours for minute in minutes)
    return CronDays(times, " ".join(("0", "0", *fields[2:])))


def _numbers(parsed: Iterable[int | str], count: int) -> list[int]:
    numbers = sorted(one for one in parsed if isinstance(one, int))
    return numbers or list(range(count))  # an asterisk is no number


@lru_cache(maxsize=4096)
def _cron_day(days: str, day: date, *, forward: bool) -> date:
    from croniter import croniter  # noqa: PLC0415

    midnight = datetime.combine(day, time())
    if forward:
        found: datetime = croniter(days, midnight - _TICK).get_next(datetime)
    else:
        found = croniter(days, midnight + _TICK).get_prev(datetime)
    return found.date()


def _wall(instant: datetime, zone: tzinfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def _at(day: date, minute: int) -> datetime:
    return datetime(day.year, day.month, day.day, minute // 60, minute % 60)  # noqa: DTZ001 - a time on the wall


_LINK = Path("/etc/localtime")
_NAME = Path("/etc/timezone")
_DATABASE = "zoneinfo/"


def machine_zone(*, link: Path = _LINK, name: Path = _NAME) -> str:
    """Return the IANA name of the machine's time zone; `UTC` where the system does not tell one.

    The variable `TZ` wins, then the link */etc/localtime*, then the name in */etc/timezone*.

    Args:
        link: Where the system keeps its zone's data.
        name: Where it keeps its zone's name.
    """
    candidates = [os.environ.get("TZ", "").removeprefix(":")]
    try:
        candidates.append(str(link.resolve(strict=True)).rpartition(_DATABASE)[2])
        candidates.append(name.read_text("utf-8").strip())
    except (OSError, UnicodeDecodeError):
        pass
    return next((one for one in candidates if one and _is_zone(one)), "UTC")


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True
