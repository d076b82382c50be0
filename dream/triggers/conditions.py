"""Triggers that wait for something to be so: silence, enough that is new, the beat after a long enough time."""

from datetime import datetime, timedelta

from dream.options import CapWindow, Heartbeat, Idle, Threshold
from dream.triggers.decision import Gate, GateName, Reason
from dream.triggers.situation import TICK, Due, Situation, next_beat
from dream.triggers.walltime import next_midnight

_DAY = timedelta(days=1)
_RETRIES_AT_ONCE = 2


def idle_due(trigger: Idle, situation: Situation) -> Due:
    """Return when it has been quiet for long enough, within the cap of dreams in a day."""
    since = situation.active_at
    last = situation.state.last_success_at
    if last is not None and last > since:
        since = last
    quiet = _waited(GateName.IDLE, situation.now, since, trigger.after)
    at = situation.worked(since + trigger.after)
    allowed, cap = _capped(trigger, situation, max(at, situation.now))
    return Due(at=allowed if allowed > situation.now else at, reason=Reason.IDLE, gates=(quiet, cap))


def _capped(trigger: Idle, situation: Situation, at: datetime) -> tuple[datetime, Gate]:
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


def threshold_due(trigger: Threshold, situation: Situation) -> Due:
    """Return when enough is new, the last dream is long enough ago, and it is quiet."""
    state, now = situation.state, situation.now
    is_enough = state.new_entries >= trigger.min_new
    gates = (
        Gate(GateName.NEW_ENTRIES, is_enough, value=state.new_entries, threshold=trigger.min_new),
        _waited(GateName.COOLDOWN, now, state.last_success_at, trigger.cooldown),
        _waited(GateName.IDLE, now, situation.active_at, trigger.idle),
    )
    if not is_enough:
        return Due(at=None, reason=Reason.THRESHOLD, gates=gates)
    at = situation.active_at + trigger.idle
    if state.last_success_at is not None:
        at = max(at, state.last_success_at + trigger.cooldown)
    return Due(at=situation.worked(at), reason=Reason.THRESHOLD, gates=gates)


def heartbeat_due(trigger: Heartbeat, situation: Situation) -> Due:
    """Return the first beat that is long enough after the last dream; after a failure, the next beat."""
    state, now = situation.state, situation.now
    if not trigger.beat:
        return Due(at=None, reason=Reason.HEARTBEAT, gates=(Gate(GateName.HEARTBEAT, is_open=False),))
    ready = state.registered_at if state.last_success_at is None else state.last_success_at + trigger.every
    ready = situation.worked(ready)
    if 0 < state.failures <= _RETRIES_AT_ONCE and state.last_attempt_at is not None:
        ready = max(ready, state.last_attempt_at + TICK)
    at = next_beat(ready, trigger.beat)
    waited = None if state.last_success_at is None else now - state.last_success_at
    gate = Gate(GateName.HEARTBEAT, at <= now, value=waited, threshold=trigger.every, until=at)
    return Due(at=at, reason=Reason.HEARTBEAT, gates=(gate,), beat=trigger.beat)


def _waited(name: GateName, now: datetime, since: datetime | None, wait: timedelta) -> Gate:
    """Return the gate that opens *wait* after *since*; open if it never happened."""
    if since is None:
        return Gate(name, is_open=True, threshold=wait)
    is_open = now >= since + wait
    return Gate(name, is_open, value=now - since, threshold=wait, until=None if is_open else since + wait)
