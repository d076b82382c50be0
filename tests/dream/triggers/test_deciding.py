"""When the next dream is due, trigger by trigger; what a person may do; what is made up for."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from deciding import BEGIN, DAY, HOUR, MINUTE, Scheduled, at, options, working

from dream.options import AllOf, AnyOf, CatchUp, Cron, DailyAt, DreamOptions, Heartbeat, Idle, Interval, Threshold
from dream.triggers import Decision, GateName, Missed, PassWork, Reason, ScheduleState, decide, schedule_state, settled

_PEER = DreamOptions.preset("peer").schedule
_NIGHTLY = options(DailyAt(at="03:00"))


def _shut(decision: Decision) -> set[str]:
    return {gate.name.value for gate in decision.blocked_by}


# The threshold.


def _talked(new: int, **changes: object) -> ScheduleState:
    return working(last_activity_at=BEGIN, new_entries=new, **changes)


def test_fewer_new_entries_than_the_threshold_start_nothing_however_long_it_is_quiet():
    decision = decide(_PEER, _talked(49), BEGIN + 30 * DAY)
    assert (decision.due_at, _shut(decision)) == (None, {"new_entries"})
    gate = decision.blocked_by[0]
    assert (gate.value, gate.threshold) == (49, 50)


def test_enough_new_entries_start_a_dream_after_an_hour_of_silence():
    assert decide(_PEER, _talked(50), BEGIN).due_at == BEGIN + HOUR


def test_new_activity_cancels_what_is_pending_whoever_stored_it():
    state = replace(_talked(50), last_activity_at=BEGIN + 59 * MINUTE)
    assert not decide(_PEER, state, BEGIN + HOUR).is_due(BEGIN + HOUR)
    assert decide(_PEER, state, BEGIN + HOUR).due_at == BEGIN + 119 * MINUTE


def test_a_threshold_reached_within_the_cooldown_is_due_when_the_cooldown_ends():
    state = _talked(50, last_success_at=BEGIN - 2 * HOUR)
    decision = decide(_PEER, state, BEGIN + 3 * HOUR)
    assert (decision.due_at, _shut(decision)) == (BEGIN + 6 * HOUR, {"cooldown"})
    assert decision.blocked_by[0].until == BEGIN + 6 * HOUR


def test_a_manual_dream_counts_for_cooldown_and_threshold_of_the_next_one():
    now = BEGIN + 30 * MINUTE
    state = schedule_state.succeeded(_talked(50), started_at=now, now=now + MINUTE, is_manual=True)
    assert _shut(decide(_PEER, state, BEGIN + HOUR)) == {"new_entries", "cooldown"}


def test_entries_stored_while_it_ran_count_for_the_next_dream():
    done = schedule_state.succeeded(_talked(50), started_at=BEGIN, now=BEGIN + HOUR, is_manual=False, new_entries=7)
    assert done.new_entries == 7


# Silence, and how many dreams a day may have.


def test_waiting_messages_are_activity():
    state = working(last_activity_at=BEGIN, pending_messages=1)
    now = BEGIN + 5 * HOUR
    assert decide(options(Idle()), state, now).due_at == now + 2 * HOUR


def test_a_dream_begins_the_silence_anew():
    state = working(last_activity_at=BEGIN, last_success_at=BEGIN + 3 * HOUR)
    assert decide(options(Idle()), state, BEGIN + 4 * HOUR).due_at == BEGIN + 5 * HOUR


def test_a_full_calendar_day_waits_for_local_midnight():
    runs = (at("03-08 06:00"), at("03-08 09:00"), at("03-08 12:00"))
    state = working(last_activity_at=at("03-08 12:00"), scheduled_runs=runs)
    decision = decide(options(Idle(), zone="America/New_York"), state, at("03-08 20:00"))
    assert (decision.due_at, _shut(decision)) == (at("03-09 04:00"), {"max_per_day"})
    assert (decision.blocked_by[0].value, decision.blocked_by[0].threshold) == (3, 3)


def test_a_full_rolling_day_waits_until_its_oldest_dream_has_left():
    runs = (at("03-08 02:00"), at("03-08 06:00"), at("03-08 12:00"), at("03-08 13:00"))
    state = working(last_activity_at=at("03-08 12:00"), scheduled_runs=runs)
    decision = decide(options(Idle(window="rolling")), state, at("03-08 20:00"))
    assert decision.due_at == at("03-09 06:00")
    assert decision.blocked_by[0].until == at("03-09 06:00")


def test_the_cap_of_a_rolling_day_holds_over_a_busy_week():
    scheduled = Scheduled(options(Idle(max_per_day=2, window="rolling")))
    scheduled.live([(BEGIN + hour * HOUR, 1) for hour in range(0, 24 * 7, 3)], [], BEGIN + 7 * DAY)
    assert len(scheduled.runs) >= 12
    assert all(later - one >= DAY for one, later in zip(scheduled.runs, scheduled.runs[2:], strict=False))


def test_a_date_on_which_a_pass_has_work_is_waited_for():
    state = working(last_activity_at=BEGIN, work=(PassWork("retention", BEGIN + 40 * DAY),))
    decision = decide(options(Idle()), state, BEGIN + DAY)
    assert (decision.due_at, decision.blocked_by[0].until) == (BEGIN + 40 * DAY, BEGIN + 40 * DAY)


def test_nothing_to_do_starts_nothing():
    decision = decide(options(Idle()), working(work=()), BEGIN + 90 * DAY)
    assert (decision.due_at, decision.reason, _shut(decision)) == (None, Reason.NEVER, {"work"})


# The heartbeat.


def test_a_heart_that_does_not_beat_never_starts_a_dream():
    decision = decide(options(Heartbeat(beat=0 * MINUTE)), working(), BEGIN + 90 * DAY)
    assert (decision.due_at, _shut(decision)) == (None, {"heartbeat"})


def test_the_first_beat_after_a_day_is_due():
    state = working(last_success_at=at("03-08 12:00:01"))
    assert decide(options(Heartbeat()), state, at("03-09 11:00")).due_at == at("03-09 12:00:30")


@pytest.mark.parametrize(("failures", "after"), [(1, 30), (2, 30), (3, 60), (4, 120), (12, 3600)])
def test_a_sweep_that_failed_is_tried_at_the_next_beat_and_backs_off_from_the_third_time_on(failures: int, after: int):
    state = working(last_attempt_at=at("03-08 12:00"), failures=failures)
    due = decide(options(Heartbeat()), state, at("03-08 12:00:05")).due_at
    assert due is not None
    assert due.second % 30 == 0
    assert 0.75 * after <= (due - at("03-08 12:00")).total_seconds() <= after + 30


# Windows: used, missed, skipped.


def test_an_interval_counts_from_the_first_sight_of_the_scope_and_restarts_move_nothing():
    assert decide(options(Interval()), working(), BEGIN + HOUR).due_at == BEGIN + 5 * MINUTE
    used = working(used_until=BEGIN + HOUR)
    assert decide(options(Interval()), used, BEGIN + 2 * HOUR).due_at == BEGIN + 5 * HOUR


def test_a_manual_dream_uses_up_no_window_and_counts_towards_no_cap():
    state = working(armed=at("03-08 03:00"), used_until=at("03-07 03:00"), requested_at=at("03-08 03:05"))
    done = schedule_state.succeeded(state, started_at=at("03-08 03:10"), now=at("03-08 03:20"), is_manual=True)
    assert (done.used_until, done.armed, done.scheduled_runs) == (state.used_until, state.armed, ())
    assert decide(_NIGHTLY, done, at("03-08 03:20")).reason is Reason.DAILY


def test_a_window_in_which_nothing_was_to_be_done_is_not_made_up_for_in_the_middle_of_the_day():
    state = working(at("03-08 09:00"), used_until=at("03-06 03:00"))
    assert decide(_NIGHTLY, state, at("03-08 10:00")).due_at == at("03-09 03:00")


def test_one_dream_makes_up_for_all_windows_missed():
    decision = decide(_NIGHTLY, working(used_until=at("03-01 03:00")), at("03-08 12:00"))
    assert decision.is_due(at("03-08 12:00"))
    assert decision.missed == Missed(at("03-02 03:00"), at("03-08 03:00"), is_skipped=False)
    done = schedule_state.succeeded(
        working(used_until=at("03-01 03:00")), started_at=at("03-08 12:00"), now=at("03-08 12:10"), is_manual=False
    )
    assert decide(_NIGHTLY, done, at("03-08 12:10")).due_at == at("03-09 03:00")


@pytest.mark.parametrize("trigger", [DailyAt(at="03:00"), Cron(expression="0 3 * * *"), Interval(every=DAY)])
def test_missed_windows_are_skipped_by_name_where_that_is_wanted(trigger: Interval | Cron | DailyAt):
    schedule = options(trigger, catch_up=CatchUp.SKIP)
    state = working(used_until=at("03-01 03:00"))
    decision = decide(schedule, state, at("03-08 12:00"))
    assert decision.missed == Missed(at("03-02 03:00"), at("03-08 03:00"), is_skipped=True)
    assert decision.due_at == at("03-09 03:00")
    told = schedule_state.skipped(state, decision.missed)
    again = decide(schedule, told, at("03-08 12:00"))
    assert (again.missed, again.due_at) == (None, at("03-09 03:00"))


def test_the_window_that_has_just_come_is_not_skipped_with_those_before_it():
    schedule = options(DailyAt(), catch_up=CatchUp.SKIP)
    decision = decide(schedule, working(used_until=at("03-01 03:00")), at("03-08 03:04"))
    assert (decision.due_at, decision.window) == (at("03-08 03:00"), at("03-08 03:00"))
    assert decision.missed == Missed(at("03-02 03:00"), at("03-07 03:00"), is_skipped=True)


def test_a_window_that_a_service_saw_come_is_not_missed_however_long_it_is_blocked():
    schedule = options(DailyAt(), catch_up=CatchUp.SKIP)
    state = working(used_until=at("03-07 03:00"), lease_until=at("03-08 09:00"))
    first = decide(schedule, state, at("03-08 03:00"))
    assert (first.due_at, first.window, _shut(first)) == (at("03-08 09:00"), at("03-08 03:00"), {"lease"})
    assert decide(schedule, schedule_state.armed(state, at("03-08 03:00")), at("03-08 09:00")).is_due(at("03-08 09:00"))
    assert not decide(schedule, state, at("03-08 09:00")).is_due(at("03-08 09:00"))


def test_what_blocks_before_a_window_keeps_nobody_from_seeing_it_come():
    schedule = options(DailyAt(), catch_up=CatchUp.SKIP)
    state = working(used_until=at("03-07 03:00"), lease_until=at("03-08 03:20"))
    assert decide(schedule, state, at("03-08 02:50")).due_at == at("03-08 03:00")


def test_a_window_in_quiet_hours_is_not_late_before_they_end():
    schedule = options(DailyAt(), catch_up=CatchUp.SKIP, quiet_hours=["02:00-09:00"])
    state = working(used_until=at("03-07 03:00"))
    assert decide(schedule, state, at("03-08 01:00")).due_at == at("03-08 09:00")
    assert decide(schedule, state, at("03-08 09:00")).is_due(at("03-08 09:00"))
    assert decide(schedule, state, at("03-08 09:06")).missed is not None


def test_a_zone_of_its_own_wins_over_the_schedules():
    schedule = options(DailyAt(at="03:00", timezone="America/New_York"), zone="Local")
    assert decide(schedule, working(zone="Europe/Lisbon"), BEGIN).due_at == at("01-01 08:00")
    local = options(DailyAt(at="03:00"), zone="Local")
    assert decide(local, working(zone="Australia/Lord_Howe"), BEGIN).due_at == at("01-01 16:00")


# Several triggers.


def test_the_first_of_several_triggers_wins():
    both = options(AnyOf(triggers=[DailyAt(at="03:00"), Idle(after=HOUR)]))
    state = working(last_activity_at=BEGIN)
    waiting = decide(both, state, BEGIN)
    assert (waiting.due_at, waiting.reason) == (BEGIN + HOUR, Reason.IDLE)
    assert _shut(waiting) == {"daily", "idle"}
    assert _shut(decide(both, state, BEGIN + HOUR)) == set()
    chatty = replace(state, last_activity_at=BEGIN + 175 * MINUTE)
    assert decide(both, chatty, BEGIN + 3 * HOUR).reason is Reason.DAILY


def test_all_of_several_triggers_wait_for_the_last():
    both = options(AllOf(triggers=[DailyAt(at="03:00"), Idle(after=HOUR)]))
    state = working(last_activity_at=BEGIN + 175 * MINUTE)
    decision = decide(both, state, BEGIN + 3 * HOUR)
    assert (decision.due_at, decision.reason) == (BEGIN + 235 * MINUTE, Reason.ALL_OF)
    assert decision.window == BEGIN + 3 * HOUR
    unreached = options(AllOf(triggers=[DailyAt(at="03:00"), Threshold()]))
    assert decide(unreached, state, BEGIN + 9 * HOUR).due_at is None


# Clocks that were wrong.


def test_instants_of_a_clock_that_was_far_ahead_are_cut_and_time_counts_on_from_there():
    ahead = at("12-31 00:00")
    state = working(
        last_success_at=ahead, used_until=ahead, scheduled_runs=(ahead,), work=(PassWork("x", ahead, is_waiting=True),)
    )
    decision = decide(options(Interval(every=HOUR)), state, at("03-08 12:00"))
    assert decision.is_from_future
    kept = settled(state, at("03-08 12:00"))
    later = decide(options(Interval(every=HOUR)), kept, at("03-08 13:00"))
    assert later.is_due(at("03-08 13:00"))
    assert not later.is_from_future
    assert kept.scheduled_runs == (at("03-08 12:00"),)


def test_a_clock_put_back_by_an_hour_brings_no_window_twice():
    state = working(used_until=at("03-08 03:00"))
    decision = decide(_NIGHTLY, state, at("03-08 02:10"))
    assert (decision.due_at, decision.is_from_future) == (at("03-09 03:00"), False)


def test_the_state_of_a_later_version_is_left_alone():
    decision = decide(_NIGHTLY, working(version=99), at("03-08 03:00"))
    assert (decision.due_at, _shut(decision)) == (None, {"version"})


def test_the_decision_rests_on_nothing_but_its_arguments():
    state = working(last_activity_at=BEGIN)
    assert decide(_PEER, state, BEGIN + HOUR) == decide(_PEER, replace(state), datetime(2026, 1, 1, 1, tzinfo=UTC))
    assert {gate.name for gate in decide(_PEER, state, BEGIN).gates} >= {GateName.WORK, GateName.BACK_OFF}
