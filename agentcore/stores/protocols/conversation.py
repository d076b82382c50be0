"""The conversation log: what a store of turns can be asked and told."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from agentcore.domain.conversation import ConversationSession, Turn
from agentcore.stores.protocols.feed import FeedPage, FeedPosition, TurnRow


@dataclass(frozen=True, slots=True)
class TurnMaterial:
    """A turn a pass has to read: its id, its place in the order of arrival, and its session."""

    id: str
    position: int
    session_id: str


class TurnReader(Protocol):
    """Read the conversation log."""

    def get(self, turn_id: str) -> Turn | None:
        """Return the turn, or None."""
        ...

    def get_many(self, turn_ids: Collection[str]) -> list[Turn]:
        """Return those that exist, by id."""
        ...

    def by_keys(self, keys: Sequence[int]) -> dict[int, Turn]:
        """Return turns by the keys that `changes_since` gave."""
        ...

    def keys_of(self, turn_ids: Collection[str]) -> dict[str, int]:
        """Return the keys of those that exist, by id."""
        ...

    def changes_since(self, position: FeedPosition, *, limit: int) -> FeedPage[TurnRow]:
        """Return the next page of the feed of turns after *position*; the default position starts from nothing."""
        ...

    def session(self, session_id: str, *, limit: int | None = None) -> list[Turn]:
        """Return the newest *limit* turns of a session, in the order they were said."""
        ...

    def sessions(self, *, prefix: str, limit: int) -> list[ConversationSession]:
        """Return the *limit* sessions that were spoken in last, the newest first, whoever spoke.

        Args:
            prefix: Only those whose id begins so, letter by letter; empty for all.
            limit: How many at most.
        """
        ...

    def preceding(self, turn_id: str, *, limit: int) -> list[Turn]:
        """Return the last *limit* turns said before a turn in its session, in the order they were said."""
        ...

    def said_since(self, since: datetime, *, limit: int) -> list[Turn]:
        """Return the newest *limit* turns that users said at or after an instant, in the order they were said.

        Generated turns are not what a user said; consumed ones still are.
        """
        ...

    def openings(self, *, limit: int) -> list[Turn]:
        """Return the first turn a user said in each of the *limit* sessions begun last, in the order they were said.

        Generated turns are not what a user said; consumed ones still are.
        """
        ...

    def silent(self, *, since: datetime, until: datetime, limit: int) -> list[str]:
        """Return sessions whose last turn was said between two instants, the longest silent first.

        Generated turns are not said by anybody.
        """
        ...

    def material(self, *, after: int, also: Collection[str], limit: int) -> list[TurnMaterial]:
        """Return turns past the position *after*, and turns of *also* before it, in the order of arrival.

        Turns that every enabled reader has consumed are none, nor is what a dream or an undo wrote unless *also* names
        it.
        """
        ...

    def count_material(self, *, after: int, also: Collection[str]) -> int:
        """Count what `material` would return without a limit."""
        ...

    def last_position(self) -> int:
        """Return the position of the newest turn, consumed or not; 0 if there is none."""
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

    def mark_unread(self, turn_ids: Collection[str]) -> int:
        """Empty `consumed_at`, which an undo does; return how many were emptied."""
        ...

    def delete(self, turn_ids: Collection[str]) -> int:
        """Remove turns for good; return how many there were."""
        ...
