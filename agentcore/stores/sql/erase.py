"""Erases a whole scope: every row that is its, whatever the table, some thousands at a time.

An erasure is noted before the first row goes and ended after the last. What was cut short in between is finished when
the next host opens the database. The row stays, so that a restored backup erases the scope again and an older export
brings nothing of it back.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import orjson
from sqlalchemy import ColumnElement, Connection, Table, and_, delete, exists, func, insert, or_, select, tuple_, update

from agentcore.domain.records import RECORD_TYPES
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.forgetting import Erasure, KnownCopy
from agentcore.stores.sql.schema import (
    card_lines,
    claims,
    documents,
    entries,
    erasures,
    feedback,
    hypotheses,
    known_copies,
    metadata,
    model_calls,
    peers,
    scopes,
    settings,
    skill_uses,
    skills,
    tool_calls,
    turns,
    wisp_runs,
)
from agentcore.stores.sql.session_peers import drop_peer
from agentcore.stores.sql.transaction import Transaction, encode

_E = erasures.c
_ROWS: Final = 2_000
"""Rows that go in one transaction: some 50 ms of the write lock."""
_FORGET: Final = "forget"
_KEPT: Final = frozenset({scopes.name, erasures.name, peers.name})
_SIGNALS: Final = (feedback, wisp_runs, tool_calls, skill_uses)
_HOLDING: Final = (entries, turns, skills, documents, *_SIGNALS, card_lines, claims, hypotheses)
_NAMED: Final = ("workspace", "observer", "observed")


class SqlErasureReader:
    """See when a scope was erased, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    @property
    def _mine(self) -> ColumnElement[bool]:
        return _is_of(self._transaction.scope)

    def at(self) -> datetime | None:
        """Return when the scope was erased last, None if it never was."""
        erased = self._mine & (_E.removed != _FORGET)
        latest = self._transaction.connection.execute(select(func.max(_E.erased_at)).where(erased)).scalar()
        return None if latest is None else from_micros(latest)

    def count(self) -> int:
        """Return how often it was."""
        erased = self._mine & (_E.removed != _FORGET)
        return self._transaction.connection.execute(select(func.count()).where(erased)).scalar_one()

    def what(self) -> Erasure:
        """Return what an erasure would remove now."""
        at = self._transaction.now
        counts, sent = _counts(self._transaction), _sent(self._transaction)
        return Erasure(scope=self._transaction.scope, erased_at=at, removed=counts, sent=sent)

    def copies(self) -> list[KnownCopy]:
        """Return the files that are known to hold copies of the scope, the oldest first."""
        return known_copies_of(self._transaction)


