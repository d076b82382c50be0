"""Reads and writes records of any kind whose columns are named like their fields.

Stores of one kind build on it, and add what is asked of that kind alone. Signals (skill uses, feedback, wisp runs and
tool calls) share one store, which only reads and appends.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Table, delete, func, or_, select, update

from agentcore.domain.off_limits import OffLimitsTopic
from agentcore.domain.records import Record, RecordKind, kind_of, version_of
from agentcore.domain.signals import Feedback, ToolCall, WispRun
from agentcore.domain.skill import SkillUse
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.errors import StaleVersionError
from agentcore.stores.sql.rows import RecordRows
from agentcore.stores.sql.schema import feedback, off_limits_topics, skill_uses, tool_calls, wisp_runs
from agentcore.stores.sql.settings import any_counts, learnable
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

    def _beside(self, record: R) -> dict[str, Any]:  # noqa: ARG002 - most have nothing beside their fields
        """Return the columns that a row has beside the fields of its record."""
        return {}

    def add(self, record: R, /) -> None:
        """Insert a record; StaleVersionError if its id is taken."""
        row = self._rows.write(self._transaction, record) | self._beside(record) | {"version": 1}
        self._transaction.change()
        self._transaction.insert_new(self._rows.table, kind_of(record).value, [row])
        self._transaction.inserted.append((kind_of(record), record.id))

    def replace(self, before: R, after: R, /) -> None:
        """Write *after* over *before*; StaleVersionError if the stored version is another than *before*'s."""
        version = version_of(before) or 0
        row = self._rows.write(self._transaction, after) | self._beside(after) | {"version": version + 1}
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


S = TypeVar("S", bound=SkillUse | Feedback | WispRun | ToolCall)

SKILL_USES = RecordRows(SkillUse, skill_uses)
FEEDBACK = RecordRows(Feedback, feedback)
WISP_RUNS = RecordRows(WispRun, wisp_runs)
TOOL_CALLS = RecordRows(ToolCall, tool_calls)
OFF_LIMITS_TOPICS = RecordRows(OffLimitsTopic, off_limits_topics)

SIGNAL_ROWS: Mapping[RecordKind, RecordRows[Any]] = {
    RecordKind.SKILL_USE: SKILL_USES,
    RecordKind.FEEDBACK: FEEDBACK,
    RecordKind.WISP_RUN: WISP_RUNS,
    RecordKind.TOOL_CALL: TOOL_CALLS,
}
"""Where each kind of signal stands."""


class SqlSignalReader(SqlRecordReader[S]):
    """Read one kind of signal."""

    def __init__(self, transaction: Transaction, rows: RecordRows[S]) -> None:
        super().__init__(transaction, rows)
        self._columns = rows.table.c

    def newest(self, *, limit: int, since: datetime | None = None) -> list[S]:
        """Return the newest *limit* (not the first ones), oldest of them first."""
        statement = self._rows.mine.where(learnable(self._transaction, self._rows.table))
        if since is not None:
            statement = statement.where(self._columns.occurred_at >= to_micros(since))
        statement = statement.order_by(self._columns.occurred_at.desc(), self._columns.pk.desc()).limit(limit)
        found = [self._rows.read(self._transaction, row) for row in self._transaction.execute(statement).all()]
        return found[::-1]

    def count(self) -> int:
        """Count them."""
        return self._count(self._mine)

    def oldest_recorded(self) -> datetime | None:
        """Return when the oldest was stored, or None."""
        oldest = self._connection.execute(select(func.min(self._columns.recorded_at)).where(self._mine)).scalar()
        return None if oldest is None else from_micros(oldest)

    def count_expired(self, *, recorded_before: datetime, keep: int) -> int:
        """Count those stored before that instant or beyond the newest *keep*."""
        return self._count(self._mine, self._expired(recorded_before, keep))

    def _expired(self, recorded_before: datetime, keep: int) -> ColumnElement[bool]:
        kept = select(self._columns.pk).where(self._mine)
        kept = kept.order_by(self._columns.recorded_at.desc(), self._columns.pk.desc()).limit(keep)
        return or_(self._columns.recorded_at < to_micros(recorded_before), self._columns.pk.not_in(kept))

    def _count(self, *conditions: ColumnElement[bool]) -> int:
        statement = select(func.count()).select_from(self._rows.table).where(*conditions)
        return self._connection.execute(statement).scalar_one()


class SqlSignalStore(SqlSignalReader[S]):
    """Append one kind of signal."""

    def append(self, signals: Sequence[S]) -> None:
        """Append signals; StaleVersionError if an id is taken, InvalidContentError if one is of another scope."""
        if signals:
            self._transaction.change()
            rows = [self._rows.write(self._transaction, signal) for signal in signals]
            self._transaction.insert_new(self._rows.table, "signal", rows)
            self._transaction.inserted += [(kind_of(signal), signal.id) for signal in signals]
            if any_counts(self._transaction, {signal.session_id for signal in signals}):
                self._transaction.note_activity()

    def apply(self, changes: Sequence[tuple[S | None, S | None]], /) -> None:
        """Append what the pairs add; a signal never changes."""
        self.append([after for before, after in changes if before is None and after is not None])

    def delete(self, ids: Collection[str], /) -> int:
        """Remove signals for good; return how many there were."""
        return delete_records(self._transaction, self._rows.table, ids)

    def drop_expired(self, *, recorded_before: datetime, keep: int, limit: int) -> int:
        """Remove at most *limit* of those `count_expired` counts, oldest first; return how many."""
        due = select(self._columns.pk).where(self._mine, self._expired(recorded_before, keep))
        keys = due.order_by(self._columns.recorded_at, self._columns.pk).limit(limit)
        dropped = self._connection.execute(delete(self._rows.table).where(self._columns.pk.in_(keys))).rowcount
        if dropped:
            self._transaction.change()
        return dropped
