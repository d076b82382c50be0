"""The oracle: a scheduler that looks at every minute of a year, and knows nothing of `dream.triggers`.

It reads the clock on the wall from `zoneinfo`, one quarter of an hour after the other, and is told in plain numbers
what a trigger wants.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

_QUARTER = 15


@cache
def walls(zone: str, begin: datetime, minutes: int) -> tuple[list[int], list[int]]:
    """Return for each minute which local day it is in, as an ordinal, and which minute of that day it is."""
    days: list[int] = []
    of_day: list[int] = []
    for quarter in range(0, minutes, _QUARTER):
        local = (begin + timedelta(minutes=quarter)).astimezone(ZoneInfo(zone))
        minute = local.hour * 60 + local.minute
        days += [local.toordinal()] * _QUARTER
        of_day += range(minute, minute + _QUARTER)
    return days, of_day


def daily_minutes(zone: str, begin: datetime, minutes: int, at: int) -> list[int]:
    """Return the minutes at which a time of day comes: the first of each local day that is not before it."""
    days, of_day = walls(zone, begin, minutes)
    found: list[int] = []
    for minute in range(1, minutes):
        is_first_day = days[minute] == days[0]
        has_come = of_day[minute] >= at and (not found or days[found[-1]] != days[minute])
        if has_come and not (is_first_day and of_day[0] > at):
            found.append(minute)
    return found


def yearly_runs(
    trigger: Mapping[str, int],
    windows: Sequence[int],
    activity: Mapping[int, int],
    dates: Sequence[int],
    wall: tuple[list[int], list[int]],
    *,
    quiet: tuple[int, int] = (0, 0),
) -> list[int]:
    """Return the minutes at which runs of ten minutes begin.

    Args:
        trigger: Its numbers: `every` and `delay`, `after` and `cap`, or `new`, `cooldown` and `idle`, or `beat_every`.
        windows: Minutes at which the clock of the trigger strikes.
        activity: New entries by minute.
        dates: Minutes at which a pass has work by date.
        wall: Local day and minute of day of each minute.
        quiet: First and last-but-one minute of the day at which no run begins.
    """
    days, of_day = wall
    strikes, dated = set(windows), set(dates)
    marked = strikes | dated | activity.keys()
    every, next_window = trigger.get("every", 0), trigger.get("delay", -1)
    runs: list[int] = []
    runs_of_day: dict[int, int] = {}
    ends, active, ended, new, since_start = -1, 0, None, 0, 0
    work, is_struck = False, False
    for minute in range(len(days)):
        if minute in marked:
            work = work or minute in activity or minute in dated
            is_struck = is_struck or (work and minute in strikes)
            active = minute if minute in activity else active
            new += activity.get(minute, 0)
            since_start += activity.get(minute, 0)
        if minute == ends:
            ended, ends, new = minute, -1, since_start
        if minute == next_window:
            is_struck, next_window = is_struck or work, minute + every
        if not work or ends >= 0 or quiet[0] <= of_day[minute] < quiet[1]:
            continue
        if "after" in trigger:
            since = max(active, -1 if ended is None else ended)
            wants = minute - since >= trigger["after"] and runs_of_day.get(days[minute], 0) < trigger["cap"]
        elif "new" in trigger:
            is_cool = ended is None or minute - ended >= trigger["cooldown"]
            wants = is_cool and new >= trigger["new"] and minute - active >= trigger["idle"]
        elif "beat_every" in trigger:
            wants = ended is None or minute - ended >= trigger["beat_every"]
        else:
            wants = is_struck
        if wants:
            runs.append(minute)
            runs_of_day[days[minute]] = runs_of_day.get(days[minute], 0) + 1
            work, is_struck, ends, since_start = False, False, minute + 10, 0
            next_window = minute + every if every else -1
    return runs
