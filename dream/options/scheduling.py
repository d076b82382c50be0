"""When dreams start by themselves."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from functools import lru_cache
from typing import ClassVar

from pydantic import Field, field_validator, model_validator

from agentcore.domain.busy_reach import BusyReach
from agentcore.errors import InvalidOptionsError
from agentcore.hosting.options import Options
from dream.options.triggers import Interval, Trigger
from dream.options.walltime import LOCAL, checked_time, checked_zone, minute_of_day

_DAY_MINUTES = 24 * 60


class CatchUp(StrEnum):
    """What becomes of windows that passed while nobody watched."""

    RUN_ONCE = "run_once"
    """One dream makes up for all of them."""
    SKIP = "skip"
    """They are recorded as skipped, and the next window is waited for."""


class AwakeReading(Options):
    """When new turns are read apart from dreams, as soon as one of these holds; what they say counts as new.

    Example:
        >>> AwakeReading(turns=5).silence
        datetime.timedelta(seconds=300)
    """

    section: ClassVar[str] = "dreaming.schedule.awake"
    """What its fields are called after in errors."""

    turns: int = Field(default=20, ge=1, le=500)
    """So many turns are unread."""
    tokens: int = Field(default=1_000, ge=1)
    """They have so many tokens."""
    silence: timedelta = Field(default=timedelta(minutes=5), ge=timedelta(0), le=timedelta(days=1))
    """Nobody has said anything for so long."""


class SchedulingOptions(Options):
    """When dreams start by themselves, and what holds them back.

    Example:
        >>> SchedulingOptions(quiet_hours=("08:00-20:00",)).catch_up.value
        'run_once'
    """

    section: ClassVar[str] = "dreaming.schedule"
    """What its fields are called after in errors."""
    renamed: ClassVar[Mapping[str, str]] = {"back_off_most": "max_back_off"}

    enabled: bool = True
    """Whether dreams start by themselves; people start them either way."""
    trigger: Trigger = Field(default_factory=Interval)
    """What starts them."""
    awake: AwakeReading | None = None
    """When new turns are read apart from dreams; None reads them in dreams alone. The preset `peer` sets it."""
    zone: str = LOCAL
    """IANA name of the zone of times of day, quiet hours and days; `Local` is the machine's."""
    quiet_hours: tuple[str, ...] = ()
    """Times of day at which none starts, such as `08:00-20:00`; one that is due waits for the end."""
    catch_up: CatchUp = CatchUp.RUN_ONCE
    """What becomes of windows that passed while nobody watched."""
    on_time: timedelta = Field(default=timedelta(minutes=5), ge=timedelta(minutes=1), le=timedelta(hours=1))
    """A window found later than this after it came was missed; a minute to an hour."""
    back_off: timedelta = Field(default=timedelta(minutes=1), ge=timedelta(seconds=1), le=timedelta(hours=24))
    """The wait after a failure; it doubles with each further one."""
    max_back_off: timedelta = Field(default=timedelta(hours=1), ge=timedelta(seconds=1), le=timedelta(days=7))
    """The longest such wait."""
    busy_poll: timedelta = Field(default=timedelta(seconds=5), ge=timedelta(seconds=1), le=timedelta(minutes=5))
    """How soon it is looked again while something outside holds a dream back."""
    max_concurrent_dreams: int = Field(default=4, ge=1, le=64)
    """Dreams that one host has under way at once, each on a scope of its own; what is due beyond them waits."""
    busy_reach: BusyReach = BusyReach.SCOPE
    """Whose turns hold a dream back: those of its scope, of its workspace, or all; a shared model waits for all."""

    @field_validator("zone")
    @classmethod
    def _be_known(cls, zone: str) -> str:
        return checked_zone(zone, field=f"{cls.section}.zone")

    @field_validator("quiet_hours")
    @classmethod
    def _leave_some_time(cls, ranges: tuple[str, ...]) -> tuple[str, ...]:
        quiet: set[int] = set()
        for number, one in enumerate(ranges):
            start, end = _bounds(one, field=f"{cls.section}.quiet_hours[{number}]")
            quiet.update(minute % _DAY_MINUTES for minute in range(start, end if start < end else end + _DAY_MINUTES))
        if len(quiet) == _DAY_MINUTES:
            allowed = "leave some time of the day for dreams, or set enabled to false"
            raise InvalidOptionsError(field=f"{cls.section}.quiet_hours", value=ranges, allowed=allowed)
        return ranges

    @model_validator(mode="after")
    def _grow(self) -> "SchedulingOptions":
        if self.max_back_off < self.back_off:
            allowed = f"give at least back_off, which is {self.back_off}"
            raise InvalidOptionsError(field=f"{self.section}.max_back_off", value=self.max_back_off, allowed=allowed)
        return self

    def quiet_minutes(self) -> tuple[tuple[int, int], ...]:
        """Return the bounds of the quiet hours in minutes of the day; an end before its start lies on the next day."""
        return _ranges(self.quiet_hours)


@lru_cache(maxsize=64)
def _ranges(quiet_hours: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    return tuple(_bounds(one, field="") for one in quiet_hours)


def _bounds(text: str, *, field: str) -> tuple[int, int]:
    start, dash, end = text.partition("-")
    if not dash or start == end:
        raise InvalidOptionsError(field=field, value=text, allowed="write two times of day, such as 22:00-07:00")
    return minute_of_day(checked_time(start, field=field)), minute_of_day(checked_time(end, field=field))
