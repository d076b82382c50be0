"""Plans when each scope is looked at next, for many of them in one transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agentcore.domain.capability import Capability
from agentcore.domain.instants import to_text
from agentcore.domain.scope import Scope
from agentcore.hosting.parts import HostParts
from agentcore.ids import IdFactory
from agentcore.stores.storage import UnitOfWork
from dream.cycle.foreground import people_before
from dream.domain.reasons import Deferral
from dream.domain.report import Outcome, RunKind, RunReport
from dream.options import DreamOptions
from dream.stores import dream_stores, on_scope
from dream.stores.schedule_facts import ScheduleTerms
from dream.stores.schedules import ANYTHING_NEW, Schedule
from dream.triggers import Decision, Missed, PassWork, decide, settled
from dream.triggers.local_time import machine_zone
from dream.triggers.transitions import armed, broken, skipped


@dataclass(frozen=True, slots=True)
class ForegroundLoad:
    """What a process sees at this moment and no row holds.

    Args:
        is_busy: Whether a person is served, here or elsewhere.
        pending_messages: Messages that wait for an answer here.
    """

    is_busy: bool = False
    pending_messages: int = 0


async def foreground_load(parts: HostParts, options: DreamOptions, scope: Scope) -> ForegroundLoad:
    """Return what the dreams of a scope see around them at this moment."""
    is_busy = await people_before(parts, options, scope).sees_anyone()
    return ForegroundLoad(is_busy, parts.gate.serving(scope))


_QUIET = ForegroundLoad()


@dataclass(frozen=True, slots=True)
class Planner:
    """Works out due times, in transactions that others open; lives as long as the host.

    Args:
        options: The host's options.
        ids: Names the records of skipped windows.
        capabilities: What the host offers passes.
        directives: What tells the texts that passes judge by now from any others.
    """

    options: DreamOptions
    ids: IdFactory
    capabilities: frozenset[Capability] = frozenset()
    directives: str = ""

    @property
    def terms(self) -> ScheduleTerms:
        """What of the options bears upon stored schedules, with the zone the machine is in now."""
        return ScheduleTerms.of(self.options, machine_zone(), self.capabilities, self.directives)

    def decide(self, schedule: Schedule, now: datetime, around: ForegroundLoad = _QUIET) -> Decision:
        """Return when the next dream may start, all considered."""
        return decide(self.options.schedule, _seen(schedule, around).state, now)

    def plan(self, unit: UnitOfWork, keys: Iterable[int]) -> None:
        """Store when each of these scopes is looked at next, what is new to it included."""
        schedules = dream_stores(unit).schedules
        terms = self.terms
        planned: list[Schedule] = []
        for found in schedules.of(keys, terms):
            news = found if found.changed_since is None else found.with_news(min(found.changed_since, unit.now))
            if terms.gives_other_work(found.state.options_hash):
                news = news.with_news(unit.now)
            planned.append(self.considered(unit, news)[0])
        schedules.save(planned, options_hash=terms.options_hash)

    def plan_changed(self, unit: UnitOfWork, *, limit: int) -> int:
        """Plan the scopes of peers that did something; return how many peers there were."""
        fleet = dream_stores(unit).fleet
        changed = fleet.changed(limit=limit)
        self.plan(unit, changed.keys)
        fleet.settle(changed)
        return len(changed.peers)

    def plan_outdated(self, unit: UnitOfWork, *, limit: int) -> int:
        """Plan scopes whose due time was computed from other options; return how many there were."""
        keys = dream_stores(unit).fleet.outdated(self.terms.options_hash, limit=limit)
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
        terms = self.terms
        found = schedules.mine(terms)
        if work is not None:
            found = with_answers(found, work)
        planned, decision = self.considered(unit, found, around)
        schedules.save([planned], options_hash=terms.options_hash)
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
        terms = self.terms
        for found in schedules.of([key], terms):
            state = broken(found.state, unit.now, began_at=began_at, problem=problem)
            planned, _ = self.considered(unit, replace(found, state=state, is_running=False))
            schedules.save([planned], options_hash=terms.options_hash)

    def considered(
        self, unit: UnitOfWork, found: Schedule, around: ForegroundLoad = _QUIET
    ) -> tuple[Schedule, Decision]:
        """Return a schedule as it is to be stored, and the decision about it; skipped windows are written down."""
        now = unit.now
        found = replace(found, state=settled(found.state, now))
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
    """Return a schedule with what passes say; work that was known, or assumed, keeps the instant it began at."""
    before = {one.name: one.at for one in found.state.work if one.at is not None}

    def dated(one: PassWork) -> PassWork:
        if one.at is None or not one.is_waiting:
            return one
        known = [before.get(name) for name in (one.name, ANYTHING_NEW)]
        return replace(one, at=min([one.at, *(at for at in known if at is not None)]))

    return replace(found, state=replace(found.state, work=tuple(dated(one) for one in work)))
