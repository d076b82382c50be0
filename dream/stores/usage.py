"""Usage: what a scope's model calls cost, read from the calls themselves."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Column, Table, func, select

from agentcore.domain.instants import to_micros
from agentcore.stores.sql.schema import model_calls, model_failures
from agentcore.stores.sql.transaction import Transaction
from dream.domain.usage import EVERYTHING, UsageRow, summed

_DAY = 24 * 60 * 60 * 1_000_000
"""Microseconds."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).date()


class UsageStore:
    """The usage of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def rows(self, since: datetime | None = None) -> list[UsageRow]:
        """Return what calls cost that ended at or after *since*, by day, pass and model."""
        answered = self._of(model_calls, model_calls.c.answered_at, since, are_failures=False)
        failed = self._of(model_failures, model_failures.c.failed_at, since, are_failures=True)
        return summed([*answered, *failed], EVERYTHING)

    def _of(self, table: Table, at: Column[Any], since: datetime | None, *, are_failures: bool) -> list[UsageRow]:
        day = (at // _DAY).label("day")
        keys = (day, table.c.pass_name, table.c.model)
        sums = (func.count(), func.sum(table.c.input_tokens), func.sum(table.c.output_tokens))
        statement = select(*keys, *sums).where(table.c.scope_id == self._transaction.scope_id).group_by(*keys)
        if since is not None:
            statement = statement.where(at >= to_micros(since))
        return [
            UsageRow(
                day=_EPOCH + timedelta(days=days),
                pass_name=pass_name,
                model=model,
                calls=count,
                failed=count if are_failures else 0,
                input_tokens=given,
                output_tokens=got,
            )
            for days, pass_name, model, count, given, got in self._transaction.connection.execute(statement)
        ]
