"""How far each pass has looked: a position in the order of arrival, and the ids reopened behind it."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Column, ColumnElement, Table, delete, insert, select

from agentcore.domain.memory import Status
from agentcore.stores.sql.schema import cursors, entries, feedback, reopened, skills, turns
from agentcore.stores.sql.transaction import Transaction, chunks


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a reader reads: the table, its order of arrival, and which of its rows count."""

    table: Table
    order: Column[int]
    counts: ColumnElement[bool]


_ENTRIES = _Reading(entries, entries.c.position, entries.c.status == Status.ACTIVE.value)
_TURNS = _Reading(turns, turns.c.position, turns.c.consumed_at.is_(None))
_UNCONSUMED = _Reading(turns, turns.c.position, turns.c.consumed_at.is_(None))
"""What the reader that waits for all other readers of turns looks at: it is itself none."""
_FEEDBACK = _Reading(feedback, feedback.c.recorded_at, feedback.c.id.is_not(None))
_SKILLS = _Reading(skills, skills.c.position, skills.c.status == Status.ACTIVE.value)

_READINGS = {
    "fact-mining": _TURNS,
    "memory-consolidation/feedback": _FEEDBACK,
    "episodes": _TURNS,
    "skill-gaps": _TURNS,
    "preferences": _TURNS,
    "skill-consolidation": _SKILLS,
    "skill-optimization": _SKILLS,
    "log-consumption": _UNCONSUMED,
}
"""Readers of something else than entries."""


class CursorStore:
    """Cursors and reopened ids of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = cursors.c.scope_id == transaction.scope_id
        self._reopened = reopened.c.scope_id == transaction.scope_id

    def readers(self) -> list[str]:
        """Return the names of passes that have looked at anything, sorted."""
        statement = select(cursors.c.reader).where(self._mine).order_by(cursors.c.reader)
        return list(self._connection.execute(statement).scalars())

    @staticmethod
    def reads_entries(reader: str) -> bool:
        """Tell whether *reader* looks at entries, and not at something that is read but once."""
        return reader not in _READINGS

    @staticmethod
    def reads_turns(reader: str) -> bool:
        """Tell whether *reader* reads turns to learn something from them."""
        return _READINGS.get(reader) is _TURNS

    def position(self, reader: str) -> int | None:
        """Return how far *reader* has looked; None if it never did."""
        statement = select(cursors.c.position).where(self._mine, cursors.c.reader == reader)
        return self._connection.execute(statement).scalar()

    def move(self, reader: str, position: int | None) -> None:
        """Set the position; None takes the reader back to before it ever looked."""
        self._connection.execute(delete(cursors).where(self._mine, cursors.c.reader == reader))
        if position is not None:
            row = {"scope_id": self._transaction.scope_id, "reader": reader, "position": position}
            self._connection.execute(insert(cursors).values(**row))

    def reopened(self, reader: str) -> list[str]:
        """Return ids behind the cursor that *reader* has to look at again, sorted."""
        mine = select(reopened.c.record_id).where(self._reopened, reopened.c.reader == reader)
        return list(self._connection.execute(mine.order_by(reopened.c.record_id)).scalars())

    def reopen(self, reader: str, record_ids: Collection[str]) -> list[str]:
        """Have *reader* look at these records again; return those that it had not to before."""
        new = sorted(set(record_ids) - set(self.reopened(reader)))
        if new:
            rows = [
                {"scope_id": self._transaction.scope_id, "reader": reader, "record_id": record_id} for record_id in new
            ]
            self._connection.execute(insert(reopened), rows)
        return new

    def settle(self, reader: str, record_ids: Collection[str]) -> list[str]:
        """Take records out of the reopened set; return those that were in it."""
        settled = sorted(set(record_ids) & set(self.reopened(reader)))
        for chunk in chunks(settled):
            statement = delete(reopened).where(self._reopened, reopened.c.reader == reader)
            self._connection.execute(statement.where(reopened.c.record_id.in_(chunk)))
        return settled

    def pending(self, reader: str) -> list[str]:
        """Return ids of records that *reader* still has to look at, sorted."""
        reading = _READINGS.get(reader, _ENTRIES)
        table = reading.table
        current = select(table.c.id).where(table.c.scope_id == self._transaction.scope_id, reading.counts)
        found = set(self._connection.execute(current.where(reading.order > (self.position(reader) or 0))).scalars())
        for chunk in chunks(self.reopened(reader)):
            found.update(self._connection.execute(current.where(table.c.id.in_(chunk))).scalars())
        return sorted(found)

    def restore(self, reader: str, pending_ids: Collection[str]) -> None:
        """Have *reader* be done with everything there is but *pending_ids* (the reading side of `pending`)."""
        self.move(reader, self._last_position(_READINGS.get(reader, _ENTRIES)))
        self._connection.execute(delete(reopened).where(self._reopened, reopened.c.reader == reader))
        self.reopen(reader, pending_ids)

    def _last_position(self, reading: _Reading) -> int:
        statement = select(reading.order).where(reading.table.c.scope_id == self._transaction.scope_id)
        return self._connection.execute(statement.order_by(reading.order.desc()).limit(1)).scalar() or 0
