"""What holds a dream back, and until when; what a person's request opens, and what it does not."""

from dataclasses import replace
from datetime import datetime

import pytest
from deciding import BEGIN, DAY, HOUR, MINUTE, at, options, working

from agentcore.domain import Scope
from dream.options import DailyAt, Idle, Interval, SchedulingOptions, Threshold
from dream.triggers import GateName, PassWork, Reason, Switch, SwitchSource, decide, schedule_state, winning_switch
from dream.triggers.decide import back_off

_NOW = at("03-08 12:00")
_DUE = working(last_activity_at=BEGIN)
_IDLE = options(Idle())


def _only_shut(schedule: SchedulingOptions, state: object) -> tuple[GateName, object]:
    decision = decide(schedule, state, _NOW)
    (gate,) = decision.blocked_by
    assert decision.due_at == gate.until
    return gate.name, gate.until


@pytest.mark.parametrize(
    ("changes", "gate", "until"),
    [
        ({"dreaming": Switch(on=False, source=SwitchSource.WORKSPACE)}, GateName.DREAMING, None),
        ({"learning": Switch(on=False, source=SwitchSource.SCOPE)}, GateName.LEARNING, None),
        ({"is_paused": True}, GateName.PAUSED, None),
        ({"lease_until": _NOW + MINUTE}, GateName.LEASE, _NOW + MINUTE),
        ({"is_busy": True}, GateName.BUSY, _NOW + MINUTE / 12),
        ({"version": 2}, GateName.VERSION, None),
    ],
)
@pytest.mark.parametrize("is_manual", [False, True])
def test_a_shut_gate_is_named_with_the_moment_it_opens(
    changes: dict[str, object], gate: GateName, until: datetime | None, is_manual: bool
):
    state = replace(_DUE, requested_at=_NOW if is_manual else None, **changes)
    assert _only_shut(_IDLE, state) == (gate, until)


def test_a_lease_that_has_run_out_blocks_nobody():
    assert decide(_IDLE, replace(_DUE, lease_until=_NOW), _NOW).is_due(_NOW)


def test_a_person_opens_every_gate_of_the_schedule():
    schedule = options(Threshold(), enabled=False, quiet_hours=["00:00-23:00"])
    state = working(work=(), last_success_at=_NOW, last_attempt_at=_NOW, failures=9, last_activity_at=_NOW)
    assert decide(schedule, state, _NOW).due_at is None
    decision = decide(schedule, schedule_state.requested(state, _NOW + MINUTE), _NOW + MINUTE)
    assert (decision.is_due(_NOW + MINUTE), decision.reason, decision.blocked_by) == (True, Reason.MANUAL, ())


def test_a_second_request_changes_nothing():
    once = schedule_state.requested(_DUE, _NOW)
    assert schedule_state.requested(once, _NOW + HOUR) is once


def test_a_request_whose_run_killed_its_process_backs_off():
    state = schedule_state.started(schedule_state.requested(_DUE, _NOW), _NOW)
    name, until = _only_shut(_IDLE, state)
    assert (name, 45 <= (until - _NOW).total_seconds() <= 60) == (GateName.BACK_OFF, True)


def test_a_request_is_over_when_its_run_failed():
    assert schedule_state.failed(schedule_state.requested(_DUE, _NOW), is_manual=True).requested_at is None


def test_no_dream_starts_by_itself_where_the_schedule_is_off():
    decision = decide(_IDLE.replace(enabled=False), _DUE, _NOW)
    assert (decision.due_at, [gate.name for gate in decision.blocked_by]) == (None, [GateName.SCHEDULE])


@pytest.mark.parametrize(("failures", "seconds"), [(1, 60), (2, 120), (4, 480), (7, 3600), (500, 3600)])
def test_failures_double_the_wait_up_to_an_hour_less_a_little_chance(failures: int, seconds: int):
    waits = {back_off(Scope("w", "a", str(one)), failures, SchedulingOptions()) for one in range(20)}
    assert len(waits) == 20
    assert all(0.75 * seconds <= wait.total_seconds() <= seconds for wait in waits)


