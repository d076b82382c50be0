"""Switches: where dreams, or learning altogether, are off."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class SwitchLevel(StrEnum):
    """What a switch is about; of several that are set, the narrowest decides."""

    WORKSPACE = "workspace"
    SCOPE = "scope"
    SESSION = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """What is on and what is off at one level.

    Args:
        level: What it is about.
        session_id: The session, if it is about one.
        dream: Whether dreams are on; None leaves it to the wider level.
        learning: Whether anything new is learnt from what is said and signalled; None leaves it to the wider level.
        learning_since: Nothing is learnt from what was stored before, because learning was off until then.
    """

    level: SwitchLevel
    session_id: str | None = None
    dream: bool | None = None
    learning: bool | None = None
    learning_since: datetime | None = None
