"""Reads and appends signals: skill uses, feedback, wisp runs and tool calls share one store."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, delete, func, or_, select

from agentcore.domain.records import RecordKind
from agentcore.domain.signals import Feedback, ToolCall, WispRun
from agentcore.domain.skill import SkillUse
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.record_store import SqlRecordReader, delete_records
from agentcore.stores.sql.rows import RecordRows
from agentcore.stores.sql.schema import feedback, skill_uses, tool_calls, wisp_runs
from agentcore.stores.sql.switches import any_counts, learnable
from agentcore.stores.sql.transaction import Transaction

S = TypeVar("S", bound=SkillUse | Feedback | WispRun | ToolCall)

SKILL_USES = RecordRows(SkillUse, skill_uses)
FEEDBACK = RecordRows(Feedback, feedback)
WISP_RUNS = RecordRows(WispRun, wisp_runs)
TOOL_CALLS = RecordRows(ToolCall, tool_calls)

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
