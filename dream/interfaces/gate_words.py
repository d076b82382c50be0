"""Says in words what each gate of a schedule asks, for all doors."""

from collections.abc import Iterable
from typing import Final

from dream.triggers import GateName

GATE_WORDS: Final = {
    GateName.VERSION: "the stored state is of this version",
    GateName.DREAMING: "dreams are on",
    GateName.LEARNING: "something is learned",
    GateName.PAUSED: "nobody paused it",
    GateName.LEASE: "no run is under way",
    GateName.BUSY: "nobody is being served",
    GateName.SCHEDULE: "dreams start by themselves",
    GateName.WORK: "some pass has work",
    GateName.BUDGET: "the tokens and calls of the day are not spent",
    GateName.INTERVAL: "the next window has come",
    GateName.CRON: "the minute of the cron expression has come",
    GateName.DAILY: "the time of day has come",
    GateName.IDLE: "it has been quiet for long enough",
    GateName.MAX_PER_DAY: "not too many dreams in one day",
    GateName.NEW_ENTRIES: "enough is new",
    GateName.UNREAD_TURNS: "enough turns are unread, or it has been quiet",
    GateName.COOLDOWN: "the last dream is long enough ago",
    GateName.HEARTBEAT: "the heart beats, long enough after the last dream",
    GateName.BACK_OFF: "the wait after a failure is over",
    GateName.QUIET_HOURS: "it is not one of the quiet hours",
    GateName.FREE_PLACE: "a place is free",
}
"""What holds while a gate is open."""


def gate_words(names: Iterable[str]) -> str:
    """Return in words what gates ask together.

    Example:
        >>> gate_words(["interval", "idle"])
        'the next window has come and it has been quiet for long enough'
    """
    return " and ".join(GATE_WORDS[GateName(name)] for name in names)
