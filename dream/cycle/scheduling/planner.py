"""Plans when each scope is looked at next, and books the runs that begin and end, in their own transactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from agentcore.domain.temporal import to_text
from dream.cycle.running.run_envelope import people_before
from dream.domain.reasons import Deferral
from dream.domain.report import Outcome, RunKind, RunReport
from dream.errors import NotAdmittedError
from dream.stores import dream_stores, on_scope
from dream.stores.fleet import ScheduleTerms
from dream.stores.schedules import ANYTHING_NEW, INTERRUPTED_RUN
from dream.triggers import PassWork, Reason, SwitchSource, decide, settled
from dream.triggers.local_time import machine_zone
from dream.triggers.schedule_state import armed, broken, failed, given_up, requested, skipped, started, succeeded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from agentcore.domain.capability import Capability
    from agentcore.domain.scope import Scope
    from agentcore.hosting.services import HostServices
    from agentcore.ids import IdFactory
    from agentcore.stores.storage import UnitOfWork
    from dream.options import DreamOptions
    from dream.options.levels import OptionLevels
    from dream.stores.schedules import Schedule
    from dream.triggers import Decision, Missed, ScheduleState, Switch


@dataclass(frozen=True, slots=True)
class ForegroundLoad:
    """What a process sees at this moment and no row holds.

    Args:
        is_busy: Whether a person is served, here or elsewhere.
        pending_messages: Messages that wait for an answer here.
    """

    is_busy: bool = False
    pending_messages: int = 0


async def foreground_load(parts: HostServices, options: DreamOptions, scope: Scope) -> ForegroundLoad:
    """Return what the dreams of a scope see around them at this moment."""
    is_busy = await people_before(parts, options, scope).sees_anyone()
    return ForegroundLoad(is_busy, parts.gate.serving(scope))


_QUIET = ForegroundLoad()


@dataclass(frozen=True, slots=True)
class Planner:
    """Works out due times, in transactions that others open; lives as long as the host.

    Args:
        levels: The options of each scope.
        ids: Names the records of skipped windows.
        capabilities: What the host offers passes.
        directives: What tells the texts that passes judge by now from any others.
    """

    levels: OptionLevels
    ids: IdFactory
    capabilities: frozenset[Capability] = frozenset()
    directives: str = ""
    _terms: dict[tuple[int, str, int], ScheduleTerms] = field(
        default_factory=dict[tuple[int, str, int], ScheduleTerms], init=False, repr=False, compare=False
    )

    @property
    def terms(self) -> ScheduleTerms:
        """What of the options of the whole host bears upon stored schedules, with the zone the machine is in now."""
        return self._terms_of(self.levels.host)

    def terms_of(self, scope: Scope) -> ScheduleTerms:
        """The same of the options of a scope."""
        return self._terms_of(self.levels.of(scope))

    def _terms_of(self, options: DreamOptions) -> ScheduleTerms:
        # Options live as long as the levels, which give the same object for all scopes that share them.
        key = id(options), machine_zone(), self.levels.edition
        if key not in self._terms:
            self._terms[key] = ScheduleTerms.of(options, key[1], self.capabilities, self.directives, self.levels)
        return self._terms[key]

    def decide(self, schedule: Schedule, now: datetime, around: ForegroundLoad = _QUIET) -> Decision:
        """Return when the next dream may start, all considered."""
        state = _seen(schedule, around).state
        return decide(self.levels.of(state.scope).schedule, state, now)

    def plan(self, unit: UnitOfWork, keys: Iterable[int]) -> None:
        """Store when each of these scopes is looked at next, what is new to it included."""
        schedules = dream_stores(unit).schedules
        planned: list[Schedule] = []
        for found in schedules.of(keys, self.terms_of):
            news = found if found.changed_since is None else found.with_news(min(found.changed_since, unit.now))
            if self.terms_of(found.state.scope).gives_other_work(found.state.options_hash):
                news = news.with_news(unit.now)
            planned.append(self.considered(unit, news)[0])
        schedules.save(planned)

    def plan_changed(self, unit: UnitOfWork, *, limit: int) -> int:
        """Plan the scopes of peers that did something; return how many peers there were."""
        fleet = dream_stores(unit).fleet
        changed = fleet.changed(limit=limit)
        self.plan(unit, changed.keys)
        fleet.settle(changed)
        return len(changed.peers)

    def plan_outdated(self, unit: UnitOfWork, *, limit: int) -> int:
        """Plan scopes whose due time was computed from other options; return how many there were.

        Where a host that came later has other options, nothing is done: due times go by its options.
        """
        fleet = dream_stores(unit).fleet
        keys = fleet.outdated(self.terms, limit=limit) if fleet.goes_by(self.terms) else ()
        self.plan(unit, keys)
        return len(keys)

    def plan_all(self, unit: UnitOfWork, *, after: int, limit: int) -> int | None:
        """Plan the next scopes that have a due time; return the last one's key, None if there were none."""
        keys = dream_stores(unit).fleet.planned(after=after, limit=limit)
        self.plan(unit, keys)
        return keys[-1] if keys else None

    def attend(
        self, unit: UnitOfWork, around: ForegroundLoad, work: Sequence[PassWork] | None = None
    ) -> tuple[Schedule, Decision]:
        """Plan the unit's scope, and return what it has come to.

        Args:
            unit: A transaction on the scope.
            around: What is seen beside what is stored.
            work: What its passes said they have to do; None if they were not asked.
        """
        schedules = dream_stores(unit).schedules
        found = schedules.mine(self.terms_of(unit.scope))
        if work is not None:
            found = with_answers(found, work)
        planned, decision = self.considered(unit, found, around)
        schedules.save([planned])
        return planned, decision

    def put_off(self, unit: UnitOfWork, key: int, *, began_at: datetime, problem: str) -> None:
        """Count a try that broke off outside its passes as failed, so that the scope backs off and no other waits.

        Args:
            unit: A transaction.
            key: The scope's key.
            began_at: When the try began.
            problem: Why, in a sentence.
        """
        schedules = dream_stores(unit).schedules
        for found in schedules.of([key], self.terms_of):
            state = broken(found.state, unit.now, began_at=began_at, problem=problem)
            planned, _ = self.considered(unit, replace(found, state=state, is_running=False))
            schedules.save([planned])

    def considered(
        self, unit: UnitOfWork, found: Schedule, around: ForegroundLoad = _QUIET
    ) -> tuple[Schedule, Decision]:
        """Return a schedule as it is to be stored, and the decision about it; skipped windows are written down."""
        now = unit.now
        planned_by = self.terms_of(found.state.scope).options_hash
        found = replace(found, state=replace(settled(found.state, now), options_hash=planned_by))
        if found.was_asked_for_and_died:  # whoever asked for it is no less served than the schedule
            found = replace(found, state=requested(found.state, now))
        decision = self.decide(found, now, around)
        state = found.state
        if decision.missed is not None and decision.missed.is_skipped:
            state = skipped(state, decision.missed)
            self._record(unit, found, decision.missed)
        made_up = decision.missed is not None and not decision.missed.is_skipped
        # Armed, a window counts as watched; one that a dream is to make up for stays missed until then.
        if decision.window is not None and decision.window <= now and not made_up:
            state = armed(state, decision.window)
        return replace(found, state=state).planned(decision), decision

    def _record(self, unit: UnitOfWork, found: Schedule, missed: Missed) -> None:
        report = RunReport(
            run_id=self.ids.new(),
            scope=found.state.scope,
            kind=RunKind.SKIPPED,
            outcome=Outcome.DEFERRED,
            reason=f"{Deferral.WINDOW_SKIPPED}: {spelled(missed)}",
            as_of=unit.now,
            started_at=unit.now,
            finished_at=unit.now,
        )
        runs = dream_stores(on_scope(unit, found.state.scope, found.key)).runs
        runs.open(report, {"passes": []})
        runs.close(report)


