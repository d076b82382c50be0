"""Triggers of the clock: each has windows, and a dream uses up those that have come when it begins."""

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Protocol

from dream.options import CatchUp, Cron, DailyAt, Interval
from dream.triggers.calendars import Calendar, cron_calendar, daily_calendar
from dream.triggers.decision import Gate, GateName, Missed, Reason
from dream.triggers.situation import TICK, Due, Situation


class Windows(Protocol):
    """The windows of a trigger that no dream has used yet."""

    def at_or_after(self, instant: datetime) -> datetime:
        """Return the first that is not before *instant*."""
        ...

    def at_or_before(self, instant: datetime) -> datetime:
        """Return the last that is not after *instant*; there is one."""
        ...


@dataclass(frozen=True, slots=True)
class Steady:
    """Windows at a steady pace.

    Args:
        first: The first.
        every: From one to the next.
    """

    first: datetime
    every: timedelta

    def at_or_after(self, instant: datetime) -> datetime:
        """Return the first that is not before *instant*."""
        return self.first + max(0, -((self.first - instant) // self.every)) * self.every

    def at_or_before(self, instant: datetime) -> datetime:
        """Return the last that is not after *instant*."""
        return self.first + (instant - self.first) // self.every * self.every


@dataclass(frozen=True, slots=True)
class OnTheWall:
    """Windows by the clock on the wall.

    Args:
        calendar: Which days and minutes.
        zone: Whose clock.
        first: None lies before this.
    """

    calendar: Calendar
    zone: tzinfo
    first: datetime

    def at_or_after(self, instant: datetime) -> datetime:
        """Return the first that is not before *instant*."""
        return self.calendar.at_or_after(max(self.first, instant), self.zone)

    def at_or_before(self, instant: datetime) -> datetime:
        """Return the last that is not after *instant*."""
        return self.calendar.at_or_before(instant, self.zone)


def window_due(trigger: Interval | Cron | DailyAt, situation: Situation) -> Due:
    """Return what a trigger of the clock says: its first unused window in which there was work to do."""
    state, now = situation.state, situation.now
    windows = _windows(trigger, situation)
    window = windows.at_or_after(now if situation.work_at is None else situation.work_at)
    missed = None
    is_watched = state.armed is not None and state.armed >= window
    # A window in quiet hours is not late before they end.
    if situation.out_of_quiet(window) < now - situation.options.on_time and not is_watched:
        latest = windows.at_or_before(now)
        missed = Missed(window, latest, is_skipped=situation.options.catch_up is CatchUp.SKIP)
        if missed.is_skipped:
            window, missed = _after_skipping(windows, missed, situation)
    reason = Reason(trigger.kind)
    gate = Gate(GateName(trigger.kind), is_open=window <= now, value=now, threshold=window, until=window)
    return Due(at=window, reason=reason, gates=(gate,), window=window, missed=missed)


def _after_skipping(windows: Windows, missed: Missed, situation: Situation) -> tuple[datetime, Missed]:
    """Return the window that is neither used nor skipped; the newest one is not skipped if it is still on time."""
    if situation.out_of_quiet(missed.last) < situation.now - situation.options.on_time:
        return windows.at_or_after(missed.last + TICK), missed
    return missed.last, Missed(missed.first, windows.at_or_before(missed.last - TICK), is_skipped=True)


def _windows(trigger: Interval | Cron | DailyAt, situation: Situation) -> Windows:
    used = situation.state.used_until
    if isinstance(trigger, Interval):
        first = situation.state.registered_at + trigger.initial_delay if used is None else used + trigger.every
        return Steady(first, trigger.every)
    first = situation.state.registered_at if used is None else used + TICK
    calendar = cron_calendar(trigger.expression) if isinstance(trigger, Cron) else daily_calendar(trigger.at)
    return OnTheWall(calendar, situation.zone(trigger.timezone), first)
