"""How far each pass has looked: a position in the order of arrival, and the ids reopened behind it."""

from collections.abc import Collection

from sqlalchemy import Column, ColumnElement, Table, bindparam, delete, false, insert, select

from agentcore.domain.memory import Status
from agentcore.stores.sql.schema import cursors, documents, entries, feedback, reopened, skills, turns
from agentcore.stores.sql.transaction import Transaction, chunks, of_my_scope
from agentcore.stores.sql.withheld import IS_WITHHELD


class _Reading:
    """What a reader reads: the table, its order of arrival, which of its rows count, and how they are asked for."""

    def __init__(self, table: Table, order: Column[int], counts: ColumnElement[bool]) -> None:
        mine = of_my_scope(table)
        self.current = select(table.c.id).where(mine, counts)
        self.past = self.current.where(order > bindparam("position"))
        self.among = self.current.where(table.c.id.in_(bindparam("ids", expanding=True)))
        self.last = select(order).where(mine).order_by(order.desc()).limit(1)


_ENTRIES = _Reading(entries, entries.c.position, entries.c.status == Status.ACTIVE.value)
_UNREAD = turns.c.consumed_at.is_(None) & ~IS_WITHHELD
_TURNS = _Reading(turns, turns.c.position, _UNREAD)
_UNCONSUMED = _Reading(turns, turns.c.position, _UNREAD)
"""What the reader that waits for all other readers of turns looks at: it is itself none."""
_FEEDBACK = _Reading(feedback, feedback.c.recorded_at, feedback.c.id.is_not(None))
_SKILLS = _Reading(skills, skills.c.position, skills.c.status == Status.ACTIVE.value)
_RECALLS = _Reading(documents, documents.c.updated_at, false())
"""What the reader of recalls looks at, up to an instant: rows that no export holds, so that none is ever pending."""

_READINGS = {
    "fact-mining": _TURNS,
    "memory-consolidation/feedback": _FEEDBACK,
    "episodes": _TURNS,
    "skill-gaps": _TURNS,
    "preferences": _TURNS,
    "skill-consolidation": _SKILLS,
    "skill-optimization": _SKILLS,
    "log-consumption": _UNCONSUMED,
    "rem": _RECALLS,
}
"""Readers of something else than entries."""

_BY_READER = of_my_scope(cursors) & (cursors.c.reader == bindparam("by"))
_READERS = select(cursors.c.reader).where(of_my_scope(cursors)).order_by(cursors.c.reader)
_POSITION = select(cursors.c.position).where(_BY_READER)
_UNSET = delete(cursors).where(_BY_READER)
_SET = insert(cursors)
_REOPENED_BY_READER = of_my_scope(reopened) & (reopened.c.reader == bindparam("by"))
_REOPENED = select(reopened.c.record_id).where(_REOPENED_BY_READER).order_by(reopened.c.record_id)
_SETTLE_ALL = delete(reopened).where(_REOPENED_BY_READER)
_SETTLE = _SETTLE_ALL.where(reopened.c.record_id.in_(bindparam("ids", expanding=True)))


class CursorStore:
    """Cursors and reopened ids of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def readers(self) -> list[str]:
        """Return the names of passes that have looked at anything, sorted."""
        return list(self._transaction.execute(_READERS).scalars())

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
        return self._transaction.execute(_POSITION, by=reader).scalar()

    def move(self, reader: str, position: int | None) -> None:
        """Set the position; None takes the reader back to before it ever looked."""
        self._transaction.execute(_UNSET, by=reader)
        if position is not None:
            row = {"scope_id": self._transaction.scope_id, "reader": reader, "position": position}
            self._transaction.connection.execute(_SET, row)

    def reopened(self, reader: str) -> list[str]:
        """Return ids behind the cursor that *reader* has to look at again, sorted."""
        return list(self._transaction.execute(_REOPENED, by=reader).scalars())

    def reopen(self, reader: str, record_ids: Collection[str]) -> list[str]:
        """Have *reader* look at these records again; return those that it had not to before."""
        new = sorted(set(record_ids) - set(self.reopened(reader)))
        if new:
            rows = [
                {"scope_id": self._transaction.scope_id, "reader": reader, "record_id": record_id} for record_id in new
            ]
            self._transaction.connection.execute(insert(reopened), rows)
        return new

    def settle(self, reader: str, record_ids: Collection[str]) -> list[str]:
        """Take records out of the reopened set; return those that were in it."""
        settled = sorted(set(record_ids) & set(self.reopened(reader)))
        for chunk in chunks(settled):
            self._transaction.execute(_SETTLE, by=reader, ids=chunk)
        return settled

    def pending(self, reader: str) -> list[str]:
        """Return ids of records that *reader* still has to look at, sorted."""
        reading = _READINGS.get(reader, _ENTRIES)
        found = set(self._transaction.execute(reading.past, position=self.position(reader) or 0).scalars())
        for chunk in chunks(self.reopened(reader)):
            found.update(self._transaction.execute(reading.among, ids=chunk).scalars())
        return sorted(found)

    def restore(self, reader: str, pending_ids: Collection[str]) -> None:
        """Have *reader* be done with everything there is but *pending_ids* (the reading side of `pending`)."""
        last = self._transaction.execute(_READINGS.get(reader, _ENTRIES).last).scalar() or 0
        self.move(reader, last)
        self._transaction.execute(_SETTLE_ALL, by=reader)
        self.reopen(reader, pending_ids)
