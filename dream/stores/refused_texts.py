"""Texts that were refused: told whole for a while, to people only."""

from collections.abc import Sequence
from datetime import datetime

import orjson
from sqlalchemy import ColumnElement, delete, func, insert, select

from agentcore.domain.instants import from_micros, to_micros
from agentcore.stores.sql.schema import refused_texts
from agentcore.stores.sql.transaction import Transaction, encode
from dream.domain.refused import RefusedText


class RefusedTextStore:
    """Refused texts of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = refused_texts.c.scope_id == transaction.scope_id

    def record(self, run_id: str, refused: Sequence[RefusedText]) -> None:
        """Keep what was refused in a run."""
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "run_id": run_id,
                "pass_name": one.pass_name,
                "code": one.code,
                "detail": one.detail,
                "text": one.text,
                "cites": encode(list(one.cites)),
                "refused_at": to_micros(one.refused_at),
            }
            for one in refused
        ]
        if rows:
            self._connection.execute(insert(refused_texts), rows)

    def of_run(self, run_id: str) -> list[RefusedText]:
        """Return what is still kept of a run, in the order it was refused."""
        mine = select(refused_texts).where(self._mine, refused_texts.c.run_id == run_id)
        return [
            RefusedText(
                pass_name=row.pass_name,
                code=row.code,
                detail=row.detail,
                text=row.text,
                cites=tuple(orjson.loads(row.cites)),
                refused_at=from_micros(row.refused_at),
            )
            for row in self._connection.execute(mine.order_by(refused_texts.c.pk))
        ]

    def count_expired(self, before: datetime) -> int:
        """Count what was refused before that instant."""
        old = select(func.count()).select_from(refused_texts).where(self._old(before))
        return self._connection.execute(old).scalar_one()

    def purge(self, before: datetime, *, limit: int) -> int:
        """Remove at most *limit* texts that were refused before that instant; return how many."""
        oldest = select(refused_texts.c.pk).where(self._old(before)).order_by(refused_texts.c.pk).limit(limit)
        return self._connection.execute(delete(refused_texts).where(refused_texts.c.pk.in_(oldest))).rowcount

    def _old(self, before: datetime) -> ColumnElement[bool]:
        return self._mine & (refused_texts.c.refused_at < to_micros(before))
