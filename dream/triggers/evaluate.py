"""Evaluates a trigger, whichever it is, and several together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from dream.options import AllOf, AnyOf, CapWindow, CatchUp, Cron, Heartbeat, Idle, Interval, Threshold
from dream.triggers.decision import Gate, GateName, Missed, Reason
from dream.triggers.local_time import cron_calendar, daily_calendar, next_midnight
from dream.triggers.schedule_state import TICK, TriggerDecision, next_beat

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from dream.options import DailyAt, Trigger
    from dream.triggers.local_time import Calendar
    from dream.triggers.schedule_state import TriggerState

_DAY = timedelta(days=1)
_RETRIES_AT_ONCE = 2


def idle_due(trigger: Idle, situation: TriggerState) -> TriggerDecision:
    """Return when it has been quiet for long enough, within the cap of dreams in a day."""
    since = situation.active_at
    last = situation.state.last_success_at
    if last is not None and last > since:
        since = last
    quiet = _waited(GateName.IDLE, situation.now, since, trigger.after)
    at = situation.worked(since + trigger.after)
    allowed, cap = _capped(trigger, situation, max(at, situation.now))
    return TriggerDecision(at=allowed if allowed > situation.now else at, reason=Reason.IDLE, gates=(quiet, cap))


def _capped(trigger: Idle, situation: TriggerState, at: datetime) -> tuple[datetime, Gate]:
    """Return the earliest instant from *at* on at which the cap has room, and the cap as it is now."""
    runs, zone = situation.state.scheduled_runs, situation.zone()
    if trigger.window is CapWindow.ROLLING:
        counted = sum(run > situation.now - _DAY for run in runs)
        if len(runs) >= trigger.max_per_day:
            at = max(at, runs[-trigger.max_per_day] + _DAY)
    else:
        days = [run.astimezone(zone).date() for run in runs]
        counted = days.count(situation.now.astimezone(zone).date())
        while days.count(at.astimezone(zone).date()) >= trigger.max_per_day:
            at = next_midnight(at, zone)
    is_open = counted < trigger.max_per_day
    until = None if is_open else at
    return at, Gate(GateName.MAX_PER_DAY, is_open, value=counted, threshold=trigger.max_per_day, until=until)


def threshold_due(trigger: Threshold, situation: TriggerState) -> TriggerDecision:
    """Return when enough is new, the last dream is long enough ago, and it is quiet."""
    state, now = situation.state, situation.now
    is_enough = state.new_entries >= trigger.min_new
    gates = (
        Gate(GateName.NEW_ENTRIES, is_enough, value=state.new_entries, threshold=trigger.min_new),
        _waited(GateName.COOLDOWN, now, state.last_success_at, trigger.cooldown),
        _waited(GateName.IDLE, now, situation.active_at, trigger.idle),
    )
    if not is_enough:
        return TriggerDecision(at=None, reason=Reason.THRESHOLD, gates=gates)
    at = situation.active_at + trigger.idle
    if state.last_success_at is not None:
        at = max(at, state.last_success_at + trigger.cooldown)
    return TriggerDecision(at=situation.worked(at), reason=Reason.THRESHOLD, gates=gates)


def heartbeat_due(trigger: Heartbeat, situation: TriggerState) -> TriggerDecision:
    """Return the first beat that is long enough after the last dream; after a failure, the next beat."""
    state, now = situation.state, situation.now
    if not trigger.beat:
        return TriggerDecision(at=None, reason=Reason.HEARTBEAT, gates=(Gate(GateName.HEARTBEAT, is_open=False),))
    ready = state.registered_at if state.last_success_at is None else state.last_success_at + trigger.every
    ready = situation.worked(ready)
    if 0 < state.failures <= _RETRIES_AT_ONCE and state.last_attempt_at is not None:
        ready = max(ready, state.last_attempt_at + TICK)
    at = next_beat(ready, trigger.beat)
    waited = None if state.last_success_at is None else now - state.last_success_at
    gate = Gate(GateName.HEARTBEAT, at <= now, value=waited, threshold=trigger.every, until=at)
    return TriggerDecision(at=at, reason=Reason.HEARTBEAT, gates=(gate,), beat=trigger.beat)


def _waited(name: GateName, now: datetime, since: datetime | None, wait: timedelta) -> Gate:
    """Return the gate that opens *wait* after *since*; open if it never happened."""
    if since is None:
        return Gate(name, is_open=True, threshold=wait)
    is_open = now >= since + wait
    return Gate(name, is_open, value=now - since, threshold=wait, until=None if is_open else since + wait)


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


def window_due(trigger: Interval | Cron | DailyAt, situation: TriggerState) -> TriggerDecision:
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
    return TriggerDecision(at=window, reason=reason, gates=(gate,), window=window, missed=missed)


def _after_skipping(windows: Windows, missed: Missed, situation: TriggerState) -> tuple[datetime, Missed]:
    """Return the window that is neither used nor skipped; the newest one is not skipped if it is still on time."""
    if situation.out_of_quiet(missed.last) < situation.now - situation.options.on_time:
        return windows.at_or_after(missed.last + TICK), missed
    return missed.last, Missed(missed.first, windows.at_or_before(missed.last - TICK), is_skipped=True)


def _windows(trigger: Interval | Cron | DailyAt, situation: TriggerState) -> Windows:
    used = situation.state.used_until
    if isinstance(trigger, Interval):
        first = situation.state.registered_at + trigger.initial_delay if used is None else used + trigger.every
        return Steady(first, trigger.every)
    first = situation.state.registered_at if used is None else used + TICK
    calendar = cron_calendar(trigger.expression) if isinstance(trigger, Cron) else daily_calendar(trigger.at)
    return OnTheWall(calendar, situation.zone(trigger.timezone), first)


def evaluate(trigger: Trigger, situation: TriggerState) -> TriggerDecision:
    """Return when *trigger* wants a dream, and what it measured."""
    match trigger:
        case Idle():
            return idle_due(trigger, situation)
        case Threshold():
            return threshold_due(trigger, situation)
        case Heartbeat():
            return heartbeat_due(trigger, situation)
        case AnyOf():
            return _earliest([evaluate(one, situation) for one in trigger.triggers], situation.now)
        case AllOf():
            return _latest([evaluate(one, situation) for one in trigger.triggers], situation.now)
        case _:
            return window_due(trigger, situation)


def _earliest(dues: Sequence[TriggerDecision], now: datetime) -> TriggerDecision:
    """Return the one that is due first, with the measures of all while none is due."""
    timed = [(due.at, number) for number, due in enumerate(dues) if due.at is not None]
    at, number = min(timed, default=(None, 0))
    first = dues[number]
    gates = first.gates if at is not None and at <= now else _all_gates(dues)
    # Windows of the others that have come are watched as well.
    come = max((due.window for due in dues if due.window is not None and due.window <= now), default=None)
    window = come if first.window is None else first.window
    return replace(first, gates=gates, window=window, missed=_skipped(dues) or first.missed)


def _latest(dues: Sequence[TriggerDecision], now: datetime) -> TriggerDecision:
    """Return the moment on which all agree."""
    times = [due.at for due in dues if due.at is not None]
    windows = [due.window for due in dues if due.window is not None]
    come = [window for window in windows if window <= now]
    missed = _skipped(dues) or next((due.missed for due in dues if due.missed is not None), None)
    return TriggerDecision(
        at=max(times) if len(times) == len(dues) else None,
        reason=Reason.ALL_OF,
        gates=_all_gates(dues),
        window=max(come) if come else min(windows, default=None),
        missed=missed,
        beat=max((due.beat for due in dues if due.beat is not None), default=None),
    )


def _all_gates(dues: Sequence[TriggerDecision]) -> tuple[Gate, ...]:
    return tuple(gate for due in dues for gate in due.gates)


def _skipped(dues: Sequence[TriggerDecision]) -> Missed | None:
    return next((due.missed for due in dues if due.missed is not None and due.missed.is_skipped), None)
