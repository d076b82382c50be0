"""When conversations are summed up, and when their turns are consumed."""

from datetime import timedelta
from enum import StrEnum
from typing import ClassVar

from pydantic import Field

from agentcore.hosting.options import Options


class SessionOptions(Options):
    """How conversations at rest are evaluated."""

    section: ClassVar[str] = "dreaming.sessions"
    """What its fields are called after in errors."""

    idle: timedelta = Field(default=timedelta(minutes=30), gt=timedelta(0))
    """A conversation is at rest when nothing was said for so long."""
    every: timedelta = Field(default=timedelta(minutes=5), gt=timedelta(0))
    """How often it is looked for such conversations."""
    look_back: timedelta = Field(default=timedelta(days=7), gt=timedelta(0))
    """Conversations that ended before that are left alone, imported ones too."""


class ConsumptionPolicy(StrEnum):
    """When a turn counts as consumed."""

    WHEN_CONSUMED = "when_consumed"
    """Once every enabled reader has read it."""
    AFTER_CYCLE = "after_cycle"
    """After the cycle in which any reader came to it, whatever became of that."""


class LogOptions(Options):
    """When turns of the conversation log are consumed."""

    section: ClassVar[str] = "dreaming.log"
    """What its fields are called after in errors."""

    policy: ConsumptionPolicy = ConsumptionPolicy.WHEN_CONSUMED
    """When a turn counts as consumed: `when_consumed` or `after_cycle`."""
    attempts: int = Field(default=5, ge=1)
    """A turn on which a reader failed in so many runs is consumed without it, and the report says so."""
