"""What was promoted to MEMORY.md, so that nothing is promoted twice."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, insert, select

from agentcore.domain.instants import from_micros, to_micros
from agentcore.stores.sql.schema import promotions
from agentcore.stores.sql.transaction import Transaction, chunks
from dream.domain.promotion import Promotion


class PromotionReader:
    """Promotions of one scope, for reading; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = promotions.c.scope_id == transaction.scope_id

    def known(self) -> dict[str, datetime]:
        """Return when which entries were promoted, also those whose promotion was taken back."""
        rows = self._connection.execute(select(promotions.c.entry_id, promotions.c.promoted_at).where(self._mine))
        return {row.entry_id: from_micros(row.promoted_at) for row in rows}

    def count(self) -> int:
        """Count promotions."""
        return self._connection.execute(select(func.count()).select_from(promotions).where(self._mine)).scalar_one()

    def of(self, entry_id: str) -> Promotion | None:
        """Return when and why an entry was promoted; None if it never was."""
        row = self._connection.execute(select(promotions).where(self._mine, promotions.c.entry_id == entry_id)).first()
        if row is None:
            return None
        return Promotion(
            entry_id=row.entry_id,
            score=row.score,
            hits=row.hits,
            run_id=row.run_id,
            promoted_at=from_micros(row.promoted_at),
        )


class PromotionStore(PromotionReader):
    """Promotions of one scope, in one transaction; lives as long as it."""

    def record(self, promoted: Sequence[Promotion]) -> None:
        """Remember promotions; one that is known stays as it is."""
        known: set[str] = set()
        for chunk in chunks(sorted({one.entry_id for one in promoted})):
            statement = select(promotions.c.entry_id).where(self._mine, promotions.c.entry_id.in_(chunk))
            known.update(self._connection.execute(statement).scalars())
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "entry_id": one.entry_id,
                "score": one.score,
                "hits": one.hits,
                "run_id": one.run_id,
                "promoted_at": to_micros(one.promoted_at),
            }
            for one in promoted
            if one.entry_id not in known
        ]
        if rows:
            self._connection.execute(insert(promotions), rows)
