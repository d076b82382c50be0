"""DreamStores runs in the schedule: what a run's beginning and end do to it, in the run's own transactions."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from agentcore.stores.storage import UnitOfWork
from dream.cycle.scheduling.planner import ForegroundLoad, Planner, spelled
from dream.domain.reasons import Deferral
from dream.domain.report import Outcome, RunReport
from dream.errors import NotAdmittedError
from dream.stores import dream_stores
from dream.stores.schedules import ANYTHING_NEW, Schedule
from dream.triggers import PassWork, Reason, Switch, SwitchSource
from dream.triggers.transitions import failed, given_up, started, succeeded

REQUEST_STANDS = timedelta(minutes=2)
"""How long a request keeps others from running; a host that is alive takes it up within a minute."""


@dataclass(slots=True, kw_only=True)
class Booking(ABC):
    """One run's place in the schedule of its scope; lives as long as the run.

    Args:
        planner: Decides.
        lease: How long after its beginning a run whose process died is looked at again.
        trigger: What starts it.
        missed: The windows that it makes up for, in words.
        is_whole: Whether all enabled passes run; a run of some alone is no dream that the schedule would count.
    """

    planner: Planner
    lease: timedelta
    trigger: Reason = Reason.MANUAL
    missed: str | None = None
    is_whole: bool = True
    _began_at: datetime | None = field(default=None, init=False)

    @property
    def is_manual(self) -> bool:
        """Whether a person asked for it."""
        return self.trigger is Reason.MANUAL

    def begin(self, unit: UnitOfWork) -> None:
        """Let the run begin, in the transaction that takes the lease.

        Raises:
            NotAdmittedError: it may not.
        """
        schedules = dream_stores(unit).schedules
        found = schedules.mine(self.planner.terms)
        self._admit(found, unit.now)
        # Only a service plans: until it does, the end of the lease is when somebody looks whether the run has died.
        begun = replace(
            found,
            state=started(found.state, unit.now),
            began_with=found.explicit_entries,
            is_running=True,
            due_at=unit.now + self.lease,
            reason=self.trigger,
        )
        schedules.save([begun], options_hash=found.state.options_hash)
        self._began_at = unit.now

    def end(self, unit: UnitOfWork, report: RunReport) -> None:
        """Note how the run ended, in the transaction that closes it."""
        found = dream_stores(unit).schedules.mine(self.planner.terms)
        if not self.is_whole:
            state = given_up(found.state)
        elif report.outcome is Outcome.FAILED:
            state = failed(found.state, is_manual=self.is_manual)
        else:
            state = succeeded(
                found.state,
                started_at=self._began_at or unit.now,
                now=unit.now,
                is_manual=self.is_manual,
                new_entries=found.explicit_entries - found.began_with,
            )
            # What is left to do nobody knows before the passes are asked again.
            state = replace(state, work=(PassWork(ANYTHING_NEW, unit.now, is_waiting=True),))
        self._over(unit, replace(found, state=state))

    def give_up(self, unit: UnitOfWork) -> None:
        """Note that the run was broken off without a fault of its own; it stays due."""
        if self._began_at is not None:
            found = dream_stores(unit).schedules.mine(self.planner.terms)
            self._over(unit, replace(found, state=given_up(found.state)))

    def _over(self, unit: UnitOfWork, found: Schedule) -> None:
        ended = replace(found, is_running=False, due_at=None, reason=Reason.NEVER)
        dream_stores(unit).schedules.save([ended], options_hash=found.state.options_hash)
        unit.activity.notify()

    @abstractmethod
    def _admit(self, found: Schedule, now: datetime) -> None:
        """Raise NotAdmittedError if the run may not begin."""


@dataclass(slots=True, kw_only=True)
class ManualBooking(Booking):
    """A run that a person starts now: it bypasses the schedule, never a switch."""

    def _admit(self, found: Schedule, now: datetime) -> None:
        refuse_switched_off(found)
        asked_at = found.state.requested_at
        if asked_at is not None and timedelta() <= now - asked_at < REQUEST_STANDS:
            detail = "a dream was asked for and begins within a minute where a host is running"
            raise NotAdmittedError(reason=f"{Deferral.ALREADY_PENDING}: {detail}")


@dataclass(slots=True, kw_only=True)
class ScheduledBooking(Booking):
    """A run that a service starts: decided once more, on the state that its lease is taken with.

    Args:
        around: What the service sees beside what is stored.
    """

    around: ForegroundLoad = field(default=ForegroundLoad())

    def _admit(self, found: Schedule, now: datetime) -> None:
        # The lease is this run's own.
        free = replace(found, state=replace(found.state, lease_until=None))
        decision = self.planner.decide(free, now, self.around)
        if not decision.is_due(now):
            raise NotAdmittedError(reason=Deferral.NOT_DUE)
        self.trigger = decision.reason
        if decision.missed is not None and not decision.missed.is_skipped:
            self.missed = spelled(decision.missed)


def refuse_switched_off(found: Schedule) -> None:
    """Refuse a scope that does not dream or learn.

    Raises:
        NotAdmittedError: it does not, and why.
    """
    off = ((Deferral.DREAMING_OFF, found.state.dreaming), (Deferral.LEARNING_OFF, found.state.learning))
    for code, switch in off:
        if not switch.on:
            raise NotAdmittedError(reason=f"{code}: {told(switch)}")


def told(switch: Switch) -> str:
    """Return who switched it off or on, for people.

    Example:
        >>> told(Switch(on=False, source=SwitchSource.WORKSPACE))
        'set for the whole workspace'
    """
    return {
        SwitchSource.DEFAULT: "nobody said anything",
        SwitchSource.WORKSPACE: "set for the whole workspace",
        SwitchSource.SCOPE: "set for this scope",
        SwitchSource.FORCE: "forced by the options",
        SwitchSource.OPTIONS: "switched off for all by the options",
    }[switch.source]
