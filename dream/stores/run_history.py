"""The history of dreams, the newest first, read only as far as somebody asks."""

from collections.abc import Iterator

import orjson
from sqlalchemy import select

from agentcore.stores.sql.schema import runs
from agentcore.stores.sql.transaction import Transaction
from dream.domain.report import RunKind, RunReport

_PAGE = 10


class RunHistory:
    """Finished dreams of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def dreams(self) -> Iterator[RunReport]:
        """Yield the report of each finished dream, the newest first; plans, undos and restores are none."""
        before: int | None = None
        while True:
            statement = select(runs.c.pk, runs.c.report).where(
                runs.c.scope_id == self._transaction.scope_id,
                runs.c.kind == RunKind.DREAM.value,
                runs.c.report.is_not(None),
            )
            if before is not None:
                statement = statement.where(runs.c.pk < before)
            page = self._transaction.connection.execute(statement.order_by(runs.c.pk.desc()).limit(_PAGE)).all()
            for _, report in page:
                yield RunReport.from_json(orjson.loads(report))
            if len(page) < _PAGE:
                return
            before = page[-1].pk
