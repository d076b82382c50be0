"""Collects what holds a dream back that a trigger, or a person, wants."""

from datetime import datetime, timedelta
from hashlib import blake2b

from agentcore.domain.scope import Scope
from dream.options import SchedulingOptions
from dream.triggers.decision import Gate, GateName
from dream.triggers.schedule_state import STATE_VERSION, PassWork, ScheduleState
from dream.triggers.trigger_state import TriggerState

_JITTER = 0.25
_DOUBLINGS = 40


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
    budget = Gate(GateName.BUDGET, is_open, value=state.budget_left, threshold=1, until=None if is_open else allowed)
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


def back_off(scope: Scope, failures: int, options: SchedulingOptions) -> timedelta:
    """Return how long to wait after so many failures in a row: doubling, up to a quarter less by chance.

    The chance is a hash of scope and number, so that every process waits alike and no two scopes do.

    Example:
        >>> back_off(Scope.default(), 0, SchedulingOptions())
        datetime.timedelta(0)
    """
    if failures <= 0:
        return timedelta(0)
    wait = min(options.back_off * 2 ** min(failures - 1, _DOUBLINGS), options.back_off_most)
    digest = blake2b(f"{scope}#{failures}".encode(), digest_size=4).digest()
    return wait * (1 - _JITTER * int.from_bytes(digest, "big") / 2**32)


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
