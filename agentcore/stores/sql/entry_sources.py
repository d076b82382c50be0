"""Keeps the index of what entries were made of."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Text, bindparam, delete, insert, select

from agentcore.domain.memory import MemoryEntry
from agentcore.stores.sql.schema import entries, entry_sources
from agentcore.stores.sql.transaction import Transaction, chunks, of_my_scope

_MINE: Final = of_my_scope(entries)
_NAMED: Final = entries.c.id.in_(bindparam("among", expanding=True, type_=Text()))
_KEYS: Final = select(entries.c.id, entries.c.pk).where(_MINE, _NAMED)
_LINK: Final = insert(entry_sources)


def link_sources(transaction: Transaction, records: Sequence[MemoryEntry]) -> None:
    """Add what stored entries name as their sources."""
    with_sources = [record for record in records if record.sources]
    keys: dict[str, int] = {}
    for chunk in chunks([record.id for record in with_sources]):
        keys.update(tuple(row) for row in transaction.execute(_KEYS, among=chunk))
    rows = [
        {
            "scope_id": transaction.scope_id,
            "kind": source.kind.value,
            "source_id": source.id,
            "entry_pk": keys[record.id],
        }
        for record in with_sources
        for source in set(record.sources)
    ]
    if rows:
        transaction.connection.execute(_LINK, rows)


def unlink_sources(transaction: Transaction, entry_ids: Sequence[str]) -> None:
    """Take out what stored entries named as their sources."""
    for chunk in chunks(entry_ids):
        keys = select(entries.c.pk).where(entries.c.scope_id == transaction.scope_id, entries.c.id.in_(chunk))
        transaction.connection.execute(delete(entry_sources).where(entry_sources.c.entry_pk.in_(keys)))
