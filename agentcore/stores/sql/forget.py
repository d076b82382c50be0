"""Forgets what a person asks to forget: the text leaves every table, and a salted hash keeps it from coming back.

What was derived from the text alone goes with it. A merge that also holds other sources goes too, and the sources it
took the place of are brought back first. Turns that say it are withheld, and the sentences that say it are redacted.
"""

import secrets
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from sqlalchemy import delete, func, insert, select, update

from agentcore.domain.evidence import SourceKind
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.signals import FeedbackKind
from agentcore.domain.temporal import to_micros
from agentcore.domain.text import fold_key, normalise
from agentcore.domain.validity import revived
from agentcore.errors import UnknownRecordError
from agentcore.stores.sql.entries import SqlEntryStore
from agentcore.stores.sql.schema import entries, feedback, forgotten, turns
from agentcore.stores.sql.scrub import REMOVED_TEXT, scrub
from agentcore.stores.sql.settings import SALT_SETTING, SqlSettingsStore, fingerprint
from agentcore.stores.sql.transaction import Transaction, chunks
from agentcore.stores.sql.withheld import SqlWithheldStore
from agentcore.stores.values import Forgotten, Withheld

_ENDS: Final = (".", "!", "?", "…", "。", "\uff01", "\uff1f", "।")
_MOST_COMPOSED: Final = 3
"""Characters into which case folding takes one apart at most."""


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
    spared, unsaid = _revive(transaction, store, doomed)
    withheld = _withhold_forgotten(transaction, entry, doomed, unsaid.values())
    _redact(transaction, withheld, doomed.values())
    return _remove(transaction, doomed, spared, withheld)


def forget_turns(transaction: Transaction, *, turn_id: str | None = None, session_id: str | None = None) -> Forgotten:
    """Redact a turn or those of a session, and remove every entry that was learnt from them, however far down.

    Raises:
        UnknownRecordError: there is no such turn, or no turn of such a session.
    """
    named = turns.c.session_id == session_id if turn_id is None else turns.c.id == turn_id
    mine = select(turns.c.id).where(turns.c.scope_id == transaction.scope_id, named)
    said = tuple(sorted(transaction.connection.execute(mine).scalars()))
    if not said:
        kind, value = ("session", session_id) if turn_id is None else ("turn", turn_id)
        raise UnknownRecordError(kind=kind, value=value or "")
    store = SqlEntryStore(transaction)
    corrections = _corrections(transaction, said)
    learnt = [
        *store.derived_from(SourceKind.TURN.value, *said),
        *store.derived_from(SourceKind.FEEDBACK.value, *corrections),
    ]
    doomed = _with_derived(store, learnt)
    spared, _ = _revive(transaction, store, doomed)
    SqlWithheldStore(transaction).add([Withheld(SourceKind.TURN, one, one) for one in said])
    _redact(transaction, said)
    return _remove(transaction, doomed, spared, said)


def _revive(
    transaction: Transaction, store: SqlEntryStore, doomed: Mapping[str, MemoryEntry]
) -> tuple[list[MemoryEntry], dict[str, str]]:
    """Bring the sources of doomed merges back and remember what nobody says any longer; return both."""
    spared = _spared(store, doomed)
    store.replace([(source, revived(source)) for source in spared])
    unsaid = _unsaid(transaction, doomed)
    _remember_hashes(transaction, unsaid)
    return spared, unsaid


def _remove(
    transaction: Transaction, doomed: Mapping[str, MemoryEntry], spared: Iterable[MemoryEntry], said: tuple[str, ...]
) -> Forgotten:
    """Scrub every copy of the doomed entries and of what the turns *said*, and delete the entries."""
    scrub(transaction, {gone.id: gone.content for gone in doomed.values()}, said)
    SqlEntryStore(transaction).delete(doomed)
    transaction.forgot = True
    return Forgotten(removed=tuple(sorted(doomed)), restored=tuple(source.id for source in spared), withheld=said)


def _redact(transaction: Transaction, turn_ids: Collection[str], doomed: Iterable[MemoryEntry] = ()) -> None:
    """Redact turns in place: the sentences that doomed entries rest on; the whole text where there are none.

    What the host noted as a correction in such a turn quotes it, and goes.
    """
    gone = list(doomed)
    texts = [normalise(one.content) for one in gone]
    _delete_feedback(transaction, _corrections(transaction, turn_ids))
    for chunk in chunks(sorted(turn_ids)):
        mine = turns.c.id.in_(chunk) & (turns.c.scope_id == transaction.scope_id)
        for row in transaction.connection.execute(select(turns.c.pk, turns.c.id, turns.c.content).where(mine)).all():
            sentences = {one.sentence for entry in gone for one in entry.evidence if one.source.id == row.id}
            left = _without_sentences(str(row.content), sentences, texts)
            changed = {"content": left, "version": turns.c.version + 1, "revision": transaction.change()}
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


def _corrections(transaction: Transaction, turn_ids: Collection[str]) -> list[str]:
    """Return the feedback that the host noted from these turns: it quotes them, at their instant, in their session."""
    found: list[str] = []
    for chunk in chunks(sorted(turn_ids)):
        of_turn = (turns.c.scope_id == feedback.c.scope_id) & (turns.c.session_id == feedback.c.session_id)
        noted = select(feedback.c.id).join(turns, of_turn & (turns.c.occurred_at == feedback.c.occurred_at))
        mine = (feedback.c.scope_id == transaction.scope_id) & turns.c.id.in_(chunk)
        is_correction = feedback.c.kind == FeedbackKind.CORRECTION.value
        found += transaction.connection.execute(noted.where(mine, is_correction).distinct()).scalars()
    return found


