"""Decides when the next dream of a scope may start, and why not earlier: the whole scheduler, pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from dream.options import AllOf, AnyOf, CapWindow, CatchUp, Cron, Heartbeat, Idle, Interval, Threshold
from dream.triggers.awake import reading_due
from dream.triggers.back_off import back_off
from dream.triggers.decision import Decision, Gate, GateName, Missed, Reason
from dream.triggers.local_time import cron_calendar, daily_calendar, next_midnight
from dream.triggers.schedule_state import STATE_VERSION, TICK, TriggerDecision, TriggerState, next_beat

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from dream.options import DailyAt, SchedulingOptions, Trigger
    from dream.triggers.local_time import Calendar
    from dream.triggers.schedule_state import PassWork, ScheduleState


_DAY = timedelta(days=1)
_RETRIES_AT_ONCE: Final = 2


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


def standing_gates(state: ScheduleState, options: SchedulingOptions, now: datetime) -> tuple[Gate, ...]:
    """Return the gates that a person's request does not open either."""
    is_leased = state.lease_until is not None and state.lease_until > now
    poll = now + options.busy_poll if state.is_busy else None
    return (
        Gate(GateName.VERSION, state.version <= STATE_VERSION, value=state.version, threshold=STATE_VERSION),
        Gate(GateName.DREAMING, state.dreaming.on, value=state.dreaming.on, threshold=state.dreaming.source.value),
        Gate(GateName.LEARNING, state.learning.on, value=state.learning.on, threshold=state.learning.source.value),
        Gate(GateName.PAUSED, not state.is_paused, value=state.is_paused, threshold=False),
        Gate(GateName.LEASE, not is_leased, value=state.lease_until, until=state.lease_until if is_leased else None),
        Gate(GateName.BUSY, not state.is_busy, value=state.is_busy, threshold=False, until=poll),
    )


def work_gates(situation: TriggerState) -> tuple[Gate, Gate]:
    """Return whether some pass has work, and whether the budget lets it be done."""
    state, now = situation.state, situation.now
    waiting = sum(one.at is not None and one.at <= now for one in state.work)
    until = None if waiting else situation.work_at
    work = Gate(GateName.WORK, waiting > 0, value=waiting, threshold=1, until=until)
    allowed = allowed_at(state, now)
    is_open = not waiting or (allowed is not None and allowed <= now)
    needs = 1 if state.spent_bound is None else f"more of {state.spent_bound}"
    until = None if is_open else allowed
    budget = Gate(GateName.BUDGET, is_open, value=state.budget_left, threshold=needs, until=until)
    return work, budget


def work_at(state: ScheduleState) -> datetime | None:
    """Return from when on some pass has work; None: from nothing known now."""
    return min((one.at for one in state.work if one.at is not None), default=None)


def allowed_at(state: ScheduleState, now: datetime) -> datetime | None:
    """Return from when on some pass has work that the budget lets it do; None: from nothing known now."""
    is_renewed = state.budget_renews_at is not None and state.budget_renews_at <= now
    if state.budget_left is None or state.budget_left > 0 or is_renewed:
        return work_at(state)
    starts = (_paid_at(one, state.budget_renews_at) for one in state.work)
    return min((start for start in starts if start is not None), default=None)


def _paid_at(work: PassWork, renews_at: datetime | None) -> datetime | None:
    if work.at is None or not work.asks_model:
        return work.at
    return None if renews_at is None else max(work.at, renews_at)


def back_off_gate(situation: TriggerState, *, tolerated: int) -> Gate:
    """Return the gate that failures close for a while; the first *tolerated* ones do not."""
    state = situation.state
    if state.failures <= tolerated or state.last_attempt_at is None:
        return Gate(GateName.BACK_OFF, is_open=True, value=state.failures)
    wait = back_off(state.scope, state.failures - tolerated, situation.options)
    until = state.last_attempt_at + wait
    is_open = until <= situation.now
    waited = situation.now - state.last_attempt_at
    return Gate(GateName.BACK_OFF, is_open, value=waited, threshold=wait, until=None if is_open else until)


def quiet_gate(situation: TriggerState) -> Gate:
    """Return the gate that is shut in the quiet hours."""
    now = situation.now
    if not situation.options.quiet_hours:
        return Gate(GateName.QUIET_HOURS, is_open=True)
    end = situation.out_of_quiet(now)
    value, hours = f"{now.astimezone(situation.zone()):%H:%M}", ", ".join(situation.options.quiet_hours)
    return Gate(GateName.QUIET_HOURS, end <= now, value=value, threshold=hours, until=end if end > now else None)


QUIET: Final = timedelta(minutes=10)
"""How long nobody has said or stored anything when a run begins that was asked for in a quiet moment."""
_AHEAD: Final = timedelta(days=1)
_PASSING: Final = (GateName.LEASE, GateName.BUSY, GateName.BUDGET, GateName.BACK_OFF)
_NEVER_FAR_AHEAD: Final = (
    "registered_at",
    "last_activity_at",
    "last_attempt_at",
    "last_success_at",
    "used_until",
    "armed",
    "requested_at",
    "lease_until",
)


