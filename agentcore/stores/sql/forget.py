"""Forgets what a person asks to forget: the text leaves every table, and tombstones keep it from coming back.

What was derived from the text alone goes with it. A merge that also holds other sources goes too, and the sources it
took the place of are brought back first. Turns that say it are withheld, and the sentences that say it are redacted.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import orjson
from sqlalchemy import delete, insert, select

from agentcore.domain.evidence import SourceKind
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.record_fields import evidence_of
from agentcore.domain.temporal import to_micros
from agentcore.domain.text import fold_key, normalise
from agentcore.domain.validity import revived
from agentcore.errors import UnknownRecordError
from agentcore.stores.forgetting import Forgotten, SaysIt, Tombstone, TombstoneKind, TurnsChoice
from agentcore.stores.sql.card import SqlCardStore
from agentcore.stores.sql.entries import SqlEntryStore
from agentcore.stores.sql.erase import SqlErasureStore
from agentcore.stores.sql.evidence_words import evidence_saying
from agentcore.stores.sql.forget_skills import SENTENCE, forget_in_skills
from agentcore.stores.sql.hypotheses import SqlClaimStore, SqlHypothesisStore, doomed_with
from agentcore.stores.sql.import_ledger import SqlImportLedger
from agentcore.stores.sql.questions import SqlQuestionStore
from agentcore.stores.sql.redact import corrections_of, delete_feedback, delete_session_signals, redact
from agentcore.stores.sql.schema import entries, forgotten, turns
from agentcore.stores.sql.scrub import scrub
from agentcore.stores.sql.stored_texts import TextFilter, says
from agentcore.stores.sql.tombstones import SqlTombstoneStore, is_hashed
from agentcore.stores.sql.transaction import Transaction, chunks
from agentcore.stores.sql.turns import SqlTurnReader
from agentcore.stores.sql.withheld import SqlWithheldStore
from agentcore.stores.values import Withheld


def forget(
    transaction: Transaction,
    entry_id: str,
    *,
    choice: TurnsChoice = TurnsChoice.CITED,
    says_it: SaysIt | None = None,
) -> Forgotten:
    """Remove an entry, its equal texts and what was derived from it alone; scrub every copy of the text.

    Args:
        transaction: In which everything happens.
        entry_id: What a person asked to forget.
        choice: What of the conversation goes with it.
        says_it: What else says it, where the choice is all of it.

    Raises:
        UnknownRecordError: there is no such entry.
    """
    store = SqlEntryStore(transaction)
    entry = store.get(entry_id)
    if entry is None:
        raise UnknownRecordError(kind="entry", value=entry_id)
    also = says_it if says_it is not None and choice is TurnsChoice.ALL else SaysIt()
    corrections = [*store.derived_from(SourceKind.FEEDBACK.value, *also.feedback)]
    doomed = _doomed(transaction, store, entry) | _with_derived(store, [*store.get_many(also.entries), *corrections])
    spared, unsaid = _revive(transaction, store, doomed)
    named = _said_of(transaction, entry, doomed, () if choice is TurnsChoice.NONE else unsaid.values())
    withheld = _withhold(transaction, entry.id, {*named, *also.turns})
    _bury(transaction, TombstoneKind.TURN, withheld, whole=False)
    _forget_feedback(transaction, also.feedback)
    if choice is not TurnsChoice.NONE:
        redact(transaction, withheld, doomed.values(), also.turns)
    redacted = () if choice is TurnsChoice.NONE else withheld
    return _remove(transaction, doomed, spared, withheld, redacted, chosen=also.skills)


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
    noted: Collection[str] = ()
    if session_id is not None:
        _bury(transaction, TombstoneKind.SESSION, (session_id,))
        noted = delete_session_signals(transaction, session_id)
    return forget_said(transaction, said, noted)


def forget_said(transaction: Transaction, said: tuple[str, ...], noted: Collection[str] = ()) -> Forgotten:
    """Redact these turns whole, and remove what was learnt from them and from the feedback *noted*."""
    store = SqlEntryStore(transaction)
    corrections = {*corrections_of(transaction, said), *noted}
    learnt = [
        *store.derived_from(SourceKind.TURN.value, *said),
        *store.derived_from(SourceKind.FEEDBACK.value, *corrections),
    ]
    doomed = _with_derived(store, learnt)
    spared, _ = _revive(transaction, store, doomed)
    SqlWithheldStore(transaction).add([Withheld(SourceKind.TURN, one, one) for one in said])
    _bury(transaction, TombstoneKind.TURN, said)
    _forget_feedback(transaction, corrections)
    sentences = _sentences(transaction, said)
    redact(transaction, said)
    return _remove(transaction, doomed, spared, said, said, sentences=sentences)


def forget_entries(transaction: Transaction, asked: Iterable[MemoryEntry], said: Collection[str]) -> Forgotten:
    """Remove these entries with all that was derived from them, and redact what they rest on in the turns *said*."""
    doomed = _with_derived(SqlEntryStore(transaction), asked)
    spared, _ = _revive(transaction, SqlEntryStore(transaction), doomed)
    for one in said:
        cites = [gone.id for gone in doomed.values() if one in _cited([gone])]
        _withhold(transaction, cites[0] if cites else one, [one])
    withheld = tuple(sorted(said))
    redact(transaction, withheld, doomed.values())
    return _remove(transaction, doomed, spared, withheld, withheld)


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
    transaction: Transaction,
    doomed: Mapping[str, MemoryEntry],
    spared: Iterable[MemoryEntry],
    said: tuple[str, ...],
    redacted: tuple[str, ...],
    *,
    chosen: Mapping[str, Sequence[str]] | None = None,
    sentences: Collection[str] = (),
) -> Forgotten:
    """Scrub every copy of the doomed entries and of what the turns *said*, and delete the entries."""
    card = SqlCardStore(transaction)
    lines = {*card.resting_on(doomed), *card.saying([gone.content for gone in doomed.values()])}
    told = {text for one in doomed.values() for text in (one.content, *(piece.sentence for piece in one.evidence))}
    skills = forget_in_skills(transaction, {*told, *sentences}, chosen or {})
    claims, guesses = doomed_with(transaction, doomed, said)
    gone = {one.id: one.content for one in (*doomed.values(), *lines)}
    gone |= {one.id: one.quote for one in claims} | {one.id: one.hypothesis for one in guesses}
    scrub(transaction, gone, said)
    card.delete([line.id for line in lines])
    SqlHypothesisStore(transaction).delete([one.id for one in guesses])
    SqlHypothesisStore(transaction).release(doomed)
    SqlClaimStore(transaction).delete([one.id for one in claims])
    SqlQuestionStore(transaction).release([*doomed, *(one.id for one in claims)])
    SqlEntryStore(transaction).delete(doomed)
    _bury(transaction, TombstoneKind.ENTRY, doomed)
    items = SqlImportLedger(transaction).take([*doomed, *redacted])
    SqlTombstoneStore(transaction).add_items(items, transaction.now)
    SqlErasureStore(transaction).note_forget()
    transaction.forgot = True
    restored = tuple(source.id for source in spared)
    return Forgotten(removed=tuple(sorted(doomed)), restored=restored, withheld=said, redacted=redacted, skills=skills)


def _bury(transaction: Transaction, kind: TombstoneKind, ids: Iterable[str], *, whole: bool = True) -> None:
    """Set a tombstone for each of these."""
    made = [Tombstone(kind, one, transaction.now, whole=whole) for one in ids]
    SqlTombstoneStore(transaction).add(made)


def _forget_feedback(transaction: Transaction, ids: Collection[str]) -> None:
    """Delete feedback for good."""
    delete_feedback(transaction, ids)
    _bury(transaction, TombstoneKind.FEEDBACK, ids)


def withhold(transaction: Transaction, entry_id: str, also: Collection[str] = ()) -> tuple[str, ...]:
    """Withhold what an entry that is set aside cites, with what it took the place of, turns of equal text, and others.

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
    same = _saying(transaction, {normalise(entry.content)})
    return _withhold(transaction, entry.id, _cited(told.values()) | same | {*also})


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


