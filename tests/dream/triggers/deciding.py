"""A scope that is scheduled by `decide` alone: activity comes, runs take time, the state is kept as a service would."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from agentcore.domain import Scope
from dream.options import Interval, SchedulingOptions, Trigger
from dream.triggers import Decision, PassWork, ScheduleState, decide, schedule_state

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def at(text: str) -> datetime:
    """Read an instant of 2026 in UTC, such as `03-08 07:00`."""
    return datetime.fromisoformat(f"2026-{text}").replace(tzinfo=UTC)


def working(since: datetime = BEGIN, **changes: object) -> ScheduleState:
    """Return the state of a scope in which a pass has had work *since* then."""
    state = ScheduleState(scope=Scope.default(), registered_at=BEGIN, work=(PassWork("fact-mining", since),))
    return replace(state, **changes)


def options(trigger: Trigger | None = None, **changes: object) -> SchedulingOptions:
    """Return options in UTC, so that no test depends on the machine."""
    return SchedulingOptions(**({"zone": "UTC", "trigger": trigger or Interval()} | changes))


@dataclass
class Scheduled:
    """A scope with its scheduler: activity and dates go in, runs come out.

    Args:
        options: When it dreams.
        takes: How long a run takes.
    """

    options: SchedulingOptions
    takes: timedelta = 10 * MINUTE
    state: ScheduleState = field(default_factory=lambda: working(work=()))
    runs: list[datetime] = field(default_factory=list)
    decisions: int = 0
    _started: datetime | None = None
    _new_since: int = 0

    def live(self, activity: Sequence[tuple[datetime, int]], dates: Sequence[datetime], until: datetime) -> None:
        """Live through *activity* (instant, new entries) and *dates* on which a pass has work, up to *until*."""
        events = sorted([*activity, *((when, -1) for when in dates)])
        now, place = BEGIN, 0
        while now < until:
            while place < len(events) and events[place][0] <= now:
                self._take(*events[place])
                place += 1
            if self._started is not None and now >= self._started + self.takes:
                self._end(now)
            coming = events[place][0] if place < len(events) else until
            now = min(coming, self._go_on(now) or until)

    def decision(self, now: datetime) -> Decision:
        self.decisions += 1
        return decide(self.options, self.state, now)

    def _go_on(self, now: datetime) -> datetime | None:
        """Start a run if one is due; return when something happens by itself."""
        if self._started is None:
            decision = self.decision(now)
            if not decision.is_due(now):
                return decision.due_at
            self.state = replace(schedule_state.started(self.state, now), work=())
            self._started, self._new_since = now, 0
            self.runs.append(now)
        return self._started + self.takes

    def _take(self, when: datetime, new: int) -> None:
        name = "retention" if new < 0 else "fact-mining"
        if all(one.name != name for one in self.state.work):
            self.state = replace(self.state, work=(*self.state.work, PassWork(name, when)))
        if new >= 0:
            self._new_since += new
            self.state = replace(self.state, last_activity_at=when, new_entries=self.state.new_entries + new)

    def _end(self, now: datetime) -> None:
        assert self._started is not None
        new, started = self._new_since, self._started
        self.state = schedule_state.succeeded(self.state, started_at=started, now=now, is_manual=False, new_entries=new)
        self._started = None
