"""Switches: where dreams, or learning altogether, are off."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


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


class SwitchReader(Protocol):
    """Read the switches that concern a scope."""

    def standing(self) -> list[Switch]:
        """Return those of the scope's workspace and of the scope itself, sessions aside; the widest first."""
        ...

    def session(self, session_id: str) -> Switch | None:
        """Return the switch of a session, or None."""
        ...

    def sessions(self) -> list[Switch]:
        """Return every switch of a session of the scope, by session."""
        ...


class SwitchStore(SwitchReader, Protocol):
    """Set switches; nothing of a scope's records changes by it."""

    def put(self, switch: Switch) -> None:
        """Set the switch at its level; one that says nothing is removed.

        A session whose learning is switched on again is learnt from as of this transaction: `learning_since` is the
        store's to keep.
        """
        ...
