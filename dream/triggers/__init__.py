"""When to dream: pure functions of the stored state of a scope."""

from dream.triggers.decide import decide, settled
from dream.triggers.decision import Decision, Gate, GateName, Missed, Reading, Reason
from dream.triggers.state import STATE_VERSION, PassWork, ScheduleState, Source, Switch
from dream.triggers.switches import winning_switch

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
    "decide",
    "settled",
    "winning_switch",
]
