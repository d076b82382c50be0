"""Stores the outbox: texts of documents that the store holds and the files of the workspace do not yet."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import delete, insert, select

from agentcore.domain.document import StoredDocument
from agentcore.domain.instants import to_micros
from agentcore.domain.records import Record
from agentcore.stores.sql.schema import outbox
from agentcore.stores.sql.transaction import Transaction
from dream.domain.change import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A text that is to be written.

    Args:
        key: Its place in the outbox.
        run_id: The run that wrote it; empty for an import or a forget.
        pass_name: The pass.
        document: The document.
        before: The text it takes the place of; None if there was no file.
        after: The text; None if the file goes.
    """

    key: int
    run_id: str
    pass_name: str
    document: str
    before: str | None
    after: str | None


class OutboxStore:
    """The outbox of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = outbox.c.scope_id == transaction.scope_id

    def post(self, run_id: str, pass_name: str, changes: Sequence[Change[Record]]) -> None:
        """Have the documents among *changes* written to their files."""
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "run_id": run_id,
                "pass_name": pass_name,
                "document": change.record_id,
                "before": _text(change.before),
                "after": _text(change.after),
                "recorded_at": to_micros(self._transaction.now),
            }
            for change in changes
            if isinstance(change.record, StoredDocument) and _text(change.before) != _text(change.after)
        ]
        if rows:
            self._connection.execute(insert(outbox), rows)

    def waiting(self) -> list[Outgoing]:
        """Return what is to be written, in the order it was posted."""
        statement = select(outbox).where(self._mine).order_by(outbox.c.pk)
        return [
            Outgoing(
                key=row.pk,
                run_id=row.run_id,
                pass_name=row.pass_name,
                document=row.document,
                before=row.before,
                after=row.after,
            )
            for row in self._connection.execute(statement)
        ]

    def remove(self, keys: Collection[int]) -> int:
        """Take out what was written; return how much of it was still there."""
        return self._connection.execute(delete(outbox).where(self._mine, outbox.c.pk.in_(keys))).rowcount


def _text(record: Record | None) -> str | None:
    return record.content if isinstance(record, StoredDocument) else None
