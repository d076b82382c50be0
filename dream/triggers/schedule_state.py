"""Defines the stored state a decision about the next dream rests on, what triggers see, and how runs change it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from dream.triggers.local_time import end_of_quiet, zone_of

if TYPE_CHECKING:
    from datetime import tzinfo

    from agentcore.domain.scope import Scope
    from dream.options import SchedulingOptions
    from dream.triggers.decision import Gate, Missed, Reason

STATE_VERSION: Final = 1
"""Which shape of the state this version of the program reads and writes."""


class SwitchSource(StrEnum):
    """Which setting decided whether a scope dreams; a later one of this list wins over an earlier one."""

    DEFAULT = "default"
    """Nobody said anything."""
    WORKSPACE = "workspace"
    """Set for the whole workspace."""
    SCOPE = "scope"
    """Set for this scope."""
    SESSION = "session"
    """Set for a session, or said of a turn, within a scope that learns nothing otherwise."""
    FORCE = "force"
    """The options force dreams on, whatever workspaces and scopes say."""
    OPTIONS = "options"
    """The options switch all dreams off; nothing wins over that."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A setting that is on or off, and who said so.

    Args:
        on: What holds.
        source: Which setting won.
    """

    on: bool = True
    source: SwitchSource = SwitchSource.DEFAULT


@dataclass(frozen=True, slots=True)
class PassWork:
    """When one enabled pass has something to do.

    Args:
        name: The pass.
        at: From when on. In the past: it has work now, and has had it since then (if that is not known: since it was
            first seen to have work). In the future: its next time-based date. None: nothing until something new is
            stored.
        asks_model: Whether that work costs tokens, and so waits for the budget.
        is_waiting: Whether the work was there when it was looked for, whatever the clock says of *at*; only a date to
            come is not. It tells work found while a clock was ahead from such a date.
        items: How many items that work is about, for people; 0 if that is not known. It is not stored.
        awaits: What else than the date it waits for, for people; "" for nothing. It is not stored.
    """

    name: str
    at: datetime | None = None
    asks_model: bool = False
    is_waiting: bool = False
    items: int = field(default=0, compare=False)
    awaits: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class UnreadTurns:
    """What of the conversation no reader has read, counted as far as it decides anything.

    Args:
        turns: How many turns.
        tokens: How long they are.
    """

    turns: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleState:
    """All that `decide` looks at; stored per scope, changed by activity and by the functions of `transitions`.

    Instants are aware and in UTC.

    Args:
        scope: Whose dreams.
        registered_at: When the scope was first seen; windows count from here.
        zone: IANA name of the machine's own time zone: what `Local` means.
        last_activity_at: The newest turn, entry or signal from outside, from whichever process; dreams are none.
        pending_messages: Messages that wait for an answer at this moment; they count as activity now.
        new_entries: Explicit entries stored since the last success began, derived ones aside.
        work: What each enabled pass has to do.
        last_attempt_at: When the last run began, of whichever kind and outcome.
        last_success_at: When the last run ended that did not fail (completed, partial or unchanged), manual ones too.
        failures: Runs in a row that began and did not succeed; a crashed one is among them.
        problem: Why the last try came to nothing outside its passes, in a sentence; None if it did not.
        used_until: Windows up to here were used or skipped.
        armed: The window that came due while a service watched, and still waits; `CatchUp.SKIP` does not skip it.
        scheduled_runs: When the scheduled runs of the last two days began that did not fail, the oldest first.
        requested_at: When a manual run was asked for that has not ended yet; None if none is pending.
        waits_for_quiet: Whether that run is to begin once the scope has been quiet for `QUIET`.
        dreaming: Whether the scope dreams at all.
        learning: Whether memories are made of what is said; without that there are no dreams.
        is_paused: Whether a person paused the scope.
        is_busy: Whether something outside holds dreams back at this moment: a turn, or a busy source elsewhere.
        lease_until: When the lease of a run that is under way, here or elsewhere, runs out; None if there is none.
        budget_left: Tokens that may still be spent today; None if there is no bound.
        spent_bound: The option whose bound of the day is spent, such as `host_calls_per_day`; None if none is.
        budget_renews_at: When the budget is full again; None if it never is.
        unread: What waits to be read apart from dreams; nothing where the options read in dreams alone.
        read_at: When turns were last read apart from a dream, or were to be.
        reads_failed: Such readings in a row that failed; a crashed one is among them.
        options_hash: Of the options that the stored due time was computed from.
        version: Shape of the stored state; one newer than `STATE_VERSION` is left alone.
    """

    scope: Scope
    registered_at: datetime
    zone: str = "UTC"
    last_activity_at: datetime | None = None
    pending_messages: int = 0
    new_entries: int = 0
    work: tuple[PassWork, ...] = ()
    last_attempt_at: datetime | None = None
    last_success_at: datetime | None = None
    failures: int = 0
    problem: str | None = None
    used_until: datetime | None = None
    armed: datetime | None = None
    scheduled_runs: tuple[datetime, ...] = ()
    requested_at: datetime | None = None
    waits_for_quiet: bool = False
    dreaming: Switch = field(default=Switch())
    learning: Switch = field(default=Switch())
    is_paused: bool = False
    is_busy: bool = False
    lease_until: datetime | None = None
    budget_left: int | None = None
    spent_bound: str | None = None
    budget_renews_at: datetime | None = None
    unread: UnreadTurns = field(default=UnreadTurns())
    read_at: datetime | None = None
    reads_failed: int = 0
    options_hash: str = ""
    version: int = STATE_VERSION


def winning_switch(*, enabled: bool, ignore_scope_switches: bool, workspace: bool | None, scope: bool | None) -> Switch:
    """Return whether a scope dreams, and which setting says so.

    Switched off for all is off, whatever else is set. Force overrules workspaces and scopes; a scope, its workspace.

    Args:
        enabled: `DreamOptions.enabled`.
        ignore_scope_switches: `DreamOptions.ignore_scope_switches`.
        workspace: What is stored for the workspace; None if nothing is.
        scope: What is stored for the scope; None if nothing is.

    Example:
        >>> winning_switch(enabled=True, ignore_scope_switches=False, workspace=False, scope=None).source.value
        'workspace'
        >>> winning_switch(enabled=True, ignore_scope_switches=True, workspace=False, scope=None)
        Switch(on=True, source=<SwitchSource.FORCE: 'force'>)
    """
    if not enabled:
        return Switch(on=False, source=SwitchSource.OPTIONS)
    if ignore_scope_switches and False in (workspace, scope):
        return Switch(on=True, source=SwitchSource.FORCE)
    if scope is not None:
        return Switch(on=scope, source=SwitchSource.SCOPE)
    if workspace is not None:
        return Switch(on=workspace, source=SwitchSource.WORKSPACE)
    return Switch()


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


_KEPT: Final = timedelta(hours=48)


def armed(state: ScheduleState, window: datetime) -> ScheduleState:
    """Remember that *window* has come while a service watched; it stays due, however long something blocks it."""
    return replace(state, armed=window)


def skipped(state: ScheduleState, missed: Missed) -> ScheduleState:
    """Count the windows that nobody watched as used; the next one is the first after them."""
    return replace(state, used_until=_later(state.used_until, missed.last))


def requested(state: ScheduleState, now: datetime, *, when_quiet: bool = False) -> ScheduleState:
    """Ask for a manual run; a request that is pending already stays as it is, unless this one is more urgent."""
    is_urgent = state.waits_for_quiet and not when_quiet
    if state.requested_at is not None and not is_urgent:
        return state
    return replace(state, requested_at=now, waits_for_quiet=when_quiet)


def started(state: ScheduleState, now: datetime) -> ScheduleState:
    """Begin a run, to be stored before its first step.

    It counts as a failure until it ends, so that a run which kills its process backs off like one that fails.
    """
    return replace(state, last_attempt_at=now, failures=state.failures + 1)


def succeeded(
    state: ScheduleState, *, started_at: datetime, now: datetime, is_manual: bool, new_entries: int = 0
) -> ScheduleState:
    """End a run that did not fail (completed, partial or unchanged).

    Args:
        state: The state at the end of the run.
        started_at: When the run began.
        now: When it ended.
        is_manual: Whether a person asked for it; such a run uses no window and counts towards no cap.
        new_entries: Explicit entries stored since it began.
    """
    done = replace(state, last_success_at=now, failures=0, problem=None, new_entries=new_entries)
    if is_manual:
        return replace(done, requested_at=None)
    runs = (*(run for run in state.scheduled_runs if run > now - _KEPT), started_at)
    used_until = _later(state.used_until, started_at)
    return replace(done, used_until=used_until, armed=None, scheduled_runs=runs)


def failed(state: ScheduleState, *, is_manual: bool) -> ScheduleState:
    """End a run that failed: it stays due, and backs off; a manual one is over, and its caller was told."""
    return replace(state, requested_at=None) if is_manual else state


def broken(state: ScheduleState, now: datetime, *, began_at: datetime, problem: str) -> ScheduleState:
    """Note that a try came to nothing outside its passes; one that had begun a run has been counted by that.

    Args:
        state: The state after it.
        now: When it ended.
        began_at: When it began.
        problem: Why, in a sentence.
    """
    has_begun = state.last_attempt_at is not None and state.last_attempt_at >= began_at
    counted = replace(state, failures=max(1, state.failures)) if has_begun else started(state, now)
    return replace(counted, problem=problem)


def given_up(state: ScheduleState) -> ScheduleState:
    """End a run that yielded, was cancelled or found the lease held: no failure, and still due."""
    return replace(state, failures=max(0, state.failures - 1))


def _later(one: datetime | None, other: datetime) -> datetime:
    return other if one is None or one < other else one