def decide(options: SchedulingOptions, state: ScheduleState, now: datetime) -> Decision:
    """Return when the next dream of a scope may start, what starts it, and every gate with what it measured.

    Args:
        options: When dreams start by themselves.
        state: What is stored of the scope.
        now: The instant of the decision, aware.

    Example:
        >>> from datetime import UTC, datetime
        >>> from agentcore.domain.scope import Scope
        >>> from dream.options import SchedulingOptions
        >>> from dream.triggers import PassWork, ScheduleState
        >>> begin = datetime(2026, 1, 1, tzinfo=UTC)
        >>> state = ScheduleState(scope=Scope.default(), registered_at=begin, work=(PassWork("exact-fold", begin),))
        >>> decision = decide(SchedulingOptions(), state, begin)
        >>> decision.reason.value, decision.due_at.isoformat(), [gate.name.value for gate in decision.blocked_by]
        ('interval', '2026-01-01T00:05:00+00:00', ['interval'])
    """
    present = settled(state, now)
    standing = standing_gates(present, options, now)
    situation = TriggerState(options, present, now, work_at(present))
    decision = _manual(situation, standing) if present.requested_at else _scheduled(situation, standing)
    return decision if present is state else replace(decision, is_from_future=True)


def settled(state: ScheduleState, now: datetime) -> ScheduleState:
    """Return *state* with all but dates to come cut to *now* where they lie more than a day ahead of it.

    Such a state was stored while a clock was wrong. Whoever stores states is to store the settled one, so that time
    counts on from here; within a day nothing is cut, so that a clock put back makes no window come twice.
    """
    bound = now + _AHEAD
    cut: dict[str, object] = {name: now for name in _NEVER_FAR_AHEAD if (getattr(state, name) or now) > bound}
    if state.scheduled_runs and state.scheduled_runs[-1] > bound:
        cut["scheduled_runs"] = tuple(min(run, now) for run in state.scheduled_runs)
    if any(one.is_waiting and one.at is not None and one.at > bound for one in state.work):
        cut["work"] = tuple(_found_by(one, now) for one in state.work)
    return replace(state, **cut) if cut else state


def _found_by(work: PassWork, now: datetime) -> PassWork:
    is_ahead = work.is_waiting and work.at is not None and work.at > now
    return replace(work, at=now) if is_ahead else work


def _manual(situation: TriggerState, standing: tuple[Gate, ...]) -> Decision:
    """Decide on a run that a person asked for: only a request that broke off before backs off."""
    state = situation.state
    at = state.requested_at
    has_broken_off = at is not None and state.last_attempt_at is not None and state.last_attempt_at >= at
    gates = (*standing, back_off_gate(situation, tolerated=0)) if has_broken_off else standing
    if state.waits_for_quiet and at is not None:
        gates = (*gates, _waited(GateName.IDLE, situation.now, situation.active_at, QUIET))
        at = max(at, situation.active_at + QUIET)
    return _decision(TriggerDecision(at=at, reason=Reason.MANUAL, gates=()), situation, gates)


def _scheduled(situation: TriggerState, standing: tuple[Gate, ...]) -> Decision:
    options = situation.options
    due = evaluate(options.trigger, situation)
    by_itself = Gate(GateName.SCHEDULE, options.enabled, value=options.enabled, threshold=True)
    failing = back_off_gate(situation, tolerated=_RETRIES_AT_ONCE if due.beat else 0)
    gates = (*standing, by_itself, *work_gates(situation), *due.gates, failing, quiet_gate(situation))
    if not options.enabled or allowed_at(situation.state, situation.now) is None:
        due = replace(due, at=None)
    dream, reading = _decision(due, situation, gates), _reading(situation, standing)
    if reading is None:
        return dream
    told = (*dream.gates, reading.gates[-1])
    is_dream_first = dream.due_at is not None and dream.due_at <= situation.now
    if reading.due_at is None or is_dream_first or (dream.due_at or reading.due_at) < reading.due_at:
        return replace(dream, gates=told)
    # A window of the dream goes on being watched while turns are read.
    return replace(dream, due_at=reading.due_at, reason=reading.reason, gates=told)


def _reading(situation: TriggerState, standing: tuple[Gate, ...]) -> Decision | None:
    """Decide on reading new turns apart from dreams; None where there is nothing to decide."""
    due = reading_due(situation) if situation.options.enabled else None
    return None if due is None else _decision(due, situation, (*standing, quiet_gate(situation), *due.gates))


def _decision(due: TriggerDecision, situation: TriggerState, gates: tuple[Gate, ...]) -> Decision:
    """Return when *due* may start, once the gates that shut for a while have opened."""
    lasting = (GateName.VERSION, GateName.DREAMING, GateName.LEARNING, GateName.PAUSED)
    if due.at is None or any(gate.name in lasting and not gate.is_open for gate in gates):
        return Decision(due_at=None, reason=Reason.NEVER, gates=gates, window=due.window, missed=due.missed)
    wanted = max(due.at, situation.now)
    at = _once_open(wanted, due, situation, gates)
    return Decision(
        due_at=due.at if at == wanted else at,
        reason=due.reason,
        gates=gates,
        window=due.window,
        missed=due.missed,
    )


def _once_open(at: datetime, due: TriggerDecision, situation: TriggerState, gates: tuple[Gate, ...]) -> datetime:
    wanted = at
    # Somebody has to see a window come, or it counts as missed: so it is looked again then, whatever blocks it now.
    is_coming = due.window is not None and due.window > situation.now and wanted > situation.now
    for gate in gates:
        if gate.name in _PASSING and gate.until is not None and not is_coming:
            at = max(at, gate.until)
    if due.beat is not None and at > wanted:
        at = next_beat(at, due.beat)
    if due.reason is not Reason.MANUAL:
        at = situation.out_of_quiet(at)
    return at
