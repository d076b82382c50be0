"""Decides when the next dream of a scope may start, and why not earlier: the whole scheduler, pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from dream.triggers.decision import Decision, Gate, GateName, Reason
from dream.triggers.evaluate import evaluate
from dream.triggers.schedule_state import (
    STATE_VERSION,
    TriggerDecision,
    TriggerState,
    next_beat,
)

if TYPE_CHECKING:
    from datetime import datetime

    from agentcore.domain.scope import Scope
    from dream.options import SchedulingOptions
    from dream.triggers.schedule_state import (
        PassWork,
        ScheduleState,
    )

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


_AHEAD: Final = timedelta(days=1)
_RETRIES_AT_ONCE: Final = 2
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
        >>> from datetime import UTC
        >>> from agentcore.domain.scope import Scope
        >>> from dream.triggers import PassWork
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
    return _decision(TriggerDecision(at=at, reason=Reason.MANUAL, gates=()), situation, gates)


def _scheduled(situation: TriggerState, standing: tuple[Gate, ...]) -> Decision:
    options = situation.options
    due = evaluate(options.trigger, situation)
    by_itself = Gate(GateName.SCHEDULE, options.enabled, value=options.enabled, threshold=True)
    failing = back_off_gate(situation, tolerated=_RETRIES_AT_ONCE if due.beat else 0)
    gates = (*standing, by_itself, *work_gates(situation), *due.gates, failing, quiet_gate(situation))
    if not options.enabled or allowed_at(situation.state, situation.now) is None:
        due = replace(due, at=None)
    return _decision(due, situation, gates)


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
