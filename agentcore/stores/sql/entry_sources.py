"""Keeps the index of what entries were made of."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sqlalchemy import Text, bindparam, delete, select

from agentcore.domain.evidence import SourceKind
from agentcore.domain.memory import MemoryEntry
from agentcore.stores.sql.bulk import insert_rows
from agentcore.stores.sql.schema import entries, entry_sources
from agentcore.stores.sql.transaction import Transaction, chunks, of_my_scope

_MINE: Final = of_my_scope(entries)
_NAMED: Final = entries.c.id.in_(bindparam("among", expanding=True, type_=Text()))
_KEYS: Final = select(entries.c.id, entries.c.pk).where(_MINE, _NAMED)
_S: Final = entry_sources.c


def keys_of(transaction: Transaction, entry_ids: Iterable[str]) -> dict[str, int]:
    """Return the keys of stored entries by their ids."""
    found: dict[str, int] = {}
    for chunk in chunks(entry_ids):
        found.update(tuple(row) for row in transaction.execute(_KEYS, among=chunk))
    return found


def link_sources(
    transaction: Transaction, records: Sequence[MemoryEntry], known: Mapping[tuple[int, str, str], int] | None = None
) -> None:
    """Add what stored entries name as their sources, each with the revision at which the entry first named it.

    Args:
        transaction: Where they are stored.
        records: The entries.
        known: The revisions that `unlink_sources` returned.
    """
    with_sources = [record for record in records if record.sources]
    keys = keys_of(transaction, [record.id for record in with_sources])
    revisions, now = known or {}, transaction.change()
    rows = [
        {
            "scope_id": transaction.scope_id,
            "kind": source.kind.value,
            "source_id": source.id,
            "entry_pk": keys[record.id],
            "revision": revisions.get((keys[record.id], source.kind.value, source.id), now),
        }
        for record in with_sources
        for source in set(record.sources)
    ]
    insert_rows(transaction.connection, entry_sources, rows)


def unlink_sources(transaction: Transaction, entry_ids: Sequence[str]) -> dict[tuple[int, str, str], int]:
    """Take out what stored entries named as their sources; return since which revision each was named."""
    known: dict[tuple[int, str, str], int] = {}
    for chunk in chunks(entry_ids):
        keys = select(entries.c.pk).where(entries.c.scope_id == transaction.scope_id, entries.c.id.in_(chunk))
        named = entry_sources.c.entry_pk.in_(keys)
        rows = select(_S.entry_pk, _S.kind, _S.source_id, _S.revision).where(named)
        known |= {(pk, kind, source): at for pk, kind, source, at in transaction.connection.execute(rows)}
        transaction.connection.execute(delete(entry_sources).where(named))
    return known


def occasions(transaction: Transaction, entry_ids: Sequence[str]) -> dict[str, dict[int, frozenset[str]]]:
    """Return the turns that entries cite, by the id of the entry and the revision at which it began to cite them.

    What an entry began to cite at once may prove it only together.
    """
    found: dict[str, dict[int, frozenset[str]]] = {}
    rows = select(entries.c.id, _S.revision, _S.source_id).join(entries, entries.c.pk == _S.entry_pk)
    for chunk in chunks(entry_ids):
        named = (entries.c.scope_id == transaction.scope_id) & entries.c.id.in_(chunk)
        cited = rows.where(named, _S.kind == SourceKind.TURN.value)
        for entry_id, at, turn_id in transaction.connection.execute(cited):
            of_entry = found.setdefault(entry_id, {})
            of_entry[at] = of_entry.get(at, frozenset()) | {turn_id}
    return found
