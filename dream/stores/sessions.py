"""Finds dream sessions by their keys, and reads what was asked and written in them from the rows of their runs."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from agentcore.domain.records import RecordKind
from agentcore.domain.temporal import from_micros
from agentcore.stores.sql.schema import journal, model_calls, model_failures, runs
from agentcore.stores.sql.transaction import chunks, of_my_scope
from dream.domain.rounds import RoundKind
from dream.domain.session import DREAMS, ModelCall, session_key
from dream.domain.usage import UsageRow
from dream.errors import UnknownSessionError
from dream.stores.journal import DOCUMENT_CHANGED, PURGE

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import ColumnElement, Row, Table

    from agentcore.stores.sql.transaction import Transaction

_BEGUN = (
    select(runs.c.id, runs.c.started_at)
    .where(of_my_scope(runs), runs.c.kind.in_([kind.value for kind in DREAMS]))
    .order_by(runs.c.pk.desc())
)
_ASKED = ("pass_name", "batch_key", "model", "input_tokens", "output_tokens")
_OF_ANSWERS = (*_ASKED, "attempt", "round_kind", "is_estimated", "finish_reason", "answered_at")
_OF_FAILURES = (*_ASKED, "failure", "failed_at")
_ANSWERED = select(*(model_calls.c[name] for name in _OF_ANSWERS)).order_by(model_calls.c.pk)
_FAILED = select(*(model_failures.c[name] for name in _OF_FAILURES)).order_by(model_failures.c.pk)
_CHANGED = journal.c.operation.not_in([PURGE, DOCUMENT_CHANGED])


class SessionStore:
    """Dream sessions of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection

    def keys(self, beginning: str) -> list[tuple[str, str]]:
        """Return the run and the key of each session whose key begins so, the newest first."""
        scope = self._transaction.scope
        begun = [(row.id, session_key(scope, from_micros(row.started_at))) for row in self._transaction.execute(_BEGUN)]
        return [(run_id, key) for run_id, key in begun if key.startswith(beginning)]

    def resolve(self, beginning: str) -> str:
        """Return the run of the one session whose key begins so; UnknownSessionError if none or several do."""
        found = self.keys(beginning)
        if len(found) != 1:
            raise UnknownSessionError(value=beginning, matches=len(found))
        return found[0][0]

    def usage(self, run_ids: Collection[str]) -> dict[str, list[UsageRow]]:
        """Return what the calls of these runs cost, by model."""
        found: dict[str, list[UsageRow]] = {}
        for table, chunk in product((model_calls, model_failures), chunks(sorted(run_ids))):
            keys = (table.c.run_id, table.c.model)
            count = func.count() if table is model_failures else func.sum(table.c.calls)
            sums = (count, func.sum(table.c.input_tokens), func.sum(table.c.output_tokens))
            mine = (table.c.scope_id == self._transaction.scope_id) & table.c.run_id.in_(chunk)
            for run_id, model, count, given, got in self._connection.execute(
                select(*keys, *sums).where(mine).group_by(*keys)
            ):
                failed = count if table is model_failures else 0
                row = UsageRow(model=model, calls=count, failed=failed, input_tokens=given, output_tokens=got)
                found.setdefault(run_id, []).append(row)
        return found

    def changed(self, run_id: str) -> int:
        """Count the changes of a run that has no report yet."""
        mine = self._of_run(journal, run_id)
        return self._connection.execute(select(func.count()).select_from(journal).where(mine, _CHANGED)).scalar_one()

    def documents(self, run_ids: Collection[str]) -> dict[str, list[str]]:
        """Return which documents these runs wrote, by name."""
        wrote = (journal.c.scope_id == self._transaction.scope_id) & _CHANGED
        named = select(journal.c.run_id, journal.c.record_id).distinct().order_by(journal.c.run_id, journal.c.record_id)
        named = named.where(wrote, journal.c.record_kind == RecordKind.DOCUMENT.value)
        found: dict[str, list[str]] = {}
        for chunk in chunks(sorted(run_ids)):
            for run_id, name in self._connection.execute(named.where(journal.c.run_id.in_(chunk))):
                found.setdefault(run_id, []).append(name)
        return found

    def calls(self, run_id: str) -> list[ModelCall]:
        """Return every request of a run to a model, in the order they were over."""
        answered = self._connection.execute(_ANSWERED.where(self._of_run(model_calls, run_id)))
        failed = self._connection.execute(_FAILED.where(self._of_run(model_failures, run_id)))
        calls = [
            *(_call(row, attempt=None, ended=row.failure, at=row.failed_at, failed=True) for row in failed),
            *(_call(row, attempt=row.attempt, ended=row.finish_reason, at=row.answered_at) for row in answered),
        ]
        return sorted(calls, key=lambda call: call.at)  # of one instant, what failed before the answer came

    def _of_run(self, table: Table, run_id: str) -> ColumnElement[bool]:
        return (table.c.scope_id == self._transaction.scope_id) & (table.c.run_id == run_id)


def _call(row: Row[Any], *, attempt: int | None, ended: str, at: int, failed: bool = False) -> ModelCall:
    return ModelCall(
        pass_name=row.pass_name,
        batch=row.batch_key,
        attempt=attempt,
        model=row.model,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        is_estimated=failed or bool(row.is_estimated),
        ended=ended,
        failed=failed,
        at=from_micros(at),
        kind=None if attempt is None else RoundKind(row.round_kind or RoundKind.of_number(attempt)),
    )
