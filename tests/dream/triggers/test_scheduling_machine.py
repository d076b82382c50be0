"""Anything may happen to a scope: talk, crashes, restarts, clocks put forward and back, people, two services."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from deciding import BEGIN, DAY, HOUR, MINUTE, working
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from dream.options import (
    AnyOf,
    CatchUp,
    Cron,
    DailyAt,
    Heartbeat,
    Idle,
    Interval,
    SchedulingOptions,
    Threshold,
    Trigger,
)
from dream.triggers import PassWork, Reason, decide, schedule_state, settled

_LEASE = MINUTE
_TAKES = 10 * MINUTE
_ZONE = ZoneInfo("America/New_York")
_TRIGGERS = (
    Interval(every=3 * HOUR),
    Cron(expression="30 */5 * * *"),
    DailyAt(at="03:00", timezone="America/New_York"),
    Idle(after=HOUR, max_per_day=2),
    Idle(after=HOUR, max_per_day=2, window="rolling"),
    Threshold(min_new=5, cooldown=2 * HOUR, idle=HOUR),
    Heartbeat(every=4 * HOUR),
    AnyOf(triggers=[Idle(after=HOUR, max_per_day=1), DailyAt()]),
)


@dataclass
class _Run:
    service: int
    started: datetime
    is_manual: bool
    new: int = 0


class Scheduling(RuleBasedStateMachine):
    """Two services and a database row; what a service does here is what a real one does between two transactions."""

    def __init__(self) -> None:
        super().__init__()
        self.now = BEGIN
        self.state = working(work=())
        self.up = [True, True]
        self.run: _Run | None = None
        self.fails = False
        self.finished: list[datetime] = []
        self.starts: list[datetime] = []

    @initialize(
        trigger=st.sampled_from(_TRIGGERS),
        quiet=st.sampled_from(((), ("09:00-17:00",))),
        policy=st.sampled_from(CatchUp),
    )
    def choose(self, trigger: Trigger, quiet: tuple[str, ...], policy: CatchUp):
        self.options = SchedulingOptions(trigger=trigger, zone=_ZONE.key, quiet_hours=quiet, catch_up=policy)

    @rule(new=st.integers(1, 6))
    def talk(self, new: int):
        """Any process stores something; no service is told."""
        names = {one.name for one in self.state.work}
        work = (
            self.state.work
            if "fact-mining" in names
            else (*self.state.work, PassWork("fact-mining", self.now, is_waiting=True))
        )
        total = self.state.new_entries + new
        self.state = replace(self.state, last_activity_at=self.now, new_entries=total, work=work)
        if self.run is not None:
            self.run.new += new

    @rule(new=st.integers(1, 6), minutes=st.sampled_from((50, 130, 400)))
    def talk_and_go(self, new: int, minutes: int):
        self.talk(new)
        self._live_until(self.now + minutes * MINUTE)

    @rule(minutes=st.sampled_from((1, 7, 45, 61, 300, 1500)))
    def wait(self, minutes: int):
        self._live_until(self.now + minutes * MINUTE)

    @rule()
    def ask(self):
        self.state = schedule_state.requested(self.state, self.now)

    @rule(fails=st.booleans())
    def let_runs_fail(self, fails: bool):
        self.fails = fails

    @rule(hours=st.sampled_from((-80, -30, -2, -1, 1, 9, 50)))
    def put_the_clock(self, hours: int):
        """The clock jumps; a run that is under way goes on."""
        self.now += hours * HOUR
        if hours < 0:
            self.finished, self.starts = [], []  # a cap of a day says nothing about a day that comes twice
        if self.run is not None:
            self.run.started += hours * HOUR
            self.state = replace(self.state, lease_until=self.now + _LEASE)

    @precondition(lambda self: any(self.up))
    @rule(service=st.integers(0, 1))
    def kill(self, service: int):
        """The process is gone, with the run that it had; its lease runs out."""
        self.up[service] = False
        if self.run is not None and self.run.service == service:
            self.run = None

    @rule(service=st.integers(0, 1))
    def restart(self, service: int):
        self.up[service] = True

    def teardown(self):
        """Once all is well, nothing that was due stays undone."""
        self.up, self.fails = [True, True], False
        self._live_until(self.now + 5 * DAY)
        assert self.run is None
        assert self.state.requested_at is None
        waits_for_more = isinstance(self.options.trigger, Threshold) and self.state.new_entries < 5
        assert not self.state.work or waits_for_more

    def _live_until(self, until: datetime) -> None:
        while True:
            coming = [self._tick(service) for service in (0, 1) if self.up[service]]
            following = min((one for one in coming if one is not None), default=until)
            if following >= until:
                break
            self.now = max(following, self.now + timedelta(seconds=1))
        self.now = until

    def _tick(self, service: int) -> datetime | None:
        """Let one service look; return when it looks again."""
        if self.run is not None:  # whoever runs is alive, and renews its lease more often than anything else happens
            self.state = replace(self.state, lease_until=self.now + _LEASE)
        if self.run is not None and self.run.service == service:
            if self.now < self.run.started + _TAKES:
                return self.run.started + _TAKES
            self._end(self.run)
        decision = decide(self.options, self.state, self.now)
        if decision.is_from_future:
            self.state = settled(self.state, self.now)
        if decision.missed is not None and decision.missed.is_skipped:
            self.state = schedule_state.skipped(self.state, decision.missed)
        elif decision.missed is None and decision.window is not None and decision.window <= self.now:
            self.state = schedule_state.armed(self.state, decision.window)
        if not decision.is_due(self.now):
            return decision.due_at
        self._start(service, is_manual=decision.reason is Reason.MANUAL)
        return self.now + _TAKES

    def _start(self, service: int, *, is_manual: bool) -> None:
        assert self.run is None, "two runs at once"
        if not is_manual:
            assert any(one.at is not None and one.at <= self.now for one in self.state.work), "nothing new"
            self._respects_caps()
        self.starts = [*(one for one in self.starts if one > self.now - HOUR), self.now]
        assert len(self.starts) <= 12, "a storm"
        started = schedule_state.started(self.state, self.now)
        self.state = replace(started, lease_until=self.now + _LEASE)
        self.run = _Run(service, self.now, is_manual)

    def _respects_caps(self) -> None:
        local = self.now.astimezone(_ZONE)
        assert not (self.options.quiet_hours and 9 <= local.hour < 17), "in quiet hours"
        trigger = self.options.trigger
        if isinstance(trigger, Idle):
            days = [one.astimezone(_ZONE).date() for one in self.finished]
            recent = [one for one in self.finished if one > self.now - DAY]
            count = len(recent) if trigger.window == "rolling" else days.count(local.date())
            assert count < trigger.max_per_day, "over the cap"

    def _end(self, run: _Run) -> None:
        self.run = None
        self.state = replace(self.state, lease_until=None)
        if self.fails:
            self.state = schedule_state.failed(self.state, is_manual=run.is_manual)
            return
        left = (PassWork("fact-mining", run.started, is_waiting=True),) if run.new else ()
        self.state = schedule_state.succeeded(
            self.state, started_at=run.started, now=self.now, is_manual=run.is_manual, new_entries=run.new
        )
        self.state = replace(self.state, work=left)
        if not run.is_manual:
            self.finished.append(run.started)


TestScheduling = Scheduling.TestCase
TestScheduling.settings = settings(max_examples=100, stateful_step_count=40)