def spelled(missed: Missed) -> str:
    """Return which windows nobody watched, for people."""
    if missed.first == missed.last:
        return f"the window of {to_text(missed.first)} passed while nobody watched"
    return f"the windows from {to_text(missed.first)} to {to_text(missed.last)} passed while nobody watched"


def _seen(schedule: Schedule, around: ForegroundLoad) -> Schedule:
    state = replace(schedule.state, is_busy=around.is_busy, pending_messages=around.pending_messages)
    return replace(schedule, state=state)


def with_answers(found: Schedule, work: Sequence[PassWork]) -> Schedule:
    """Return a schedule with what passes say; work that was known, or assumed, keeps the instant it began at.

    A run that was broken off is due as it was when it began, and not in the next window of a clock.
    """
    before = {one.name: one.at for one in found.state.work if one.at is not None}

    def dated(one: PassWork) -> PassWork:
        if one.at is None or not one.is_waiting:
            return one
        names = tuple(before) if one.name == INTERRUPTED_RUN else (one.name, ANYTHING_NEW)
        known = [before.get(name) for name in names]
        return replace(one, at=min([one.at, *(at for at in known if at is not None)]))

    return replace(found, state=replace(found.state, work=tuple(dated(one) for one in work)))


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
    is_reading: ClassVar[bool] = False
    """Whether turns are read apart from a dream."""
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
        found = schedules.mine(self.planner.terms_of(unit.scope))
        self._admit(found, unit.now)
        # Only a service plans: until it does, the end of the lease is when somebody looks whether the run has died.
        begun = replace(
            found,
            state=self._begun(found.state, unit.now),
            began_with=found.explicit_entries,
            is_running=True,
            due_at=unit.now + self.lease,
            reason=self.trigger if self.is_whole else Reason.NEVER,
        )
        schedules.save([begun])
        self._began_at = unit.now

    def end(self, unit: UnitOfWork, report: RunReport) -> None:
        """Note how the run ended, in the transaction that closes it."""
        found = dream_stores(unit).schedules.mine(self.planner.terms_of(unit.scope))
        if not self.is_whole:
            state = self._ended(found.state, report.outcome)
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
            found = dream_stores(unit).schedules.mine(self.planner.terms_of(unit.scope))
            self._over(unit, replace(found, state=self._ended(found.state, None)))

    def _begun(self, state: ScheduleState, now: datetime) -> ScheduleState:
        return started(state, now)

    def _ended(self, state: ScheduleState, outcome: Outcome | None) -> ScheduleState:  # noqa: ARG002
        """Return the state after a run that counts as no dream: one of some passes, or one that was broken off."""
        return given_up(state)

    def _over(self, unit: UnitOfWork, found: Schedule) -> None:
        ended = replace(found, is_running=False, due_at=None, reason=Reason.NEVER)
        dream_stores(unit).schedules.save([ended])
        unit.activity.notify()

    @abstractmethod
    def _admit(self, found: Schedule, now: datetime) -> None:
        """Raise NotAdmittedError if the run may not begin."""


