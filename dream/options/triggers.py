"""What starts a dream by itself: the triggers, as options."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, field_validator, model_validator

from agentcore.errors import InvalidOptionsError
from agentcore.hosting.options import Options
from dream.options.walltime import checked_cron, checked_time, checked_zone

_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)
_YEAR = timedelta(days=366)
_MOST_COMBINED = 10


class CapWindow(StrEnum):
    """What a day is that has at most so many dreams."""

    CALENDAR = "calendar"
    """From midnight to midnight in the schedule's zone."""
    ROLLING = "rolling"
    """The last 24 hours."""


class TriggerOptions(Options):
    """Base of all triggers."""

    section: ClassVar[str] = "dreaming.schedule.trigger"
    """What its fields are called after in errors."""


class Interval(TriggerOptions):
    """A dream every so often, at windows that follow each other from the scope's first day on.

    A window in which nothing is to be done passes unused; a manual run moves none.

    Example:
        >>> Interval(every=timedelta(hours=4)).initial_delay
        datetime.timedelta(seconds=300)
    """

    kind: Literal["interval"] = "interval"
    """Which trigger it is, in files."""
    every: timedelta = Field(default=timedelta(hours=4), ge=_MINUTE, le=_YEAR)
    """From the start of one scheduled dream to the next window; a minute to 366 days."""
    initial_delay: timedelta = Field(default=timedelta(minutes=5), ge=timedelta(0), le=_YEAR)
    """From the moment a scope is first seen to its first window; not from each start of the host."""


class ZonedTrigger(TriggerOptions):
    """Base of the triggers that go by the clock on the wall."""

    timezone: str = ""
    """IANA name such as `America/New_York`, or `Local`; by default the schedule's zone."""

    @field_validator("timezone")
    @classmethod
    def _be_known(cls, zone: str) -> str:
        return checked_zone(zone, field=f"{cls.section}.timezone") if zone else zone


class Cron(ZonedTrigger):
    """A dream at the minutes of a cron expression; a local minute that comes twice counts once.

    Example:
        >>> Cron(expression="0 */12 * * *").kind
        'cron'
    """

    kind: Literal["cron"] = "cron"
    """Which trigger it is, in files."""
    expression: str = "0 3 * * *"
    """Minute, hour, day of month, month, day of week, or a name such as `@daily`."""

    @field_validator("expression")
    @classmethod
    def _have_a_next_time(cls, expression: str) -> str:
        return checked_cron(expression, field=f"{cls.section}.expression")


class DailyAt(ZonedTrigger):
    """A dream at a time of day, once per local day.

    Where the clocks skip that minute it runs at the next one that exists; where it comes twice, at the first.

    Example:
        >>> DailyAt(at="03:30", timezone="Europe/Lisbon").at
        '03:30'
    """

    kind: Literal["daily"] = "daily"
    """Which trigger it is, in files."""
    at: str = "03:00"
    """HH:MM, 24 hours."""

    @field_validator("at")
    @classmethod
    def _be_a_time(cls, at: str) -> str:
        return checked_time(at, field=f"{cls.section}.at")


class Idle(TriggerOptions):
    """A dream when nobody has said anything for a while, and the last dream is as long ago.

    Example:
        >>> Idle(after=timedelta(hours=1), max_per_day=1, window="rolling").window.value
        'rolling'
    """

    kind: Literal["idle"] = "idle"
    """Which trigger it is, in files."""
    after: timedelta = Field(default=timedelta(minutes=120), ge=_MINUTE, le=30 * _DAY)
    """How long it has to be quiet; a minute to 30 days."""
    max_per_day: int = Field(default=3, ge=1, le=1_440)
    """Scheduled dreams in a day at most, failed ones aside."""
    window: CapWindow = CapWindow.CALENDAR
    """What a day is."""


class Threshold(TriggerOptions):
    """A dream when enough was stored, the last one is long enough ago, and it is quiet.

    Example:
        >>> Threshold(min_new=20).cooldown
        datetime.timedelta(seconds=28800)
    """

    kind: Literal["threshold"] = "threshold"
    """Which trigger it is, in files."""
    min_new: int = Field(default=50, ge=1, le=100_000)
    """Explicit entries stored since the last dream began; derived ones do not count."""
    cooldown: timedelta = Field(default=timedelta(hours=8), ge=timedelta(0), le=30 * _DAY)
    """From the end of the last dream, a manual one too; up to 30 days."""
    idle: timedelta = Field(default=timedelta(minutes=60), ge=timedelta(0), le=7 * _DAY)
    """How long it has to be quiet; anything new begins the wait anew. Up to 7 days."""


class Heartbeat(TriggerOptions):
    """A dream at the first beat that is long enough after the last completed one.

    Example:
        >>> Heartbeat(beat=timedelta(0)).every
        datetime.timedelta(days=1)
    """

    kind: Literal["heartbeat"] = "heartbeat"
    """Which trigger it is, in files."""
    beat: timedelta = Field(default=timedelta(seconds=30), ge=timedelta(0), le=_DAY)
    """Time between two beats; zero stops the heart, and with it the dreams."""
    every: timedelta = Field(default=_DAY, ge=_MINUTE, le=_YEAR)
    """From the end of the last dream that did not fail; a minute to 366 days."""

    @field_validator("beat")
    @classmethod
    def _be_countable(cls, beat: timedelta) -> timedelta:
        if timedelta(0) < beat < timedelta(seconds=1):
            allowed = "a second to a day, or zero for no beats"
            raise InvalidOptionsError(field=f"{cls.section}.beat", value=beat, allowed=allowed)
        return beat

    @model_validator(mode="after")
    def _beat_often_enough(self) -> "Heartbeat":
        if self.every < self.beat:
            allowed = f"give at least beat, which is {self.beat}"
            raise InvalidOptionsError(field=f"{self.section}.every", value=self.every, allowed=allowed)
        return self


class Combination(TriggerOptions):
    """Base of what is made of several triggers."""

    triggers: tuple["Trigger", ...]
    """One to ten."""

    @field_validator("triggers")
    @classmethod
    def _be_some(cls, triggers: tuple["Trigger", ...]) -> tuple["Trigger", ...]:
        if not 1 <= len(triggers) <= _MOST_COMBINED:
            allowed = f"combine 1 to {_MOST_COMBINED} triggers"
            raise InvalidOptionsError(
                field=f"{cls.section}.triggers", value=f"{len(triggers)} triggers", allowed=allowed
            )
        return triggers


class AnyOf(Combination):
    """A dream as soon as one of several triggers wants it.

    Example:
        >>> [one.kind for one in AnyOf(triggers=[Idle(), DailyAt()]).triggers]
        ['idle', 'daily']
    """

    kind: Literal["any_of"] = "any_of"
    """Which trigger it is, in files."""


class AllOf(Combination):
    """A dream once each of several triggers wants it; what came due stays due until then.

    Example:
        >>> AllOf(triggers=[DailyAt(), Idle(after=timedelta(minutes=30))]).kind
        'all_of'
    """

    kind: Literal["all_of"] = "all_of"
    """Which trigger it is, in files."""


Trigger: TypeAlias = Annotated[
    Interval | Cron | DailyAt | Idle | Threshold | Heartbeat | AnyOf | AllOf, Field(discriminator="kind")
]
"""Any trigger; in files the field `kind` says which."""
