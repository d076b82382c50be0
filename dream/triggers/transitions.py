"""Changes the stored state as runs begin and end; stores apply these and write no rules of their own."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from dream.triggers.decision import Missed
from dream.triggers.schedule_state import ScheduleState

_KEPT: Final = timedelta(hours=48)


def armed(state: ScheduleState, window: datetime) -> ScheduleState:
    """Remember that *window* has come while a service watched; it stays due, however long something blocks it."""
    return replace(state, armed=window)


def skipped(state: ScheduleState, missed: Missed) -> ScheduleState:
    """Count the windows that nobody watched as used; the next one is the first after them."""
    return replace(state, used_until=_later(state.used_until, missed.last))


def requested(state: ScheduleState, now: datetime) -> ScheduleState:
    """Ask for a manual run; a request that is pending already stays as it is."""
    return state if state.requested_at is not None else replace(state, requested_at=now)


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
