"""How far each pass has looked: a position in the order of arrival, and the ids reopened behind it."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from sqlalchemy import Column, ColumnElement, Table, bindparam, delete, false, insert, select

from agentcore.domain.memory import Status
from agentcore.stores.sql.schema import cursors, documents, entries, feedback, reopened, skills, turns
from agentcore.stores.sql.transaction import Transaction, chunks, of_my_scope
from agentcore.stores.sql.withheld import IS_WITHHELD
from dream.domain.reads import Reads


class _Reading:
    """What a reader reads: the table, its order of arrival, which of its rows count, and how they are asked for."""

    def __init__(self, table: Table, order: Column[int], counts: ColumnElement[bool]) -> None:
        mine = of_my_scope(table)
        self.current = select(table.c.id).where(mine, counts)
        self.past = self.current.where(order > bindparam("position"))
        self.among = self.current.where(table.c.id.in_(bindparam("ids", expanding=True)))
        self.last = select(order).where(mine).order_by(order.desc()).limit(1)


_UNREAD = turns.c.consumed_at.is_(None) & ~IS_WITHHELD
_READINGS = {
    Reads.ENTRIES: _Reading(entries, entries.c.position, entries.c.status == Status.ACTIVE.value),
    Reads.TURNS: _Reading(turns, turns.c.position, _UNREAD),
    Reads.SKILLS: _Reading(skills, skills.c.position, skills.c.status == Status.ACTIVE.value),
    Reads.FEEDBACK: _Reading(feedback, feedback.c.recorded_at, feedback.c.id.is_not(None)),
    Reads.LOG: _Reading(turns, turns.c.position, _UNREAD),
    # Instants, and rows that no export holds, so that none is ever pending.
    Reads.NOTHING: _Reading(documents, documents.c.updated_at, false()),
}

_BY_READER = of_my_scope(cursors) & (cursors.c.reader == bindparam("by"))
_READERS = select(cursors.c.reader).where(of_my_scope(cursors)).order_by(cursors.c.reader)
_POSITION = select(cursors.c.position).where(_BY_READER)
_READS = select(cursors.c.reads).where(_BY_READER)
_UNSET = delete(cursors).where(_BY_READER)
_SET = insert(cursors)
_REOPENED_BY_READER = of_my_scope(reopened) & (reopened.c.reader == bindparam("by"))
_REOPENED = select(reopened.c.record_id).where(_REOPENED_BY_READER).order_by(reopened.c.record_id)
_SETTLE_ALL = delete(reopened).where(_REOPENED_BY_READER)
_SETTLE = _SETTLE_ALL.where(reopened.c.record_id.in_(bindparam("ids", expanding=True)))


class CursorReader:
    """Cursors and reopened ids of one scope, for reading; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def readers(self) -> list[str]:
        """Return the names of passes that have looked at anything, sorted."""
        return list(self._transaction.execute(_READERS).scalars())

    def reads(self, reader: str) -> Reads | None:
        """Return what *reader* reads; None if it never looked at anything."""
        found = self._transaction.execute(_READS, by=reader).scalar()
        return None if found is None else Reads(found)

    def position(self, reader: str) -> int | None:
        """Return how far *reader* has looked; None if it never did."""
        return self._transaction.execute(_POSITION, by=reader).scalar()

    def reopened(self, reader: str) -> list[str]:
        """Return ids behind the cursor that *reader* has to look at again, sorted."""
        return list(self._transaction.execute(_REOPENED, by=reader).scalars())

    def side_positions(self, pass_name: str) -> Mapping[str, int]:
        """Return how far the readers that a pass has beside its own have looked, by name; 0 for one that never did."""
        prefix = f"{pass_name}/"
        mine = [reader for reader in self.readers() if reader.startswith(prefix)]
        return defaultdict(int, {reader.removeprefix(prefix): self.position(reader) or 0 for reader in mine})

    def pending(self, reader: str, reads: Reads | None = None) -> list[str]:
        """Return ids of records that *reader* still has to look at, sorted.

        Args:
            reader: Who.
            reads: What it reads; by default what its cursor says, entries if it has none.
        """
        reading = _READINGS[reads or self.reads(reader) or Reads.ENTRIES]
        found = set(self._transaction.execute(reading.past, position=self.position(reader) or 0).scalars())
        for chunk in chunks(self.reopened(reader)):
            found.update(self._transaction.execute(reading.among, ids=chunk).scalars())
        return sorted(found)


class CursorStore(CursorReader):
    """Cursors and reopened ids of one scope, in one transaction; lives as long as it."""

    def move(self, reader: str, position: int | None, reads: Reads | None = None) -> None:
        """Set the position; None takes the reader back to before it ever looked.

        Args:
            reader: Whose.
            position: How far it has looked.
            reads: What it reads; by default what its cursor says, entries if it has none.
        """
        told = reads or self.reads(reader) or Reads.ENTRIES
        self._transaction.execute(_UNSET, by=reader)
        if position is not None:
            row = {"scope_id": self._transaction.scope_id, "reader": reader, "position": position, "reads": told.value}
            self._transaction.connection.execute(_SET, row)

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

    def restore(self, reader: str, pending_ids: Collection[str], reads: Reads | None = None) -> None:
        """Have *reader* be done with everything there is but *pending_ids* (the reading side of `pending`)."""
        told = reads or self.reads(reader) or Reads.ENTRIES
        last = self._transaction.execute(_READINGS[told].last).scalar() or 0
        self.move(reader, last, told)
        self._transaction.execute(_SETTLE_ALL, by=reader)
        self.reopen(reader, pending_ids)
