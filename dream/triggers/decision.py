"""Defines what is decided about the next dream of a scope, and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

Reading: TypeAlias = bool | int | str | datetime | timedelta | None
"""What a gate measured, or is set to."""


class Reason(StrEnum):
    """What starts the next dream."""

    NEVER = "never"
    """Nothing that is known now; something has to change first."""
    MANUAL = "manual"
    """A person asked for it."""
    INTERVAL = "interval"
    """So much time has passed."""
    CRON = "cron"
    """The cron expression's minute has come."""
    DAILY = "daily"
    """The time of day has come."""
    IDLE = "idle"
    """Nobody has said anything for so long."""
    THRESHOLD = "threshold"
    """So many new entries were stored, and it is quiet."""
    HEARTBEAT = "heartbeat"
    """So much time has passed, and the heart beats."""
    READING = "reading"
    """Turns wait to be read, apart from any dream."""
    ALL_OF = "all_of"
    """All of several triggers agree."""


class GateName(StrEnum):
    """What has to be open before a dream starts."""

    VERSION = "version"
    """The stored state comes from a later version of the program; only that one dreams here."""
    DREAMING = "dreaming"
    """Dreams are switched off for all, for the workspace or for the scope."""
    LEARNING = "learning"
    """Nothing is learned from this scope, so there is nothing to dream about."""
    PAUSED = "paused"
    """A person paused the scope."""
    LEASE = "lease"
    """A run is under way."""
    BUSY = "busy"
    """The agent is answering somebody."""
    SCHEDULE = "schedule"
    """No dream starts by itself; people start them."""
    WORK = "work"
    """No enabled pass has anything to do."""
    BUDGET = "budget"
    """The tokens of the day are spent, and all that is left to do costs some."""
    INTERVAL = "interval"
    """The next window has not come."""
    CRON = "cron"
    """The next minute of the cron expression has not come."""
    DAILY = "daily"
    """The time of day has not come."""
    IDLE = "idle"
    """Somebody said something not long enough ago."""
    MAX_PER_DAY = "max_per_day"
    """So many dreams ran already in one day."""
    NEW_ENTRIES = "new_entries"
    """Too few explicit entries were stored since the last dream."""
    UNREAD_TURNS = "unread_turns"
    """Too few new turns wait to be read apart from dreams, and somebody spoke not long enough ago."""
    COOLDOWN = "cooldown"
    """The last dream ended not long enough ago."""
    HEARTBEAT = "heartbeat"
    """The beat that is far enough from the last dream has not come, or the heart does not beat."""
    BACK_OFF = "back_off"
    """The last runs failed, so the next one waits."""
    QUIET_HOURS = "quiet_hours"
    """No dream starts at this time of day."""
    FREE_PLACE = "free_place"
    """A process has as many dreams under way as it may; the next begins when one of them ends."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One thing that has to be open, as it was found.

    Args:
        name: Which.
        is_open: Whether it lets a dream start now.
        value: What was measured.
        threshold: What it takes.
        until: When a closed gate opens by itself; None if that takes a change.
    """

    name: GateName
    is_open: bool
    value: Reading = None
    threshold: Reading = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Missed:
    """Windows that passed while nobody watched.

    Args:
        first: The oldest.
        last: The newest.
        is_skipped: Whether no dream makes up for them; else the next one does, for all of them together.
    """

    first: datetime
    last: datetime
    is_skipped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """When the next dream of a scope may start, and why not earlier.

    Args:
        due_at: The earliest instant at which it may start, or at which it is to be decided again: the end of what
            blocks. In the past or equal to now: it may start now. None: nothing known now will start it.
        reason: What starts it.
        gates: Every gate that was looked at, with what it measured.
        window: The window of a clock trigger that this dream is for, if it is for one. Once it has come (`window <=
            now`) it is to be stored as `armed`, so that nobody takes it for missed while something blocks it.
        missed: Windows that passed unwatched; a run record is to say so, and skipped ones count as used.
        is_from_future: Whether the state knew instants more than a day ahead of the clock, which were cut to now.
    """

    due_at: datetime | None
    reason: Reason
    gates: tuple[Gate, ...] = ()
    window: datetime | None = None
    missed: Missed | None = None
    is_from_future: bool = False

    @property
    def blocked_by(self) -> tuple[Gate, ...]:
        """The gates that are shut."""
        return tuple(gate for gate in self.gates if not gate.is_open)

    def is_due(self, now: datetime) -> bool:
        """Return whether the dream may start at *now*."""
        return self.due_at is not None and self.due_at <= now
