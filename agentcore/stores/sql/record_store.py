"""Reads and writes records of any kind whose columns are named like their fields.

Stores of one kind build on it, and add what is asked of that kind alone.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Generic, TypeVar

from sqlalchemy import ColumnElement, Table, delete, select, update

from agentcore.domain.records import Record, kind_of, version_of
from agentcore.errors import StaleVersionError
from agentcore.stores.sql.rows import RecordRows
from agentcore.stores.sql.transaction import Transaction, chunks

R = TypeVar("R", bound=Record)


class SqlRecordReader(Generic[R]):
    """Records of one kind and scope, read in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction, rows: RecordRows[R]) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._rows = rows

    @property
    def _mine(self) -> ColumnElement[bool]:
        return self._rows.table.c.scope_id == self._transaction.scope_id

    def get_many(self, ids: Collection[str], /) -> list[R]:
        """Return those that exist, by id."""
        found: list[R] = []
        for chunk in chunks(sorted(set(ids))):
            statement = self._rows.by_id.where(self._rows.table.c.id.in_(chunk))
            found += [self._rows.read(self._transaction, row) for row in self._transaction.execute(statement).all()]
        return found

    def existing(self, ids: Collection[str], /) -> set[str]:
        """Return those of *ids* that are taken."""
        table, found = self._rows.table, set[str]()
        for chunk in chunks(sorted(set(ids))):
            named = select(table.c.id).where(self._mine, table.c.id.in_(chunk))
            found.update(self._connection.execute(named).scalars())
        return found

    def every(self) -> Iterator[R]:
        """Stream them all, by id."""
        for row in self._transaction.execute(self._rows.by_id):
            yield self._rows.read(self._transaction, row)


class SqlRecordStore(SqlRecordReader[R]):
    """Records of one kind and scope, written in one transaction under optimistic versions; lives as long as it."""

    def add(self, record: R, /) -> None:
        """Insert a record; StaleVersionError if its id is taken."""
        row = self._rows.write(self._transaction, record) | {"version": 1}
        self._transaction.change()
        self._transaction.insert_new(self._rows.table, kind_of(record).value, [row])

    def replace(self, before: R, after: R, /) -> None:
        """Write *after* over *before*; StaleVersionError if the stored version is another than *before*'s."""
        version = version_of(before) or 0
        row = self._rows.write(self._transaction, after) | {"version": version + 1}
        self._transaction.change()
        columns = self._rows.table.c
        where = (self._mine, columns.id == before.id, columns.version == version)
        if self._transaction.execute_whole(update(self._rows.table).where(*where), [row]) != 1:
            raise StaleVersionError(kind=kind_of(before).value, record_id=before.id)

    def delete(self, ids: Collection[str], /) -> int:
        """Remove records for good; return how many there were."""
        return delete_records(self._transaction, self._rows.table, ids)

    def apply(self, changes: Sequence[tuple[R | None, R | None]], /) -> None:
        """Add, replace and remove records, one after the other: each pair is one before and after."""
        for before, after in changes:
            if before is None and after is not None:
                self.add(after)
            elif before is not None and after is not None:
                self.replace(before, after)
            elif before is not None:
                self.delete((before.id,))


def delete_records(transaction: Transaction, table: Table, ids: Collection[str]) -> int:
    """Remove the rows of one scope with these ids; return how many there were."""
    gone = 0
    for chunk in chunks(sorted(set(ids))):
        mine = (table.c.scope_id == transaction.scope_id) & table.c.id.in_(chunk)
        gone += transaction.connection.execute(delete(table).where(mine)).rowcount
    if gone:
        transaction.change()
    return gone
