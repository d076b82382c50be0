"""Stores exchanges with the model that wait: with their answers, until a later run ends them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import bindparam, delete, insert, select

from agentcore.domain.temporal import from_micros, to_micros, to_text
from agentcore.stores.sql.schema import waiting_exchanges
from agentcore.stores.sql.transaction import encode, of_my_scope
from dream import domain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Row

    from agentcore.stores.sql.transaction import Transaction
    from dream.domain import WaitingExchange

_MINE = of_my_scope(waiting_exchanges)
_ALL = select(waiting_exchanges).where(_MINE).order_by(waiting_exchanges.c.pk)
_OF_PASS = _ALL.where(waiting_exchanges.c.pass_name == bindparam("of_pass"))
_BATCHES = select(waiting_exchanges.c.batch, waiting_exchanges.c.pass_name).where(
    _MINE, waiting_exchanges.c.batch.is_not(None)
)
_FIND = select(waiting_exchanges).where(_MINE, waiting_exchanges.c.id == bindparam("of_id"))
_REMOVE = delete(waiting_exchanges).where(_MINE, waiting_exchanges.c.id == bindparam("of_id"))
_STANDING = select(
    waiting_exchanges.c.pass_name,
    waiting_exchanges.c.reason,
    waiting_exchanges.c.since,
    waiting_exchanges.c.runs,
    waiting_exchanges.c.changes,
).where(_MINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCount:
    """How much of a pass waits for one reason.

    Args:
        pass_name: The pass.
        reason: Why, a code of `Refused`.
        count: How many change sets; an exchange that has given none yet counts as one.
        since: Since when the oldest does.
        runs: How many runs took up the one that was tried most often.
    """

    pass_name: str
    reason: str
    count: int
    since: datetime
    runs: int

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, the pass aside."""
        return {"reason": self.reason, "count": self.count, "since": to_text(self.since), "runs": self.runs}


class WaitingReader:
    """Waiting exchanges of one scope, for reading; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def members(self, reader: str) -> frozenset[str]:
        """Return ids of what waits of what *reader* has looked at: it is read once nothing of it waits."""
        found: set[str] = set()
        for text, pass_name in self._transaction.execute(_BATCHES).all():
            batch = domain.Batch.from_json(orjson.loads(text))
            if reader == (f"{pass_name}/{batch.reader}" if batch.reader else pass_name):
                found.update(batch.member_ids)
        return frozenset(found)

    def counts(self) -> list[WaitingCount]:
        """Return what waits, by pass and reason."""
        groups: defaultdict[tuple[str, str], list[tuple[int, int, int]]] = defaultdict(list)
        for name, reason, since, runs, changes in self._transaction.execute(_STANDING):
            groups[name, reason].append((len(orjson.loads(changes)) or 1, since, runs))
        return [
            WaitingCount(
                pass_name=name,
                reason=reason,
                count=sum(count for count, _, _ in group),
                since=from_micros(min(since for _, since, _ in group)),
                runs=max(runs for _, _, runs in group),
            )
            for (name, reason), group in sorted(groups.items())
        ]


class WaitingStore(WaitingReader):
    """Waiting exchanges of one scope, in one transaction; lives as long as it."""

    def put(self, exchanges: Sequence[WaitingExchange]) -> None:
        """Keep exchanges as they now stand."""
        self.remove([one.exchange_id for one in exchanges])
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "id": one.exchange_id,
                "run_id": one.run_id,
                "pass_name": one.pass_name,
                "reason": one.reason,
                "since": to_micros(one.since),
                "runs": one.runs,
                "tried_in": one.tried_in,
                "batch": None if one.batch is None else encode(one.batch.to_json()),
                "records": encode([list(record) for record in one.records]),
                "rounds": None if one.rounds is None else encode([answered.to_json() for answered in one.rounds]),
                "changes": encode([change_set.to_json() for change_set in one.change_sets]),
            }
            for one in exchanges
        ]
        if rows:
            self._transaction.connection.execute(insert(waiting_exchanges), rows)

    def of(self, pass_name: str) -> list[WaitingExchange]:
        """Return the exchanges of a pass that wait, in the order in which they began to."""
        found = map(self._read, self._transaction.execute(_OF_PASS, of_pass=pass_name).all())
        return sorted(found, key=lambda one: one.since)

    def find(self, key: str) -> WaitingExchange | None:
        """Return the exchange with this id; None if it does not wait."""
        row = self._transaction.execute(_FIND, of_id=key).one_or_none()
        return None if row is None else self._read(row)

    def remove(self, ids: Sequence[str]) -> None:
        """Drop those that wait no longer."""
        for one in ids:
            self._transaction.execute(_REMOVE, of_id=one)

    def withdraw(self, run_id: str, pass_name: str) -> list[WaitingExchange]:
        """Drop what a run that is taken back left waiting, and return it."""
        withdrawn = [one for one in self.of(pass_name) if one.run_id == run_id]
        self.remove([one.exchange_id for one in withdrawn])
        return withdrawn

    def _read(self, row: Row[Any]) -> WaitingExchange:
        return domain.WaitingExchange(
            exchange_id=row.id,
            run_id=row.run_id,
            pass_name=row.pass_name,
            reason=row.reason,
            since=from_micros(row.since),
            runs=row.runs,
            tried_in=row.tried_in,
            batch=None if row.batch is None else domain.Batch.from_json(orjson.loads(row.batch)),
            rounds=None if row.rounds is None else tuple(map(domain.Round.from_json, orjson.loads(row.rounds))),
            change_sets=tuple(
                domain.ChangeSet.from_json(self._transaction.scope, one) for one in orjson.loads(row.changes)
            ),
            records=tuple((record_id, version) for record_id, version in orjson.loads(row.records)),
        )
