"""Defines who decides something about records, when and why: a person at the desk, a host, or a pass."""

from dataclasses import dataclass
from datetime import datetime

from agentcore.domain.memory import Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskDecision:
    """Who decides, when and why.

    Args:
        by: Who, such as `person`.
        at: When.
        why: The reason in their words; None if they gave none.
        trust: How far what they decide is trusted.
    """

    by: str
    at: datetime
    why: str | None = None
    trust: Trust = Trust.CONFIRMED

    def told(self, what: str) -> str:
        """Return the reason of a change, for people.

        Example:
            >>> from datetime import UTC
            >>> DeskDecision(by="person", at=datetime(2025, 1, 1, tzinfo=UTC), why="She moved.").told("archived")
            'archived by person: She moved.'
        """
        return f"{what} by {self.by}" + (f": {self.why}" if self.why else "")
