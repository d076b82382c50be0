"""Decides, purely from the stored state of a scope, when to dream."""

from dream.triggers.decide import decide, settled
from dream.triggers.decision import Decision, Gate, GateName, Missed, Reading, Reason
from dream.triggers.foreseen import ForeseenDream, foresee
from dream.triggers.schedule_state import STATE_VERSION, PassWork, ScheduleState, Switch, SwitchSource, winning_switch

__all__ = [
    "STATE_VERSION",
    "Decision",
    "ForeseenDream",
    "Gate",
    "GateName",
    "Missed",
    "PassWork",
    "Reading",
    "Reason",
    "ScheduleState",
    "Switch",
    "SwitchSource",
    "decide",
    "foresee",
    "settled",
    "winning_switch",
]
