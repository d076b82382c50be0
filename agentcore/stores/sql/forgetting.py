"""A person's `forget`: the text is gone from every table, and a salted hash keeps it from coming back.

What was derived from the text alone goes with it. A merge that also holds other sources goes too, and the sources it
took the place of are brought back first.
"""

import dataclasses
import secrets
from collections.abc import Mapping

from sqlalchemy import insert, select

from agentcore.domain.instants import to_micros
from agentcore.domain.memory import MemoryEntry, SourceKind, Status
from agentcore.domain.text import fold_key
from agentcore.errors import UnknownRecordError
from agentcore.stores.protocols import Forgotten
from agentcore.stores.sql.entry_store import SqlEntryStore
from agentcore.stores.sql.imports import SALT_SETTING, SqlForgottenReader, fingerprint
from agentcore.stores.sql.schema import entries, forgotten
from agentcore.stores.sql.scrubbing import scrub
from agentcore.stores.sql.settings_store import SqlSettingsStore
from agentcore.stores.sql.transaction import Transaction, chunks


def forget(transaction: Transaction, entry_id: str) -> Forgotten:
    """Remove an entry, its equal texts and what was derived from it alone; scrub every copy of the text.

    Raises:
        UnknownRecordError: there is no such entry.
    """
    store = SqlEntryStore(transaction)
    entry = store.get(entry_id)
    if entry is None:
        raise UnknownRecordError(kind="entry", value=entry_id)
    doomed = _doomed(transaction, store, entry)
    spared = _spared(store, doomed)
    store.replace([(source, _revived(source)) for source in spared])
    _remember_hashes(transaction, doomed)
    scrub(transaction, {gone.id: gone.content for gone in doomed.values()})
    store.delete(doomed)
    transaction.forgot = True
    return Forgotten(removed=tuple(sorted(doomed)), restored=tuple(source.id for source in spared))


def _doomed(transaction: Transaction, store: SqlEntryStore, entry: MemoryEntry) -> dict[str, MemoryEntry]:
    """Return the entries of equal text and everything derived from them, however far down."""
    same = select(entries.c.id).where(
        entries.c.scope_id == transaction.scope_id,
        entries.c.fold_key == fold_key(entry.content),
    )
    queue = store.get_many(transaction.connection.execute(same).scalars().all())
    doomed = {twin.id: twin for twin in queue}
    while queue:
        for derived in store.derived_from(SourceKind.ENTRY.value, queue.pop().id):
            if derived.id not in doomed:
                doomed[derived.id] = derived
                queue.append(derived)
    return doomed


def _spared(store: SqlEntryStore, doomed: Mapping[str, MemoryEntry]) -> list[MemoryEntry]:
    """Return the sources that a doomed merge took the place of; one retired for another reason stays so."""
    named = {ref.id for gone in doomed.values() for ref in gone.sources if ref.kind is SourceKind.ENTRY}
    sources = store.get_many(named - doomed.keys())
    return [source for source in sources if not source.is_active and source.successor in doomed]


def _revived(entry: MemoryEntry) -> MemoryEntry:
    return dataclasses.replace(entry, status=Status.ACTIVE, status_reason=None, successor=None, status_at=None)


def _remember_hashes(transaction: Transaction, doomed: Mapping[str, MemoryEntry]) -> None:
    settings = SqlSettingsStore(transaction)
    salt = settings.get(SALT_SETTING)
    if salt is None:
        salt = secrets.token_hex(32)
        settings.put(SALT_SETTING, salt)
    keys = {fold_key(gone.content) for gone in doomed.values()} - _still_said(transaction, doomed)
    known = SqlForgottenReader(transaction).contains(keys)
    rows = [
        {
            "scope_id": transaction.scope_id,
            "fingerprint": fingerprint(salt, key),
            "forgotten_at": to_micros(transaction.now),
        }
        for key in sorted(keys - known)
    ]
    if rows:
        transaction.connection.execute(insert(forgotten), rows)


def _still_said(transaction: Transaction, doomed: Mapping[str, MemoryEntry]) -> set[str]:
    """Return keys of derived texts that another entry says by itself: nobody asked to forget those."""
    found: set[str] = set()
    for chunk in chunks(sorted({fold_key(gone.content) for gone in doomed.values()})):
        statement = select(entries.c.id, entries.c.fold_key).where(
            entries.c.scope_id == transaction.scope_id,
            entries.c.fold_key.in_(chunk),
        )
        rows = transaction.connection.execute(statement)
        found.update(row.fold_key for row in rows if row.id not in doomed)
    return found