class SqlErasureStore(SqlErasureReader):
    """Erase a scope, step by step, and note forgets whose files are still to be cleared."""

    def begin(self, at: datetime | None = None) -> Erasure:
        """Note that the scope is being erased, with what it holds; whoever dreams on it loses the right to.

        Args:
            at: When a person asked for it, where a restored database is told of it again; None is now.
        """
        planned = self.what()
        planned = planned if at is None else replace(planned, erased_at=at)
        told = encode({"removed": planned.removed, "sent": planned.sent})
        row = dict(zip(_NAMED, _names(self._transaction.scope), strict=True))
        values = row | {"erased_at": to_micros(planned.erased_at), "finished_at": None, "removed": told}
        self._transaction.connection.execute(insert(erasures), values)
        self._transaction.connection.execute(delete(metadata.tables["leases"]).where(self._of_table("leases")))
        return planned

    def step(self) -> bool:
        """Remove some rows; tell whether more may be left."""
        self._transaction.forgot = True
        return any(self._remove_some(table) for table in _tables())

    def finish(self) -> None:
        """End the erasure: followers begin anew, and nothing of the scope is listed any longer."""
        connection, scope_id = self._transaction.connection, self._transaction.scope_id
        while self.step():
            pass
        # Without a row of the feed, so that whoever follows it finds that it no longer reaches back.
        emptied = {"revision": scopes.c.revision + 1, "explicit_entries": 0}
        connection.execute(update(scopes).where(scopes.c.pk == scope_id).values(emptied))
        self._drop_peer()
        drop_peer(self._transaction)
        ended = self._mine & _E.finished_at.is_(None) & (_E.removed != _FORGET)
        connection.execute(update(erasures).where(ended).values(finished_at=to_micros(self._transaction.now)))

    def note_forget(self) -> None:
        """Note that files beside the database are still to be cleared of what is forgotten in this transaction."""
        self.end_forget()
        row = dict(zip(_NAMED, _names(self._transaction.scope), strict=True))
        values = row | {"erased_at": to_micros(self._transaction.now), "finished_at": None, "removed": _FORGET}
        self._transaction.connection.execute(insert(erasures), values)

    def end_forget(self) -> None:
        """Note that they are."""
        self._transaction.connection.execute(delete(erasures).where(self._mine, _E.removed == _FORGET))

    def note_copy(self, copy: KnownCopy, *, of_all: bool = False) -> None:
        """Note that a file holds a copy of the scope, or of the whole database: a certificate names it."""
        row = {
            "scope_id": None if of_all else self._transaction.scope_id,
            "kind": copy.kind,
            "place": copy.place,
            "records": copy.records,
            "made_at": to_micros(copy.made_at),
        }
        again = known_copies.c.scope_id.is_(None) if of_all else known_copies.c.scope_id == row["scope_id"]
        same = again & (known_copies.c.place == copy.place) & (known_copies.c.kind == copy.kind)
        self._transaction.connection.execute(delete(known_copies).where(same))
        self._transaction.connection.execute(insert(known_copies), row)

    def _of_table(self, name: str) -> ColumnElement[bool]:
        return metadata.tables[name].c.scope_id == self._transaction.scope_id

    def _remove_some(self, table: Table) -> bool:
        key = list(table.primary_key.columns)
        mine = _is_mine(table, self._transaction)
        some = select(*key).where(mine).limit(_ROWS)
        named = key[0].in_(some) if len(key) == 1 else tuple_(*key).in_(some)
        return self._transaction.connection.execute(delete(table).where(named)).rowcount == _ROWS

    def _drop_peer(self) -> None:
        """Forget when the peer was active, unless another scope of the workspace is about it too."""
        scope = self._transaction.scope
        about = (scopes.c.workspace == scope.workspace) & (scopes.c.observed == scope.observed)
        others = select(scopes.c.pk).where(about, scopes.c.pk != self._transaction.scope_id, scopes.c.revision > 0)
        if self._transaction.connection.execute(others.limit(1)).first() is None:
            its = (peers.c.workspace == scope.workspace) & (peers.c.observed == scope.observed)
            self._transaction.connection.execute(delete(peers).where(its))


def unfinished(connection: Connection) -> tuple[list[Scope], list[Scope]]:
    """Return the scopes whose erasure was cut short, and those where files are to be cleared after a forget."""
    found = connection.execute(select(*(_E[name] for name in _NAMED), _E.removed).where(_E.finished_at.is_(None))).all()
    erased = sorted({_scope(row) for row in found if row.removed != _FORGET})
    return erased, sorted({_scope(row) for row in found if row.removed == _FORGET})


def all_erasures(connection: Connection, since: datetime | None = None) -> list[Erasure]:
    """Return every erasure, or those begun at or after an instant, the earliest first."""
    made = select(erasures).where(_E.removed != _FORGET).order_by(_E.erased_at, _E.pk)
    if since is not None:
        made = made.where(_E.erased_at >= to_micros(since))
    return [_to_erasure(row) for row in connection.execute(made)]


def held_scopes(connection: Connection) -> list[Scope]:
    """Return every scope that holds anything, sorted."""
    any_setting = exists().where(settings.c.scope_id == scopes.c.pk)
    statement = select(*(scopes.c[name] for name in _NAMED)).where(or_(scopes.c.revision > 0, any_setting))
    return sorted({_scope(row) for row in connection.execute(statement)} - erased_scopes(connection))


def erased_scopes(connection: Connection) -> set[Scope]:
    """Return the scopes that were erased and hold nothing since: they are listed nowhere."""
    names = [_E[name] for name in _NAMED]
    gone = select(*names).where(_E.removed != _FORGET, _E.finished_at.is_not(None))
    if connection.execute(gone.limit(1)).first() is None:
        return set()
    named = [scopes.c[name] == _E[name] for name in _NAMED]
    holds = [select(table.c.pk).where(table.c.scope_id == scopes.c.pk).exists() for table in _HOLDING]
    empty = gone.join(scopes, and_(*named)).where(~or_(*holds))
    return {_scope(row) for row in connection.execute(empty)}


