"""The windows of cron expressions and of times of day: minutes of local days, each once."""

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import TypeAlias

from dream.options.walltime import minute_of_day
from dream.triggers.walltime import instant_of

Minutes: TypeAlias = tuple[int, ...]

_TICK = timedelta(microseconds=1)
_DAY = timedelta(days=1)
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
