"""A person's `forget`: the text is gone from every table, and a salted hash keeps it from coming back.

What was derived from the text alone goes with it. A merge that also holds other sources goes too, and those sources are
brought back first. Journal images, stored prompts and answers, and plans that mention a removed entry are scrubbed.
"""

import dataclasses
import secrets

from sqlalchemy import ColumnElement, delete, insert, or_, select, update

from agentcore.domain.instants import to_micros
from agentcore.domain.memory import MemoryEntry, SourceKind, Status
from agentcore.domain.text import fold_key
from agentcore.errors import UnknownRecordError
from agentcore.stores.protocols import Forgotten
from agentcore.stores.sql.entry_store import SqlEntryStore
from agentcore.stores.sql.imports import SALT_SETTING, SqlForgottenReader, fingerprint
from agentcore.stores.sql.schema import entries, forgotten, journal, model_calls, plans, reopened
from agentcore.stores.sql.settings_store import SqlSettingsStore
from agentcore.stores.sql.transaction import Transaction, chunks

_MENTIONS = 50
"""Ids searched for in one statement; databases bound the depth of an expression."""


def forget(transaction: Transaction, entry_id: str) -> Forgotten:
    """Remove an entry, its equal texts and what was derived from it alone; scrub every copy of the text."""
    store = SqlEntryStore(transaction)
    entry = store.get(entry_id)
    if entry is None:
        raise UnknownRecordError(kind="entry", value=entry_id)
    doomed = {twin.id: twin for twin in _equal_texts(transaction, store, entry)}
    spared: dict[str, MemoryEntry] = {}
    queue = list(doomed.values())
    while queue:
        for derived in store.derived_from(SourceKind.ENTRY.value, queue.pop().id):
            if derived.id not in doomed:
                doomed[derived.id] = derived
                queue.append(derived)
    for gone in doomed.values():
        for source in store.get_many([ref.id for ref in gone.sources if ref.kind is SourceKind.ENTRY]):
            if source.id not in doomed and not source.is_active:
                spared[source.id] = source
    store.replace([(source, _revived(source)) for source in spared.values()])
    _remember_hashes(transaction, {fold_key(gone.content) for gone in doomed.values()})
    _scrub(transaction, set(doomed))
    store.delete(doomed)
    return Forgotten(removed=tuple(sorted(doomed)), restored=tuple(sorted(spared)))


def _equal_texts(transaction: Transaction, store: SqlEntryStore, entry: MemoryEntry) -> list[MemoryEntry]:
    same = select(entries.c.id).where(
        entries.c.scope_id == transaction.scope_id,
        entries.c.fold_key == fold_key(entry.content),
    )
    return store.get_many(list(transaction.connection.execute(same).scalars()))


def _revived(entry: MemoryEntry) -> MemoryEntry:
    return dataclasses.replace(entry, status=Status.ACTIVE, status_reason=None, successor=None, status_at=None)


def _remember_hashes(transaction: Transaction, fold_keys: set[str]) -> None:
    settings = SqlSettingsStore(transaction)
    salt = settings.get(SALT_SETTING)
    if salt is None:
        salt = secrets.token_hex(32)
        settings.put(SALT_SETTING, salt)
    known = SqlForgottenReader(transaction).contains(fold_keys)
    rows = [
        {
            "scope_id": transaction.scope_id,
            "fingerprint": fingerprint(salt, key),
            "forgotten_at": to_micros(transaction.now),
        }
        for key in sorted(fold_keys - known)
    ]
    if rows:
        transaction.connection.execute(insert(forgotten), rows)


def _scrub(transaction: Transaction, gone: set[str]) -> None:
    connection = transaction.connection
    for chunk in chunks(sorted(gone), _MENTIONS):
        mine = journal.c.scope_id == transaction.scope_id
        images = update(journal).where(mine, journal.c.record_id.in_(chunk))
        connection.execute(images.values(before=None, after=None, scrubbed=True))
        mine = model_calls.c.scope_id == transaction.scope_id
        answers = update(model_calls).where(mine, or_(*_mention(model_calls.c.record_ids, chunk)))
        connection.execute(answers.values(request=None, answer=None))
        mine = plans.c.scope_id == transaction.scope_id
        connection.execute(delete(plans).where(mine, or_(*_mention(plans.c.changes, chunk))))
        mine = reopened.c.scope_id == transaction.scope_id
        connection.execute(delete(reopened).where(mine, reopened.c.record_id.in_(chunk)))


def _mention(column: ColumnElement[str], ids: list[str]) -> list[ColumnElement[bool]]:
    return [column.contains(f'"{entry_id}"', autoescape=True) for entry_id in ids]
