"""A due time keeps its word: who sleeps until then finds the dream due, and who comes earlier does not."""

from dataclasses import replace
from datetime import timedelta

from deciding import BEGIN, DAY, HOUR, MINUTE, working
from hypothesis import given, strategies as st

from dream.options import AllOf, AnyOf, CatchUp, Cron, DailyAt, Heartbeat, Idle, Interval, SchedulingOptions, Threshold
from dream.triggers import PassWork, Reason, ScheduleState, decide

_TRIGGERS = (
    Interval(),
    Cron(expression="*/20 1,2 * * *"),
    DailyAt(at="02:15", timezone="Australia/Lord_Howe"),
    Idle(max_per_day=1),
    Idle(max_per_day=2, window="rolling"),
    Threshold(min_new=10),
    Heartbeat(beat=timedelta(minutes=7)),
    AnyOf(triggers=[Idle(after=5 * HOUR), DailyAt(at="01:30")]),
    AllOf(triggers=[Cron(expression="30 1 * * sun"), Idle(after=HOUR)]),
)
_OPTIONS = st.builds(
    SchedulingOptions,
    trigger=st.sampled_from(_TRIGGERS),
    zone=st.sampled_from(("UTC", "America/New_York", "Europe/Lisbon", "Australia/Lord_Howe")),
    quiet_hours=st.sampled_from(((), ("22:10-07:00",), ("00:30-02:20", "12:00-13:00"))),
    catch_up=st.sampled_from(CatchUp),
)
_AGO = st.integers(0, 4 * 1440 * 60).map(lambda seconds: timedelta(seconds=seconds))
_NOWS = st.integers(0, 364 * 1440).map(lambda minute: BEGIN + 5 * DAY + minute * MINUTE)


@st.composite
def _states(draw: st.DrawFn) -> ScheduleState:
    now = draw(_NOWS)
    attempt = draw(st.none() | _AGO)
    state = working(
        now - draw(_AGO),
        registered_at=BEGIN,
        last_activity_at=now - draw(_AGO),
        last_success_at=draw(st.none() | _AGO.map(lambda ago: now - ago)),
        last_attempt_at=None if attempt is None else now - attempt,
        failures=0 if attempt is None else draw(st.integers(0, 8)),
        used_until=draw(st.none() | _AGO.map(lambda ago: now - ago)),
        scheduled_runs=tuple(sorted(now - draw(_AGO) for _ in range(draw(st.integers(0, 3))))),
        new_entries=draw(st.integers(8, 12)),
        lease_until=draw(st.none() | _AGO.map(lambda ahead: now + ahead / 1000)),
        budget_left=draw(st.sampled_from((None, 0))),
        budget_renews_at=now + DAY,
    )
    dated = PassWork("retention", now + draw(_AGO), asks_model=draw(st.booleans()))
    return replace(state, work=(replace(state.work[0], asks_model=True), dated), armed=now)


@given(options=_OPTIONS, state=_states())
def test_a_dream_is_due_at_its_due_time_and_not_a_second_earlier(options: SchedulingOptions, state: ScheduleState):
    now = state.armed
    assert now is not None
    state = replace(state, armed=None)
    decision = decide(options, state, now)
    if decision.due_at is None:
        return
    if decision.missed is not None and decision.missed.is_skipped:
        state = replace(state, used_until=decision.missed.last)
    if decision.window is not None and decision.window <= now:
        state = replace(state, armed=decision.window)
    for _ in range(4):
        due = max(decision.due_at, now)
        # A heart beats on while something blocks: who comes between two beats need not wait for the next.
        if due > now and decision.reason is not Reason.HEARTBEAT:
            early = max(now, due - timedelta(seconds=1))
            assert not decide(options, state, early).is_due(early)
        now, decision = due, decide(options, state, due)
        if decision.window is not None and decision.window <= now:
            state = replace(state, armed=decision.window)
        assert decision.missed is None or not decision.missed.is_skipped
        if decision.is_due(now):
            return
        assert decision.blocked_by
    raise AssertionError("it is put off again and again")
