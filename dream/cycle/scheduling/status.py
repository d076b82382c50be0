"""Answers people about the schedule: a dream soon, when a scope dreams next, and why it has not dreamed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from agentcore.domain.temporal import to_text
from dream.cycle.running.run_envelope import scope_boundary
from dream.cycle.scheduling.backlog import Backlog
from dream.cycle.scheduling.planner import (
    ManualBooking,
    Planner,
    foreground_load,
    refuse_switched_off,
    with_answers,
)
from dream.domain.reasons import Deferral
from dream.domain.request import DreamRequest
from dream.errors import NotAdmittedError
from dream.options import AllOf, AnyOf, Heartbeat, Threshold
from dream.stores import dream_stores
from dream.triggers import Gate, GateName, Reason, foresee
from dream.triggers.schedule_state import requested

if TYPE_CHECKING:
    from agentcore.domain.scope import Scope
    from agentcore.hosting.services import HostServices
    from agentcore.stores.storage import ReadView, UnitOfWork
    from dream.cycle.scheduling.backlog import PassesWork
    from dream.cycle.scheduling.planner import (
        ForegroundLoad,
    )
    from dream.domain.report import DreamBrief
    from dream.options import DreamOptions, Trigger
    from dream.options.levels import OptionLevels
    from dream.passes import PassSlot
    from dream.stores.schedules import Schedule
    from dream.triggers import Decision, ForeseenDream, PassWork, Reading

_FORESEEN = timedelta(days=366)
_TRIED = timedelta(days=1)
_MOST_PAST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleStatus:
    """How the next dream of a scope stands.

    Args:
        scope: Whose dreams.
        now: When that was so.
        decision: When it may start, what starts it, and every gate with what it measured.
        work: What the passes have to do.
        requested_at: When a person asked for a dream that has not begun; None if nobody did.
        failures: Runs in a row that failed.
        warnings: What keeps dreams from starting by themselves, and passes from their work, in sentences.
    """

    scope: Scope
    now: datetime
    decision: Decision
    work: tuple[PassWork, ...]
    requested_at: datetime | None
    failures: int
    warnings: tuple[str, ...] = ()

    @property
    def due_at(self) -> datetime | None:
        """When the next dream may start; None if nothing known now will start it."""
        return self.decision.due_at

    @property
    def reason(self) -> Reason:
        """What starts it."""
        return self.decision.reason

    @property
    def backlog(self) -> dict[str, int]:
        """How many items each pass has to look at now; 0 for a pass that cannot tell."""
        return {one.name: one.items for one in self.work if one.is_waiting}

    @property
    def waits_for(self) -> tuple[Gate, ...]:
        """The gates that are shut."""
        return self.decision.blocked_by

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "scope": str(self.scope),
            "due_at": _plain(self.due_at),
            "reason": self.reason.value,
            "waits_for": [gate.name.value for gate in self.waits_for],
            "gates": [_gate_json(gate) for gate in self.decision.gates],
            "work": [{"pass": one.name, "at": _plain(one.at), "items": one.items} for one in self.work],
            "requested_at": _plain(self.requested_at),
            "failures": self.failures,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamTimeline:
    """The dreams of a scope in a time, those that were and those to come.

    Args:
        past: Those that began in it, the newest first.
        coming: Those foreseen, the next one first.
    """

    past: tuple[DreamBrief, ...]
    coming: tuple[ForeseenDream, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"past": [one.to_json() for one in self.past], "coming": [one.to_json() for one in self.coming]}


def read_schedule_status(view: ReadView, planner: Planner, around: ForegroundLoad, asked: PassesWork) -> ScheduleStatus:
    """Return how the next dream of the view's scope stands.

    Args:
        view: A view of the scope.
        planner: Decides.
        around: What is seen beside what is stored.
        asked: What the passes say they have to do.
    """
    options = planner.levels.of(view.scope)
    found = dream_stores(view).schedules.mine(planner.terms_of(view.scope))
    if found.changed_since is not None:
        found = found.with_news(min(found.changed_since, view.now))
    found = with_answers(found, asked.work)
    decision = planner.decide(found, view.now, around)
    place = _place(view, planner.levels.host, found) if decision.is_due(view.now) else ()
    return ScheduleStatus(
        scope=view.scope,
        now=view.now,
        decision=replace(decision, gates=(*decision.gates, *place)),
        work=found.state.work,
        requested_at=found.state.requested_at,
        failures=found.state.failures,
        warnings=(*_warnings(options, found, view), *_obstacles(found, asked.obstacle), *_without_room(view)),
    )


def _place(view: ReadView, options: DreamOptions, found: Schedule) -> tuple[Gate, ...]:
    """Return the gate that keeps a dream that is due from beginning beside those under way, if there is one."""
    most = options.schedule.max_concurrent_dreams
    under_way = dream_stores(view).fleet.most_under_way(view.now, besides=found.key)
    if under_way < most:
        return ()
    return (Gate(GateName.FREE_PLACE, is_open=False, value=under_way, threshold=most),)


def _warnings(options: DreamOptions, found: Schedule, view: ReadView) -> list[str]:
    """Return what keeps dreams from starting by themselves, whatever time passes."""
    schedule = options.schedule
    if not schedule.enabled:
        return ["No dream starts by itself: schedule.enabled is false."]
    said: list[str] = []
    for trigger in _needed(schedule.trigger):
        if isinstance(trigger, Heartbeat) and not trigger.beat:
            said.append("The heart does not beat: schedule.trigger.beat is zero, so no heartbeat starts a dream.")
        is_read = schedule.awake is not None and view.turns.count() > 0  # its facts are yet to be counted
        if isinstance(trigger, Threshold) and (found.explicit_entries or not is_read):
            said += _about_threshold(trigger, found, view)
    return said


def _without_room(view: ReadView) -> list[str]:
    """Return which passes asked nothing in the last dream, because the budget has no room for a single call."""
    last = dream_stores(view).runs.last_dream()
    return [] if last is None else list(last.without_room)


def _obstacles(found: Schedule, obstacle: str | None) -> list[str]:
    """Return what came between the scope and its last dream, or what passes would do now."""
    said = [f"The last dream broke off: {found.state.problem}."] if found.state.problem else []
    if obstacle is None:
        return said
    from dream.cycle.documents.delivery import NO_WORKSPACE  # noqa: PLC0415 - most hosts have no workspace

    if obstacle != NO_WORKSPACE:
        said.append(f"The passes that need the workspace wait: {obstacle}.")
    return said


def _needed(trigger: Trigger) -> list[Trigger]:
    """Return the triggers without which no dream starts: of several that each suffice, none but the last one left."""
    if isinstance(trigger, AllOf):
        return [needed for one in trigger.triggers for needed in _needed(one)]
    if isinstance(trigger, AnyOf):
        return _needed(trigger.triggers[0]) if len(trigger.triggers) == 1 else []
    return [trigger]


def _about_threshold(trigger: Threshold, found: Schedule, view: ReadView) -> list[str]:
    """Tell whether so many new entries can come, as things went so far."""
    needed = f"schedule.trigger.min_new is {trigger.min_new:,}"
    if not found.explicit_entries:
        counted = "counts what people and imports store as memories, never what dreams derive, and none ever came here"
        remedy = "choose an interval or idle trigger" if view.turns.count() else "store memories"
        return [f"The threshold cannot be reached by the signals present: {needed}, and it {counted}; {remedy}."]
    lived = view.now - found.state.registered_at
    if lived < _TRIED:
        return []
    per_day = found.explicit_entries / (lived / timedelta(days=1))
    days = (trigger.min_new - found.state.new_entries) / per_day
    if days <= _FORESEEN.days:
        return []
    came = f"{found.explicit_entries:,} came in {lived.days:,} days"
    return [f"The threshold is out of reach: {needed}, and {came}; lower it, or choose another trigger."]


def _gate_json(gate: Gate) -> dict[str, Any]:
    return {
        "name": gate.name.value,
        "open": gate.is_open,
        "value": _plain(gate.value),
        "threshold": _plain(gate.threshold),
        "until": _plain(gate.until),
    }


def _plain(value: Reading) -> object:
    if isinstance(value, datetime):
        return to_text(value)
    return value.total_seconds() if isinstance(value, timedelta) else value


class ScheduleFacade:
    """Takes requests and gives answers about the schedule of any scope; lives as long as the host.

    Args:
        parts: What the host offers.
        levels: The options of each scope.
        order: The passes of a run.
    """

    def __init__(self, parts: HostServices, levels: OptionLevels, order: tuple[PassSlot, ...]) -> None:
        self._parts = parts
        self._levels = levels
        self._order = order
        self.planner = Planner(levels, parts.ids, parts.capabilities)

    def booking(self, scope: Scope, *, is_whole: bool) -> ManualBooking:
        """Return the place in the schedule of a run that a person starts now on *scope*."""
        lease = self._levels.of(scope).lease
        return ManualBooking(planner=self.planner, lease=lease, trigger=Reason.MANUAL, is_whole=is_whole)

    async def request(self, scope: Scope, *, when_quiet: bool = False) -> DreamRequest:
        """Ask for a dream, to be begun by whichever host watches the scope, at once or in a quiet moment."""

        def ask(unit: UnitOfWork) -> DreamRequest:
            schedules = dream_stores(unit).schedules
            found = schedules.mine(self.planner.terms_of(scope))
            state = found.state
            asking = requested(state, unit.now, when_quiet=when_quiet)
            if asking is state:
                return DreamRequest(scope=scope, requested_at=state.requested_at, reason=Deferral.ALREADY_PENDING)
            if state.lease_until is not None:
                return DreamRequest(scope=scope, requested_at=None, reason=Deferral.LEASE_HELD)
            try:
                refuse_switched_off(found)
            except NotAdmittedError as error:
                return DreamRequest(scope=scope, requested_at=None, reason=error.reason)
            # Due from now on: a service that goes from one timed dream to the next sees it without planning anew.
            asked = replace(found, state=asking, due_at=unit.now, reason=Reason.MANUAL)
            schedules.save([asked])
            unit.activity.notify()
            return DreamRequest(scope=scope, requested_at=unit.now, reason=None)

        return await self._parts.storage.write(scope, ask)

    async def withdraw(self, scope: Scope) -> bool:
        """Take a request for a dream back that has not begun; return whether there was one."""

        def take_back(unit: UnitOfWork) -> bool:
            schedules = dream_stores(unit).schedules
            found = schedules.mine(self.planner.terms_of(scope))
            if found.state.requested_at is None:
                return False
            state = replace(found.state, requested_at=None)
            schedules.save([replace(found, state=state, due_at=None, reason=Reason.NEVER)])
            unit.activity.notify()
            return True

        return await self._parts.storage.write(scope, take_back)

    async def timeline(self, scope: Scope, since: datetime, until: datetime) -> DreamTimeline:
        """Return the dreams of a time, at most a thousand that were and a hundred to come; no pass is asked."""

        def read(view: ReadView) -> DreamTimeline:
            books = dream_stores(view)
            past = books.history.within(since, until, limit=_MOST_PAST)
            found = books.schedules.mine(self.planner.terms_of(scope))
            coming = foresee(self._levels.of(scope).schedule, found.state, view.now, until=until)
            return DreamTimeline(past=tuple(past), coming=tuple(one for one in coming if one.at >= since))

        return await self._parts.storage.read(scope, read)

    async def explained(self, scope: Scope) -> ScheduleStatus:
        """Return how the next dream stands, after asking each pass what it has to do.

        Raises:
            StorageError: the database failed.
            DreamBrokenOffError: the passes could not be asked.
        """
        options = self._levels.of(scope)
        backlog = Backlog(parts=self._parts, options=options, order=self._order)
        with scope_boundary(scope):
            around, found = await foreground_load(self._parts, options, scope), await backlog.of(scope)
            standing = await self._parts.storage.read(
                scope, lambda view: read_schedule_status(view, self.planner, around, found)
            )
        if self._parts.chat is not None or options.model.name is None:
            return standing
        return replace(standing, warnings=(*standing.warnings, self._levels.unasked_models()))