@dataclass(slots=True, kw_only=True)
class ManualBooking(Booking):
    """A run that a person starts now: it bypasses the schedule, never a switch."""

    def _admit(self, found: Schedule, now: datetime) -> None:
        refuse_switched_off(found)
        # Nobody else need go on with a run whose process died, nor wait for a quiet moment: this one does not.
        asked_at = None if found.is_running or found.state.waits_for_quiet else found.state.requested_at
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
        is_other = decision.reason is Reason.READING and not self.is_reading
        if not decision.is_due(now) or is_other:
            raise NotAdmittedError(reason=Deferral.NOT_DUE)
        self.trigger = Reason.READING if self.is_reading else decision.reason
        if not self.is_reading and decision.missed is not None and not decision.missed.is_skipped:
            self.missed = spelled(decision.missed)


@dataclass(slots=True, kw_only=True)
class ReadingBooking(ScheduledBooking):
    """New turns that a service has read apart from a dream: nothing that dreams are timed by moves."""

    is_whole: bool = False
    is_reading: ClassVar[bool] = True

    def _begun(self, state: ScheduleState, now: datetime) -> ScheduleState:
        return replace(state, read_at=now, reads_failed=state.reads_failed + 1)

    def _ended(self, state: ScheduleState, outcome: Outcome | None) -> ScheduleState:
        if outcome is None:
            return replace(state, reads_failed=max(0, state.reads_failed - 1))
        # What was left unread would be read again at once, and again: that waits as after a failure.
        is_stuck = outcome is not Outcome.COMPLETED and state.unread.turns > 0
        return state if is_stuck else replace(state, reads_failed=0)


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
        >>> from dream.triggers import Switch, SwitchSource
        >>> told(Switch(on=False, source=SwitchSource.WORKSPACE))
        'set for the whole workspace'
    """
    return {
        SwitchSource.DEFAULT: "nobody said anything",
        SwitchSource.WORKSPACE: "set for the whole workspace",
        SwitchSource.SCOPE: "set for this scope",
        SwitchSource.SESSION: "set for a session or a turn within it",
        SwitchSource.FORCE: "forced by the options",
        SwitchSource.OPTIONS: "switched off for all by the options",
    }[switch.source]
