"""Has a database that was restored from a backup forget again what was forgotten since the backup was made."""

from collections.abc import Collection

from sqlalchemy import select

from agentcore.domain.evidence import SourceKind
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.temporal import to_micros
from agentcore.stores.forgetting import Forgotten, Tombstone, TombstoneKind
from agentcore.stores.sql.entries import SqlEntryStore
from agentcore.stores.sql.forget import forget_entries, forget_said
from agentcore.stores.sql.record_store import OFF_LIMITS_TOPICS, SqlRecordStore
from agentcore.stores.sql.redact import delete_session_signals
from agentcore.stores.sql.schema import turns
from agentcore.stores.sql.tombstones import SqlTombstoneStore
from agentcore.stores.sql.transaction import Transaction, chunks


def obey(transaction: Transaction, made: Collection[Tombstone]) -> Forgotten:
    """Remove whatever the scope holds that one of these tombstones touches, and set them.

    How a restore re-applies what was forgotten since its backup: read `unit.tombstones.all(since=...)` of each scope of
    the database that is given up, give them to `unit.obey(...)` of that scope in the restored one, in one
    transaction each, before anybody else opens it. Scopes that were erased since stand in
    `storage.erasures(since=...)`; the host erases them again with `host.erase(scope)`.
    The key of forgotten texts and import items lies beside the database and stays where it is.

    Args:
        transaction: In which everything happens.
        made: The tombstones; those that are known already change nothing.

    Returns:
        What was removed, brought back and redacted.
    """
    kinds = {kind: {one.record_id: one for one in made if one.kind is kind} for kind in TombstoneKind}
    said = {one for one, stone in kinds[TombstoneKind.TURN].items() if stone.whole}
    noted = set(kinds[TombstoneKind.FEEDBACK])
    for session_id, stone in kinds[TombstoneKind.SESSION].items():
        said |= _said_in(transaction, stone)
        noted.update(delete_session_signals(transaction, session_id))
    here = _there(transaction, said)
    first = forget_said(transaction, tuple(sorted(here)), noted)
    doomed = _touched(transaction, kinds[TombstoneKind.ENTRY])
    cited = _there(transaction, kinds[TombstoneKind.TURN].keys() - said)
    second = forget_entries(transaction, doomed, cited)
    SqlRecordStore(transaction, OFF_LIMITS_TOPICS).delete(list(kinds[TombstoneKind.TOPIC]))
    SqlTombstoneStore(transaction).add(made)
    return Forgotten(
        removed=tuple(sorted({*first.removed, *second.removed})),
        restored=tuple(sorted({*first.restored, *second.restored} - {*second.removed})),
        withheld=tuple(sorted({*first.withheld, *second.withheld})),
        redacted=tuple(sorted({*first.redacted, *second.redacted})),
    )


def _touched(transaction: Transaction, ids: Collection[str]) -> list[MemoryEntry]:
    """Return the entries with these ids, and those that name one of them as a source."""
    store = SqlEntryStore(transaction)
    return [*store.get_many(ids), *store.derived_from(SourceKind.ENTRY.value, *sorted(ids))]


def _there(transaction: Transaction, turn_ids: Collection[str]) -> set[str]:
    found: set[str] = set()
    for chunk in chunks(sorted(turn_ids)):
        mine = select(turns.c.id).where(turns.c.scope_id == transaction.scope_id, turns.c.id.in_(chunk))
        found.update(transaction.connection.execute(mine).scalars())
    return found


def _said_in(transaction: Transaction, session: Tombstone) -> set[str]:
    mine = (turns.c.scope_id == transaction.scope_id) & (turns.c.session_id == session.record_id)
    earlier = mine & (turns.c.recorded_at <= to_micros(session.forgotten_at))
    return set(transaction.connection.execute(select(turns.c.id).where(earlier)).scalars())
