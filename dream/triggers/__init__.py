"""When to dream: pure functions of the stored state of a scope."""

from dream.triggers.decision import Decision, Gate, GateName, Missed, Reading, Reason
from dream.triggers.state import STATE_VERSION, PassWork, ScheduleState, Source, Switch

__all__ = [
    "STATE_VERSION",
    "Decision",
    "Gate",
    "GateName",
    "Missed",
    "PassWork",
    "Reading",
    "Reason",
    "ScheduleState",
    "Source",
    "Switch",
]
