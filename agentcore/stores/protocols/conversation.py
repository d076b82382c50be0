"""The conversation log: what a store of turns can be asked and told."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from agentcore.domain.conversation import Turn


class TurnReader(Protocol):
    """Read the conversation log."""

    def get(self, turn_id: str) -> Turn | None:
        """Return the turn, or None."""
        ...

    def get_many(self, turn_ids: Collection[str]) -> list[Turn]:
        """Return those that exist, by id."""
        ...

    def session(self, session_id: str, *, limit: int | None = None) -> list[Turn]:
        """Return the newest *limit* turns of a session, in the order they were said."""
        ...

    def count(self) -> int:
        """Count turns."""
        ...

    def count_unread(self) -> int:
        """Count turns that somebody still has to read."""
        ...

    def expired(self, *, recorded_before: datetime, limit: int) -> list[Turn]:
        """Return turns stored before that instant, consumed ones first, then oldest."""
        ...

    def surplus(self, *, keep: int, limit: int) -> list[Turn]:
        """Return the turns to drop so that *keep* remain: consumed ones first, then oldest."""
        ...

    def oldest_recorded(self) -> datetime | None:
        """Return when the oldest turn was stored, or None."""
        ...


class TurnStore(TurnReader, Protocol):
    """Write the conversation log."""

    def add(self, new: Sequence[Turn]) -> None:
        """Append turns; StaleVersionError if an id is taken, InvalidContentError if one belongs to another scope."""
        ...

    def mark_consumed(self, turn_ids: Collection[str], at: datetime) -> int:
        """Set `consumed_at` where it is empty; return how many were set."""
        ...

    def delete(self, turn_ids: Collection[str]) -> int:
        """Remove turns for good; return how many there were."""
        ...
