"""The dreams to come: what the decision says of now, and of each instant after it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, strategies as st

from agentcore.domain.scope import Scope
from dream.options import AnyOf, AwakeReading, Cron, DailyAt, Heartbeat, Idle, Interval, SchedulingOptions, Threshold
from dream.triggers import PassWork, Reason, ScheduleState, Switch, SwitchSource, decide, foresee
from dream.triggers.schedule_state import started, succeeded

_NOW = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)
_STATE = ScheduleState(scope=Scope.default(), registered_at=_NOW)
_ALWAYS = PassWork("exact-fold", _NOW, is_waiting=True)
_BY_THE_CLOCK = st.one_of(
    st.integers(10, 5_000).map(lambda minutes: Interval(every=timedelta(minutes=minutes))),
    st.integers(0, 23).map(lambda hour: DailyAt(at=f"{hour:02}:15", timezone="Europe/Vienna")),
    st.sampled_from(["0 */6 * * *", "30 2 * * 1-5"]).map(lambda text: Cron(expression=text, timezone="UTC")),
    st.integers(2, 72).map(lambda hours: Heartbeat(every=timedelta(hours=hours))),
)


@given(trigger=_BY_THE_CLOCK, quiet=st.sampled_from([(), ("08:00-18:00",)]))
def test_dreams_that_go_well_begin_when_they_were_foreseen(trigger: Interval, quiet: tuple[str, ...]):
    options = SchedulingOptions(trigger=trigger, quiet_hours=quiet, zone="UTC")
    foreseen = [one.at for one in foresee(options, _STATE, _NOW, until=_NOW + timedelta(days=9), limit=7)]
    state, begun, at = replace(_STATE, work=(_ALWAYS,)), list[datetime](), _NOW
    # A service that looks when it was told to, and dreams when it may.
    while len(begun) < len(foreseen):
        due = decide(options, state, at).due_at
        assert due is not None
        if due > at:
            at = due
            continue
        begun.append(at)
        state = succeeded(started(state, at), started_at=at, now=at, is_manual=False)
    assert foreseen == begun


def test_what_waits_for_people_is_foreseen_once():
    until = _NOW + timedelta(days=30)
    for trigger in (Idle(after=timedelta(hours=1)), AnyOf(triggers=(Idle(after=timedelta(hours=1)), DailyAt()))):
        (one,) = foresee(SchedulingOptions(trigger=trigger), _STATE, _NOW, until=until)
        assert (one.at, one.reason) == (_NOW + timedelta(hours=1), Reason.IDLE)
    assert foresee(SchedulingOptions(trigger=Threshold(min_new=5)), _STATE, _NOW, until=until) == []


def test_nothing_comes_where_nothing_may_and_a_request_comes_first():
    options, until = SchedulingOptions(trigger=Interval(every=timedelta(days=1))), _NOW + timedelta(days=3)
    off = Switch(on=False, source=SwitchSource.SCOPE)
    for state in (replace(_STATE, is_paused=True), replace(_STATE, dreaming=off)):
        assert foresee(options, state, _NOW, until=until) == []
    assert foresee(options.model_copy(update={"enabled": False}), _STATE, _NOW, until=until) == []
    asked = foresee(options, replace(_STATE, requested_at=_NOW), _NOW, until=until)
    assert [one.reason for one in asked] == [Reason.MANUAL, Reason.INTERVAL, Reason.INTERVAL, Reason.INTERVAL]


def test_no_more_is_foreseen_than_asked_for_and_readings_are_no_dreams():
    options = SchedulingOptions(trigger=Interval(every=timedelta(minutes=1)), awake=AwakeReading())
    found = foresee(options, _STATE, _NOW, until=_NOW + timedelta(days=30), limit=50)
    assert len(found) == 50
    assert {one.reason for one in found} == {Reason.INTERVAL}
