"""What a trigger says, whichever it is, and what several say together."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from dream.options import AllOf, AnyOf, Heartbeat, Idle, Threshold, Trigger
from dream.triggers.conditions import heartbeat_due, idle_due, threshold_due
from dream.triggers.decision import Gate, Missed, Reason
from dream.triggers.situation import Due, Situation
from dream.triggers.windows import window_due


def trigger_due(trigger: Trigger, situation: Situation) -> Due:
    """Return when *trigger* wants a dream, and what it measured."""
    match trigger:
        case Idle():
            return idle_due(trigger, situation)
        case Threshold():
            return threshold_due(trigger, situation)
        case Heartbeat():
            return heartbeat_due(trigger, situation)
        case AnyOf():
            return _earliest([trigger_due(one, situation) for one in trigger.triggers], situation.now)
        case AllOf():
            return _latest([trigger_due(one, situation) for one in trigger.triggers], situation.now)
        case _:
            return window_due(trigger, situation)


def _earliest(dues: Sequence[Due], now: datetime) -> Due:
    """Return the one that is due first, with the measures of all while none is due."""
    timed = [(due.at, number) for number, due in enumerate(dues) if due.at is not None]
    at, number = min(timed, default=(None, 0))
    first = dues[number]
    gates = first.gates if at is not None and at <= now else _all_gates(dues)
    # Windows of the others that have come are watched as well.
    come = max((due.window for due in dues if due.window is not None and due.window <= now), default=None)
    window = come if first.window is None else first.window
    return replace(first, gates=gates, window=window, missed=_skipped(dues) or first.missed)


def _latest(dues: Sequence[Due], now: datetime) -> Due:
    """Return the moment on which all agree."""
    times = [due.at for due in dues if due.at is not None]
    windows = [due.window for due in dues if due.window is not None]
    come = [window for window in windows if window <= now]
    missed = _skipped(dues) or next((due.missed for due in dues if due.missed is not None), None)
    return Due(
        at=max(times) if len(times) == len(dues) else None,
        reason=Reason.ALL_OF,
        gates=_all_gates(dues),
        window=max(come) if come else min(windows, default=None),
        missed=missed,
        beat=max((due.beat for due in dues if due.beat is not None), default=None),
    )


def _all_gates(dues: Sequence[Due]) -> tuple[Gate, ...]:
    return tuple(gate for due in dues for gate in due.gates)


def _skipped(dues: Sequence[Due]) -> Missed | None:
    return next((due.missed for due in dues if due.missed is not None and due.missed.is_skipped), None)
