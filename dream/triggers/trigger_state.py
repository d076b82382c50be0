"""Defines what all triggers look at: the options, the state and the instant of one decision; and what each answers."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from dream.options import SchedulingOptions
from dream.triggers.decision import Gate, Missed, Reason
from dream.triggers.local_time import end_of_quiet, zone_of
from dream.triggers.schedule_state import ScheduleState

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
TICK: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class TriggerState:
    """One decision's facts.

    Args:
        options: The options of scheduling.
        state: The state, without instants far ahead of the clock.
        now: The instant of the decision.
        work_at: From when on some pass has work; None: from nothing known now.
    """

    options: SchedulingOptions
    state: ScheduleState
    now: datetime
    work_at: datetime | None

    @property
    def active_at(self) -> datetime:
        """When somebody last said something; now while messages wait."""
        if self.state.pending_messages:
            return self.now
        return self.state.last_activity_at or self.state.registered_at

    def zone(self, name: str = "") -> tzinfo:
        """Return the zone called *name*, the schedule's by default."""
        return zone_of(name or self.options.zone, self.state.zone)

    def out_of_quiet(self, at: datetime) -> datetime:
        """Return the earliest instant from *at* on that is not in quiet hours."""
        ranges = self.options.quiet_minutes()
        return end_of_quiet(at, self.zone(), ranges) if ranges else at

    def worked(self, at: datetime) -> datetime:
        """Return when it is both past *at* and there is work."""
        return at if self.work_at is None or self.work_at <= at else self.work_at


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerDecision:
    """What one trigger says.

    Args:
        at: From when on it wants a dream; None: not without something new.
        reason: Its name.
        gates: What it measured.
        window: The window it waits for or is in.
        missed: Windows that passed unwatched.
        beat: How often its heart beats, if it has one.
    """

    at: datetime | None
    reason: Reason
    gates: tuple[Gate, ...]
    window: datetime | None = None
    missed: Missed | None = None
    beat: timedelta | None = None


def next_beat(at: datetime, beat: timedelta) -> datetime:
    """Return the first beat from *at* on; beats are counted from 1970-01-01 in UTC, so that all processes agree.

    Example:
        >>> next_beat(datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC), timedelta(seconds=30)).second
        30
    """
    return EPOCH - -(at - EPOCH) // beat * beat