def turns_elsewhere(connection: Connection, gone: Collection[Scope]) -> dict[Scope, int]:
    """Return how many turns other scopes of the same workspaces hold of the peers that *gone* are about."""
    names = sorted({one.observed.casefold() for one in gone})
    within = scopes.c.workspace.in_(sorted({one.workspace for one in gone}))
    spoken = func.lower(turns.c.speaker).in_(names) & within
    columns = [scopes.c[name] for name in _NAMED]
    counted = select(*columns, func.count()).join(turns, turns.c.scope_id == scopes.c.pk).where(spoken)
    rows = connection.execute(counted.group_by(*columns).order_by(*columns))
    found = {_scope(row): int(tuple(row)[-1]) for row in rows}
    return {scope: count for scope, count in found.items() if scope not in set(gone)}


def known_copies_of(transaction: Transaction) -> list[KnownCopy]:
    """Return the files that are known to hold copies of a scope."""
    held = or_(known_copies.c.scope_id == transaction.scope_id, known_copies.c.scope_id.is_(None))
    rows = transaction.connection.execute(select(known_copies).where(held).order_by(known_copies.c.made_at))
    return [KnownCopy(row.kind, row.place, row.records, from_micros(row.made_at)) for row in rows]


def _tables() -> Iterator[Table]:
    """Yield the tables that hold anything of a scope, those that refer to others first."""
    for table in reversed(metadata.sorted_tables):
        if table.name not in _KEPT and ("scope_id" in table.c or set(_NAMED) <= set(table.c.keys())):
            yield table


def _is_mine(table: Table, transaction: Transaction) -> ColumnElement[bool]:
    if "scope_id" in table.c:
        return table.c.scope_id == transaction.scope_id
    return and_(*(table.c[name] == part for name, part in zip(_NAMED, _names(transaction.scope), strict=True)))


def _names(scope: Scope) -> tuple[str, str, str]:
    return scope.workspace, scope.observer, scope.observed


def _scope(row: Any) -> Scope:
    return Scope(row.workspace, row.observer, row.observed)


def _is_of(scope: Scope) -> ColumnElement[bool]:
    return and_(*(_E[name] == part for name, part in zip(_NAMED, _names(scope), strict=True)))


def _counts(transaction: Transaction) -> dict[str, int]:
    """Count what the scope holds: records by what people call them, and the rest of its rows."""
    by_table: dict[str, int] = {}
    for table in _tables():
        rows = select(func.count()).select_from(table).where(_is_mine(table, transaction))
        by_table[table.name] = transaction.connection.execute(rows).scalar_one()
    kinds = {of.plural: _TABLE_OF.get(kind.value, f"{kind.value}s") for kind, of in RECORD_TYPES.items()}
    counts = {plural: by_table.pop(name, 0) for plural, name in kinds.items()}
    counts["stored prompts and answers"] = by_table.pop(model_calls.name, 0)
    counts["journal rows"] = by_table.pop("journal", 0)
    counts["other rows"] = sum(by_table.values())
    return {name: count for name, count in counts.items() if count}


_TABLE_OF: Final = {"entry": entries.name, "turn": turns.name, "feedback": "feedback"}


def _sent(transaction: Transaction) -> dict[str, int]:
    """Count the calls that went to each model, as far as they are still on record."""
    mine = model_calls.c.scope_id == transaction.scope_id
    calls = select(model_calls.c.model, func.count()).where(mine).group_by(model_calls.c.model)
    rows = transaction.connection.execute(calls.order_by(model_calls.c.model))
    return {str(model): int(count) for model, count in rows}


def _to_erasure(row: Any) -> Erasure:
    told = orjson.loads(row.removed)
    return Erasure(
        scope=_scope(row),
        erased_at=from_micros(row.erased_at),
        finished_at=None if row.finished_at is None else from_micros(row.finished_at),
        removed=told["removed"],
        sent=told["sent"],
    )