def test_a_run_counts_as_failed_from_its_start_until_it_ends_well():
    state = schedule_state.started(_DUE, _NOW - 20 * MINUTE)
    assert state.failures == 1
    assert decide(_IDLE, state, _NOW - 20 * MINUTE).blocked_by[0].name is GateName.BACK_OFF
    assert decide(_IDLE, schedule_state.failed(state, is_manual=False), _NOW).is_due(_NOW)
    done = schedule_state.succeeded(state, started_at=_NOW - 20 * MINUTE, now=_NOW - MINUTE, is_manual=False)
    assert (done.failures, done.last_success_at) == (0, _NOW - MINUTE)


def test_a_run_that_yielded_is_no_failure_and_still_due():
    state = schedule_state.given_up(schedule_state.started(_DUE, _NOW))
    assert state.failures == 0
    assert decide(_IDLE, state, _NOW).is_due(_NOW)


def test_a_failed_run_is_due_again_in_the_same_window():
    nightly = options(DailyAt(at="03:00"))
    state = schedule_state.failed(schedule_state.started(working(), at("01-01 03:00")), is_manual=False)
    assert decide(nightly, state, at("01-01 03:30")).is_due(at("01-01 03:30"))


def test_quiet_hours_hold_a_due_dream_until_they_end():
    schedule = options(Idle(), quiet_hours=["22:00-07:00", "11:00-13:30"])
    name, until = _only_shut(schedule, _DUE)
    assert (name, until) == (GateName.QUIET_HOURS, at("03-08 13:30"))


def test_what_is_due_within_the_next_quiet_hours_is_announced_for_their_end():
    schedule = options(Idle(), quiet_hours=["13:00-15:00"])
    state = working(last_activity_at=at("03-08 11:30"))
    assert decide(schedule, state, _NOW).due_at == at("03-08 15:00")


def test_a_spent_budget_holds_back_only_what_costs_tokens():
    asks = PassWork("fact-mining", BEGIN, asks_model=True)
    spent = replace(_DUE, work=(asks,), budget_left=0, budget_renews_at=at("03-09"))
    assert _only_shut(_IDLE, spent) == (GateName.BUDGET, at("03-09"))
    assert _only_shut(_IDLE, replace(spent, budget_renews_at=None)) == (GateName.BUDGET, None)
    assert decide(_IDLE, replace(spent, work=(asks, PassWork("exact-fold", BEGIN))), _NOW).is_due(_NOW)
    assert decide(_IDLE, replace(spent, budget_renews_at=_NOW), _NOW).is_due(_NOW)


def test_two_gates_are_waited_for_one_after_the_other():
    schedule = options(Interval(), quiet_hours=["12:30-14:00"])
    state = replace(working(used_until=_NOW - DAY), lease_until=_NOW + 45 * MINUTE)
    assert decide(schedule, state, _NOW).due_at == at("03-08 14:00")


def test_only_runs_of_the_last_two_days_are_remembered():
    state = working(scheduled_runs=(_NOW - 3 * DAY, _NOW - DAY))
    done = schedule_state.succeeded(state, started_at=_NOW, now=_NOW + MINUTE, is_manual=False)
    assert done.scheduled_runs == (_NOW - DAY, _NOW)


@pytest.mark.parametrize(
    ("enabled", "ignore_scope_switches", "workspace", "scope", "expected"),
    [
        (True, False, None, None, (True, SwitchSource.DEFAULT)),
        (True, False, False, None, (False, SwitchSource.WORKSPACE)),
        (True, False, False, True, (True, SwitchSource.SCOPE)),
        (True, False, True, False, (False, SwitchSource.SCOPE)),
        (True, True, False, None, (True, SwitchSource.FORCE)),
        (True, True, None, False, (True, SwitchSource.FORCE)),
        (True, True, True, None, (True, SwitchSource.WORKSPACE)),
        (False, True, True, True, (False, SwitchSource.OPTIONS)),
    ],
)
def test_the_setting_that_wins_is_named(
    enabled: bool,
    ignore_scope_switches: bool,
    workspace: bool | None,
    scope: bool | None,
    expected: tuple[bool, SwitchSource],
):
    switch = winning_switch(
        enabled=enabled, ignore_scope_switches=ignore_scope_switches, workspace=workspace, scope=scope
    )
    assert (switch.on, switch.source) == expected
