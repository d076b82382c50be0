"""Stores what each run changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, insert, select

from agentcore.domain.actor import Actor, ActorKind
from agentcore.domain.records import RecordKind
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.schema import journal
from agentcore.stores.sql.transaction import chunks, of_my_scope
from agentcore.stores.storage import Origin
from dream.domain.change import JournalRow, image_text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from sqlalchemy import Row, Select

    from agentcore.domain.scope import Scope
    from agentcore.stores.sql.transaction import Transaction
    from dream.domain.change import ChangeSet

PURGE = "purge"
DOCUMENT_CHANGED = "document_changed"
"""What became of a document because somebody else wrote in its file meanwhile: nothing a dream did."""

_MINE = of_my_scope(journal)
_OF_RUN = _MINE & (journal.c.run_id == bindparam("of_run"))
_LAST_NUMBER = select(func.max(journal.c.number)).where(_OF_RUN)
_COUNT = select(func.count()).select_from(journal).where(_OF_RUN)
_ALL = select(journal).where(_MINE).order_by(journal.c.pk)
_MADE = (
    select(journal.c.record_id, journal.c.run_id)
    .where(_MINE, journal.c.record_id.in_(bindparam("among", expanding=True)), journal.c.before.is_(None))
    .order_by(journal.c.pk)
)
_WRITE = insert(journal)


class JournalReader:
    """The journal of one scope, for reading; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def last_number(self, run_id: str) -> int:
        """Return the number of the run's last change set, 0 if it has none."""
        return self._transaction.execute(_LAST_NUMBER, of_run=run_id).scalar() or 0

    def of_run(
        self,
        run_id: str,
        *,
        pass_name: str | None = None,
        number: int | None = None,
        after: int = 0,
        limit: int | None = None,
    ) -> list[JournalRow]:
        """Return the rows of a run in the order they were written, those behind the number *after*."""
        statement = _ALL.where(journal.c.run_id == run_id)
        if after:
            statement = statement.where(journal.c.number > after)
        if pass_name is not None:
            statement = statement.where(journal.c.pass_name == pass_name)
        if number is not None:
            statement = statement.where(journal.c.number == number)
        return self._read(statement.limit(limit))

    def of_record(self, record_id: str, *, since: datetime | None = None) -> list[JournalRow]:
        """Return what happened to a record after an instant, or ever, oldest first."""
        if since is None:
            return self.of_records([record_id])
        after = journal.c.recorded_at > to_micros(since)
        return self._read(_ALL.where(journal.c.record_id == record_id, after))

    def of_records(self, record_ids: Collection[str]) -> list[JournalRow]:
        """Return what happened to a few records, oldest first."""
        return self._read(_ALL.where(journal.c.record_id.in_(sorted(record_ids))))

    def made_in(self, record_ids: Collection[str]) -> dict[str, str]:
        """Return the run that first wrote each of these records, of those that a run wrote."""
        made: dict[str, str] = {}
        for chunk in chunks(record_ids):
            for row in self._transaction.execute(_MADE, among=chunk):
                made.setdefault(row.record_id, row.run_id)
        return made

    def count(self, run_id: str, *, operation: str | None = None) -> int:
        """Count the rows of a run; of one operation where it is named."""
        statement = _COUNT if operation is None else _COUNT.where(journal.c.operation == operation)
        return self._transaction.execute(statement, of_run=run_id).scalar_one()

    def _read(self, statement: Select[Any]) -> list[JournalRow]:
        return [_to_journal_row(self._transaction.scope, row) for row in self._transaction.execute(statement)]


class JournalStore(JournalReader):
    """The journal of one scope, in one transaction; lives as long as it."""

    def write(self, run_id: str, step: int, pass_name: str, change_sets: Sequence[ChangeSet]) -> None:
        """Append the changes of a step, numbering its sets within the run."""
        first = self.last_number(run_id) + 1
        rows = [
            self._row(run_id, step, pass_name, number, change_set.operation)
            | {
                "record_kind": change.kind.value,
                "record_id": change.record_id,
                "before": image_text(change.before),
                "after": image_text(change.after),
                "reason": change.reason,
                "fingerprint": change_set.fingerprints.get(change.record_id),
            }
            for number, change_set in enumerate(change_sets, start=first)
            for change in change_set.changes
        ]
        if rows:
            self._transaction.connection.execute(_WRITE, rows)

    def write_purges(
        self, run_id: str, step: int, pass_name: str, *, kind: RecordKind, record_ids: Sequence[str], reason: str
    ) -> None:
        """Append that records were removed for good; no image is kept."""
        number = self.last_number(run_id) + 1
        rows = [
            self._row(run_id, step, pass_name, number, PURGE)
            | {
                "record_kind": kind.value,
                "record_id": record_id,
                "before": None,
                "after": None,
                "reason": reason,
                "fingerprint": None,
            }
            for record_id in record_ids
        ]
        if rows:
            self._transaction.connection.execute(_WRITE, rows)

    def _row(self, run_id: str, step: int, pass_name: str, number: int, operation: str) -> dict[str, Any]:
        return {
            "scope_id": self._transaction.scope_id,
            "run_id": run_id,
            "step": step,
            "pass_name": pass_name,
            "number": number,
            "operation": operation,
            "recorded_at": to_micros(self._transaction.now),
            "scrubbed": False,
            "actor": str(self._actor(pass_name)),
        }

    def _actor(self, pass_name: str) -> Actor:
        is_a_pass = self._transaction.origin in {Origin.DREAM, Origin.READING}
        return Actor(ActorKind.PASS, pass_name) if is_a_pass else self._transaction.actor


def _to_journal_row(scope: Scope, row: Row[Any]) -> JournalRow:
    return JournalRow(
        scope=scope,
        run_id=row.run_id,
        step=row.step,
        pass_name=row.pass_name,
        number=row.number,
        operation=row.operation,
        kind=RecordKind(row.record_kind),
        record_id=row.record_id,
        before=row.before,
        after=row.after,
        reason=row.reason,
        fingerprint=row.fingerprint,
        recorded_at=from_micros(row.recorded_at),
        scrubbed=bool(row.scrubbed),
        actor=row.actor,
    )
