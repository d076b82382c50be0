"""Remembers who asked for each entry and skill, and for each later change of it that no run made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import bindparam, delete, select, update

from agentcore.domain.memory import MemoryEntry, Status
from agentcore.domain.records import RecordKind
from agentcore.domain.skill import Skill
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.bulk import insert_rows
from agentcore.stores.sql.schema import record_writes
from agentcore.stores.sql.transaction import chunks, of_my_scope
from agentcore.stores.values import Origin, RecordWrite, WriteKind

if TYPE_CHECKING:
    from collections.abc import Collection

    from agentcore.stores.sql.transaction import Transaction

Written: TypeAlias = MemoryEntry | Skill
"""What tells who wrote it."""

_W = record_writes.c
_AGAIN = (
    update(record_writes)
    .where(
        of_my_scope(record_writes),
        _W.kind == bindparam("b_kind"),
        _W.record_id == bindparam("b_record_id"),
        _W.actor == bindparam("b_actor"),
        _W.action == bindparam("b_action"),
    )
    .values(times=_W.times + 1, last_at=bindparam("b_last_at"))
)
_NAMED = (
    of_my_scope(record_writes)
    & (_W.kind == bindparam("of_kind"))
    & _W.record_id.in_(bindparam("among", expanding=True))
)
_DROP = delete(record_writes).where(_NAMED)
_OF_RECORDS = select(record_writes).where(_NAMED).order_by(_W.first_at, _W.record_id, _W.action, _W.actor)


class SqlAuthorshipReader:
    """Who wrote records; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def of_record(self, kind: RecordKind, *record_ids: str) -> list[RecordWrite]:
        """Return who wrote a record (or each of several), the earliest first."""
        return [
            RecordWrite(
                record_id=row.record_id,
                actor=row.actor,
                action=WriteKind(row.action),
                first_at=from_micros(row.first_at),
                last_at=from_micros(row.last_at),
                times=row.times,
            )
            for chunk in chunks(record_ids)
            for row in self._transaction.execute(_OF_RECORDS, of_kind=kind.value, among=chunk)
        ]


def kind_of_write(before: Written, after: Written) -> WriteKind | None:
    """Return what a write did to an entry or a skill; None where it says what it said, as a skill that was used."""
    if before.status != after.status:
        return WriteKind.RESTORED if after.status is Status.ACTIVE else WriteKind.RETIRED
    if isinstance(before, MemoryEntry) and isinstance(after, MemoryEntry):
        return WriteKind.REINFORCED if after.own_count > before.own_count else WriteKind.CHANGED
    said = [(one.name, one.summary, one.content) for one in (before, after) if isinstance(one, Skill)]
    return None if said[0] == said[1] else WriteKind.CHANGED


def keep_authorship(transaction: Transaction) -> None:
    """Note that the transaction's actor wrote what it wrote; what a dream or an undo writes is in the journal."""
    for kind, group in _by_kind(transaction.erased).items():
        for chunk in chunks(group):
            transaction.execute(_DROP, of_kind=kind.value, among=chunk)
    is_told = transaction.by_people or transaction.origin is Origin.PEERS
    if not transaction.written or not is_told:
        return
    actor, at = str(transaction.actor), to_micros(transaction.now)
    rows = [
        {
            "scope_id": transaction.scope_id,
            "kind": kind.value,
            "record_id": record_id,
            "actor": actor,
            "action": done.value,
            "first_at": at,
            "last_at": at,
            "times": 1,
        }
        for (kind, record_id), done in transaction.written.items()
    ]
    # Nobody wrote before what is new; of all else it is asked, row by row.
    new = [row for row in rows if row["action"] == WriteKind.ADDED or not _counted_again(transaction, row)]
    if new:
        insert_rows(transaction.connection, record_writes, new)


def _counted_again(transaction: Transaction, row: dict[str, Any]) -> bool:
    again = {f"b_{name}": row[name] for name in ("kind", "record_id", "actor", "action", "last_at")}
    return bool(transaction.execute(_AGAIN, **again).rowcount)


def _by_kind(records: Collection[tuple[RecordKind, str]]) -> dict[RecordKind, list[str]]:
    return {kind: [one for its, one in sorted(records) if its is kind] for kind in {kind for kind, _ in records}}
