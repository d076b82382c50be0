"""Takes what a person has forgotten out of turns, and the signals that quote it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from sqlalchemy import Table, delete, select, update

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.signals import FeedbackKind
from agentcore.domain.text import normalise
from agentcore.stores.sql.access import forget_receipts
from agentcore.stores.sql.import_ledger import SqlImportLedger
from agentcore.stores.sql.schema import feedback, tool_calls, turns, wisp_runs
from agentcore.stores.sql.scrub import REMOVED_TEXT
from agentcore.stores.sql.stored_texts import said_key
from agentcore.stores.sql.tombstones import SqlTombstoneStore
from agentcore.stores.sql.transaction import Transaction, chunks

_ENDS: Final = (".", "!", "?", "…", "。", "\uff01", "\uff1f", "।")


def redact(
    transaction: Transaction,
    turn_ids: Collection[str],
    doomed: Iterable[MemoryEntry] = (),
    chosen: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Redact turns in place: the sentences that doomed entries rest on; the whole text where there are none.

    What the host noted as a correction in such a turn quotes it, and goes.

    Args:
        transaction: The forget's own.
        turn_ids: The turns.
        doomed: Entries that are forgotten with them.
        chosen: Sentences that were found in turns and chosen.
    """
    gone, found = list(doomed), chosen or {}
    texts = [normalise(one.content) for one in gone]
    delete_feedback(transaction, corrections_of(transaction, turn_ids))
    for chunk in chunks(sorted(turn_ids)):
        mine = turns.c.id.in_(chunk) & (turns.c.scope_id == transaction.scope_id)
        for row in transaction.connection.execute(select(turns.c.pk, turns.c.id, turns.c.content).where(mine)).all():
            sentences = {one.sentence for entry in gone for one in entry.evidence if one.source.id == row.id}
            left = _without_sentences(str(row.content), sentences.union(found.get(row.id, ())), texts)
            text = {"content": left, "fold_key": said_key(left)}
            changed = {**text, "version": turns.c.version + 1, "revision": transaction.change()}
            transaction.connection.execute(update(turns).where(turns.c.pk == row.pk).values(changed))


def _without_sentences(content: str, sentences: Collection[str], texts: Collection[str]) -> str:
    """Return *content* with `[forgotten]` for each sentence; nothing else where one is cut off or not found whole."""
    left = content
    for sentence in sorted(sentences, key=len, reverse=True):
        _, found, rest = content.partition(sentence)
        if not found or not (sentence.endswith(_ENDS) or not rest or rest.startswith(("\n", "\r"))):
            return REMOVED_TEXT
        left = left.replace(sentence, REMOVED_TEXT)
    said = normalise(left)
    return REMOVED_TEXT if left == content or any(text in said for text in texts) else left


def corrections_of(transaction: Transaction, turn_ids: Collection[str]) -> list[str]:
    """Return the feedback that the host noted from these turns: it quotes them, at their instant, in their session."""
    found: list[str] = []
    for chunk in chunks(sorted(turn_ids)):
        of_turn = (turns.c.scope_id == feedback.c.scope_id) & (turns.c.session_id == feedback.c.session_id)
        noted = select(feedback.c.id).join(turns, of_turn & (turns.c.occurred_at == feedback.c.occurred_at))
        mine = (feedback.c.scope_id == transaction.scope_id) & turns.c.id.in_(chunk)
        is_correction = feedback.c.kind == FeedbackKind.CORRECTION.value
        found += transaction.connection.execute(noted.where(mine, is_correction).distinct()).scalars()
    return found


def delete_feedback(transaction: Transaction, ids: Collection[str]) -> None:
    """Remove feedback for good."""
    _delete_signals(transaction, feedback, ids)


def delete_session_signals(transaction: Transaction, session_id: str) -> list[str]:
    """Remove what was noted of a conversation beside its turns; return the ids of the feedback, which may be a source.

    Uses of skills stay: they hold no text.
    """
    noted: dict[str, list[str]] = {}
    for table in (feedback, tool_calls, wisp_runs):
        mine = (table.c.scope_id == transaction.scope_id) & (table.c.session_id == session_id)
        noted[table.name] = list(transaction.connection.execute(select(table.c.id).where(mine)).scalars())
        _delete_signals(transaction, table, noted[table.name])
    return noted[feedback.name]


def _delete_signals(transaction: Transaction, table: Table, ids: Collection[str]) -> None:
    """Remove signals, and the hashes of the requests and of the items of files that they came by."""
    for chunk in chunks(sorted(ids)):
        mine = (table.c.scope_id == transaction.scope_id) & table.c.id.in_(chunk)
        transaction.connection.execute(delete(table).where(mine))
    forget_receipts(transaction, ids)
    SqlTombstoneStore(transaction).add_items(SqlImportLedger(transaction).take(ids), transaction.now)