def _said_of(
    transaction: Transaction, entry: MemoryEntry, doomed: Mapping[str, MemoryEntry], texts: Iterable[str]
) -> set[str]:
    """Return the turns that forgotten entries cite, and those of equal text.

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
    return asked | derived | _saying(transaction, {normalise(text) for text in texts})


def _withhold(transaction: Transaction, for_entry: str, named: Collection[str]) -> tuple[str, ...]:
    SqlWithheldStore(transaction).add([Withheld(SourceKind.TURN, turn_id, for_entry) for turn_id in named])
    return tuple(sorted(named))


def _cited(entries: Iterable[MemoryEntry]) -> set[str]:
    return {ref.id for entry in entries for ref in entry.sources if ref.kind is SourceKind.TURN}


def _saying(transaction: Transaction, wanted: Collection[str]) -> set[str]:
    """Return the ids of turns whose normalised text is one of *wanted*, or of which entries keep a sentence that is."""
    found: set[str] = set()
    for chunk in chunks(sorted({fold_key(text) for text in wanted})):
        said = turns.c.fold_key.in_(chunk) & (turns.c.scope_id == transaction.scope_id)
        found.update(transaction.connection.execute(select(turns.c.id).where(said)).scalars())
    for evidence in filter(TextFilter.of(wanted).lets_pass, evidence_saying(transaction, wanted).values()):
        pieces = [one for one in map(evidence_of, orjson.loads(evidence)) if one.source.kind is SourceKind.TURN]
        found.update(one.source.id for one in pieces if says(one.sentence, wanted))
    return found


def _remember_hashes(transaction: Transaction, unsaid: Mapping[str, str]) -> None:
    """Remember longer texts by a keyed hash; a short one could be guessed, and is told by its origin alone."""
    fingerprints = sorted(SqlTombstoneStore(transaction).mark(key) for key, text in unsaid.items() if is_hashed(text))
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


_AROUND: Final = " \t.!?…。\uff01\uff1f।"


def _sentences(transaction: Transaction, said: Collection[str]) -> set[str]:
    """Return what these turns say, sentence by sentence: a skill that was made of one has its words."""
    told = SqlTurnReader(transaction).get_many(said)
    return {one.strip(_AROUND) for turn in told for one in SENTENCE.findall(turn.content)}


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
