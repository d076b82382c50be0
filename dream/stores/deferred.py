"""Changes that wait: a model was paid for them, and the share cap has no room yet."""

from collections.abc import Sequence

import orjson
from sqlalchemy import bindparam, delete, func, insert, select

from agentcore.domain.instants import to_micros
from agentcore.stores.sql.schema import deferred
from agentcore.stores.sql.transaction import Transaction, encode, of_my_scope
from dream.domain.change import ChangeSet
from dream.stores.change_sets import from_json, to_json

_OF_PASS = of_my_scope(deferred) & (deferred.c.pass_name == bindparam("of_pass"))
_COUNT = select(func.count()).select_from(deferred).where(_OF_PASS)
_WITHDRAW = delete(deferred).where(_OF_PASS, deferred.c.run_id == bindparam("of_run"))


class DeferredStore:
    """Waiting change sets of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = deferred.c.scope_id == transaction.scope_id

    def save(self, change_sets: Sequence[ChangeSet], *, run_id: str, pass_name: str) -> None:
        """Keep change sets for a later run of the pass."""
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "run_id": run_id,
                "pass_name": pass_name,
                "changes": encode(to_json(change_set)),
                "deferred_at": to_micros(self._transaction.now),
            }
            for change_set in change_sets
        ]
        if rows:
            self._connection.execute(insert(deferred), rows)

    def count(self, pass_name: str) -> int:
        """Count what waits for the pass."""
        return self._transaction.execute(_COUNT, of_pass=pass_name).scalar_one()

    def of(self, pass_name: str, *, limit: int) -> list[tuple[int, ChangeSet]]:
        """Return the longest waiting change sets of the pass with their keys."""
        mine = select(deferred.c.pk, deferred.c.changes).where(self._mine, deferred.c.pass_name == pass_name)
        rows = self._connection.execute(mine.order_by(deferred.c.pk).limit(limit))
        return [(row.pk, from_json(self._transaction.scope, orjson.loads(row.changes))) for row in rows]

    def remove(self, keys: Sequence[int]) -> None:
        """Drop those that wait no longer."""
        if keys:
            self._connection.execute(delete(deferred).where(self._mine, deferred.c.pk.in_(keys)))

    def withdraw(self, run_id: str, pass_name: str) -> None:
        """Drop what a run that is taken back left waiting."""
        self._transaction.execute(_WITHDRAW, of_run=run_id, of_pass=pass_name)