def _delete_feedback(transaction: Transaction, ids: Collection[str]) -> None:
    for chunk in chunks(sorted(ids)):
        mine = (feedback.c.scope_id == transaction.scope_id) & feedback.c.id.in_(chunk)
        transaction.connection.execute(delete(feedback).where(mine))


def withhold(transaction: Transaction, entry_id: str) -> tuple[str, ...]:
    """Withhold what an entry that is set aside cites, with what it took the place of, and turns of equal text.

    Raises:
        UnknownRecordError: there is no such entry.
    """
    store = SqlEntryStore(transaction)
    entry = store.get(entry_id)
    if entry is None:
        raise UnknownRecordError(kind="entry", value=entry_id)
    told, ahead = {entry.id: entry}, [entry]
    while ahead:
        named = [ref.id for one in ahead for ref in one.sources if ref.kind is SourceKind.ENTRY]
        ahead = [one for one in store.get_many(named) if one.id not in told and one.successor in told]
        told.update((one.id, one) for one in ahead)
    SqlWithheldStore(transaction).add([Withheld(SourceKind.ENTRY, entry.id, entry.id)])
    return _withhold(transaction, entry, _cited(told.values()), [entry.content])


def _doomed(transaction: Transaction, store: SqlEntryStore, entry: MemoryEntry) -> dict[str, MemoryEntry]:
    """Return the entries of equal text and everything derived from them, however far down."""
    same = select(entries.c.id).where(
        entries.c.scope_id == transaction.scope_id,
        entries.c.fold_key == fold_key(entry.content),
    )
    return _with_derived(store, store.get_many(transaction.connection.execute(same).scalars().all()))


def _with_derived(store: SqlEntryStore, asked: Iterable[MemoryEntry]) -> dict[str, MemoryEntry]:
    """Return entries and everything derived from them, however far down."""
    doomed = {one.id: one for one in asked}
    queue = list(doomed.values())
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


def _unsaid(transaction: Transaction, doomed: Mapping[str, MemoryEntry]) -> dict[str, str]:
    """Return the texts that no entry says any longer, by fold key."""
    texts = {fold_key(gone.content): gone.content for gone in doomed.values()}
    said = _still_said(transaction, doomed)
    return {key: text for key, text in texts.items() if key not in said}


def _withhold_forgotten(
    transaction: Transaction, entry: MemoryEntry, doomed: Mapping[str, MemoryEntry], texts: Iterable[str]
) -> tuple[str, ...]:
    """Withhold the turns that forgotten entries cite, and those of equal text; return their ids, sorted.

    A turn that only a derived entry cites stays if another entry rests on it too: that one says something else.

    Args:
        transaction: The forget's own, before the entries are deleted.
        entry: What a person asked to forget.
        doomed: All that goes with it.
        texts: What none of them may say any longer.
    """
    key = fold_key(entry.content)
    asked = _cited(one for one in doomed.values() if fold_key(one.content) == key)
    derived = _cited(doomed.values()) - asked
    beside = SqlEntryStore(transaction).derived_from(SourceKind.TURN.value, *sorted(derived)) if derived else []
    derived -= _cited(one for one in beside if one.id not in doomed)
    return _withhold(transaction, entry, asked | derived, texts)


def _withhold(
    transaction: Transaction, entry: MemoryEntry, cited: Collection[str], texts: Iterable[str]
) -> tuple[str, ...]:
    named = sorted({*cited, *_saying(transaction, {normalise(text) for text in texts})})
    SqlWithheldStore(transaction).add([Withheld(SourceKind.TURN, turn_id, entry.id) for turn_id in named])
    return tuple(named)


def _cited(entries: Iterable[MemoryEntry]) -> set[str]:
    return {ref.id for entry in entries for ref in entry.sources if ref.kind is SourceKind.TURN}


def _saying(transaction: Transaction, wanted: Collection[str]) -> set[str]:
    """Return the ids of turns whose normalised text is one of *wanted*."""
    if not wanted:
        return set()
    shortest = min(map(len, wanted)) // _MOST_COMPOSED
    said = select(turns.c.id, turns.c.content).where(
        turns.c.scope_id == transaction.scope_id, func.length(turns.c.content) >= shortest
    )
    rows = transaction.connection.execute(said)
    return {str(turn_id) for turn_id, content in rows if normalise(str(content)) in wanted}


def _remember_hashes(transaction: Transaction, unsaid: Collection[str]) -> None:
    settings = SqlSettingsStore(transaction)
    salt = settings.get(SALT_SETTING)
    if salt is None:
        salt = secrets.token_hex(32)
        settings.put(SALT_SETTING, salt)
    fingerprints = [fingerprint(salt, key) for key in sorted(unsaid)]
    for chunk in chunks(fingerprints):
        mine = (forgotten.c.scope_id == transaction.scope_id) & forgotten.c.fingerprint.in_(chunk)
        transaction.connection.execute(delete(forgotten).where(mine))
    rows = [
        {
            "scope_id": transaction.scope_id,
            "fingerprint": one,
            "forgotten_at": to_micros(transaction.now),
        }
        for one in fingerprints
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
