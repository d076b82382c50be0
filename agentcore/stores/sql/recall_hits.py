"""Recall hits."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, delete, func, insert, select

from agentcore.domain.signals import RecallHit, RecallUse
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.schema import entries, recall_hits
from agentcore.stores.sql.transaction import Transaction, chunks

_COLUMNS: Final = recall_hits.c
_DAY_US: Final = timedelta(days=1) // timedelta(microseconds=1)


class SqlRecallHitReader:
    """Read what needs recalled; no records, so neither `records` nor the change feed knows of them."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = _COLUMNS.scope_id == transaction.scope_id

    def uses(self, *, since: datetime | None = None, entry_ids: Collection[str] | None = None) -> list[RecallUse]:
        """Return how often entries were recalled, by id; those that never were are left out.

        Args:
            since: Count only what was recalled at or after this instant.
            entry_ids: Only these entries; None for all.
        """
        wanted = self._mine if since is None else self._mine & (_COLUMNS.recalled_at >= to_micros(since))
        if entry_ids is None:
            return self._summed(wanted)
        return [
            use
            for chunk in chunks(sorted(set(entry_ids)))
            for use in self._summed(wanted & _COLUMNS.entry_id.in_(chunk))
        ]

    def count(self) -> int:
        """Count hits."""
        return self._connection.execute(select(func.count()).select_from(recall_hits).where(self._mine)).scalar_one()

    def _summed(self, condition: ColumnElement[bool]) -> list[RecallUse]:
        statement = (
            select(
                _COLUMNS.entry_id,
                func.count(),
                func.count(_COLUMNS.query.distinct()),
                func.count((_COLUMNS.recalled_at // _DAY_US).distinct()),
                func.avg(_COLUMNS.score),
                func.min(_COLUMNS.rank),
                func.min(_COLUMNS.recalled_at),
                func.max(_COLUMNS.recalled_at),
            )
            .where(condition)
            .group_by(_COLUMNS.entry_id)
            .order_by(_COLUMNS.entry_id)
        )
        return [
            RecallUse(
                entry_id=entry_id,
                hits=hits,
                queries=queries,
                days=days,
                mean_score=float(score),
                best_rank=rank,
                first_at=from_micros(first),
                last_at=from_micros(last),
            )
            for entry_id, hits, queries, days, score, rank, first, last in self._connection.execute(statement)
        ]


class SqlRecallHitStore(SqlRecallHitReader):
    """Write recall hits; deleting an entry for good deletes its hits, and neither revision nor change feed moves."""

    def append(self, hits: Sequence[RecallHit]) -> None:
        """Append hits; those of entries that are not there are left out."""
        known: set[str] = set()
        for chunk in chunks(sorted({hit.entry_id for hit in hits})):
            mine = entries.c.scope_id == self._transaction.scope_id
            known.update(self._connection.execute(select(entries.c.id).where(mine, entries.c.id.in_(chunk))).scalars())
        rows = [self._row(hit) for hit in hits if hit.entry_id in known]
        if rows:
            self._connection.execute(insert(recall_hits), rows)

    def drop_expired(self, *, recalled_before: datetime, limit: int) -> int:
        """Remove at most *limit* hits from before that instant, oldest first; return how many."""
        due = select(_COLUMNS.pk).where(self._mine, _COLUMNS.recalled_at < to_micros(recalled_before))
        keys = due.order_by(_COLUMNS.recalled_at, _COLUMNS.pk).limit(limit)
        return self._connection.execute(delete(recall_hits).where(_COLUMNS.pk.in_(keys))).rowcount

    def _row(self, hit: RecallHit) -> dict[str, Any]:
        return {
            "scope_id": self._transaction.scope_id,
            "entry_id": hit.entry_id,
            "query": hit.query,
            "score": hit.score,
            "rank": hit.rank,
            "recalled_at": to_micros(hit.recalled_at),
            "session_id": hit.session_id,
        }
