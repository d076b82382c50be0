"""Changes that wait: a model was paid for them, and the share cap has no room yet."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import bindparam, delete, func, insert, select

from agentcore.domain.instants import to_micros
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.records import Record, RecordKind, from_image, to_image
from agentcore.domain.scope import Scope
from agentcore.domain.skill import Skill
from agentcore.stores.sql.schema import deferred
from agentcore.stores.sql.transaction import Transaction, encode, of_my_scope
from dream.domain.change import Change, ChangeSet

_SIDES = ("before", "after")

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
                "changes": encode(_to_json(change_set)),
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
        return [(row.pk, _from_json(self._transaction.scope, orjson.loads(row.changes))) for row in rows]

    def remove(self, keys: Sequence[int]) -> None:
        """Drop those that wait no longer."""
        if keys:
            self._connection.execute(delete(deferred).where(self._mine, deferred.c.pk.in_(keys)))

    def withdraw(self, run_id: str, pass_name: str) -> None:
        """Drop what a run that is taken back left waiting."""
        self._transaction.execute(_WITHDRAW, of_run=run_id, of_pass=pass_name)


def _to_json(change_set: ChangeSet) -> dict[str, Any]:
    return {
        "operation": change_set.operation,
        "changes": [
            {
                "kind": change.kind.value,
                "before": None if change.before is None else to_image(change.before),
                "version": change.before.version if isinstance(change.before, (MemoryEntry, Skill)) else None,
                "after": None if change.after is None else to_image(change.after),
                "reason": change.reason,
                "fingerprint": change_set.fingerprints.get(change.record_id),
            }
            for change in change_set.changes
        ],
    }


def _from_json(scope: Scope, values: Mapping[str, Any]) -> ChangeSet:
    changes: list[Change[Record]] = []
    marks: dict[str, str] = {}
    for item in values["changes"]:
        kind = RecordKind(item["kind"])
        before, after = (None if item[name] is None else from_image(kind, scope, item[name]) for name in _SIDES)
        if isinstance(before, (MemoryEntry, Skill)):
            before = replace(before, version=item["version"])
        change = Change[Record](before=before, after=after, reason=item["reason"])
        changes.append(change)
        if item["fingerprint"] is not None:
            marks[change.record_id] = item["fingerprint"]
    return ChangeSet(operation=values["operation"], changes=tuple(changes), fingerprints=marks)
