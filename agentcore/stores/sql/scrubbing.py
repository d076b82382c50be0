"""Scrubbing: no copy of a forgotten text stays in the bookkeeping.

Rows that are about a forgotten record lose their images, prompts and answers, whatever they say. Beyond those, a text
may have been quoted word for word, in a reason or a report; there it is replaced.
"""

import re
from collections.abc import Collection, Iterable, Mapping

import orjson
from sqlalchemy import Column, ColumnElement, Table, delete, func, or_, select, update

from agentcore.domain.text import without_hidden
from agentcore.stores.sql.conditions import contains
from agentcore.stores.sql.document_scrubbing import cited, document_rows, forget_promotions, scrub_documents
from agentcore.stores.sql.refused_texts import forget_refused_texts
from agentcore.stores.sql.schema import (
    decisions,
    deferred,
    entries,
    journal,
    model_calls,
    plans,
    proposals,
    reopened,
    runs,
    settled_clusters,
    steps,
)
from agentcore.stores.sql.transaction import Transaction, chunks

REMOVED_TEXT = "[forgotten]"
"""What stands where a forgotten text was quoted."""

REASON = "A person asked to forget this."
"""The reason that stays in the journal beside a scrubbed image."""

_MENTIONS = 50
"""Texts searched for in one statement; databases bound the depth of an expression."""

_SHORTEST = 8
_NO_NAME = re.compile(r"[^a-z_-]")
_QUOTING = (journal.c.reason, runs.c.report, steps.c.report, entries.c.status_reason)
_ANSWERS = (model_calls.c.request, model_calls.c.answer)
_PLANS = (plans.c.changes, plans.c.report)
_DEFERRED = (deferred.c.changes,)
_PROPOSALS = (proposals.c.changes, proposals.c.marks)
_IMAGES = (journal.c.before, journal.c.after)


def scrub(transaction: Transaction, gone: Mapping[str, str], turn_ids: Collection[str] = ()) -> None:
    """Clear the bookkeeping of one scope of forgotten entries, before they are deleted.

    Args:
        transaction: The forget's own.
        gone: Texts by entry id.
        turn_ids: Turns that are withheld: what waits to be learnt from them is not learnt.
    """
    _scrub_rows(transaction, _journal_rows(transaction, gone) | _lost_rows(transaction, turn_ids))
    for chunk in chunks(sorted(turn_ids), _MENTIONS):
        _forget_answers(transaction, _mentions((model_calls.c.record_ids,), [_json(turn_id) for turn_id in chunk]))
        named = [_reference(turn_id, "turn") for turn_id in chunk]
        _delete(transaction, plans, _mentions(_PLANS, named))
        _delete(transaction, deferred, _mentions(_DEFERRED, named))
        _forget_proposals(transaction, _mentions(_PROPOSALS, named))
    for chunk in chunks(sorted(gone), _MENTIONS):
        ids = [_json(entry_id) for entry_id in chunk]
        _forget_answers(transaction, _mentions((model_calls.c.record_ids,), ids))
        named = [*ids, *map(_reference, chunk), *map(cited, chunk)]
        _delete(transaction, plans, _mentions(_PLANS, named))
        _delete(transaction, deferred, _mentions(_DEFERRED, named))
        _forget_proposals(transaction, _mentions(_PROPOSALS, named))
        _delete(transaction, settled_clusters, _mentions((settled_clusters.c.record_ids,), ids))
        _delete(transaction, reopened, reopened.c.record_id.in_(chunk))
    forget_refused_texts(transaction, gone, turn_ids)
    # A document holds a text without the characters that nobody sees.
    forms = {form for text in gone.values() for form in (text, without_hidden(text))}
    telling = sorted(filter(_is_telling, forms))
    scrub_documents(transaction, gone, telling)
    forget_promotions(transaction, gone)
    told = [*(_json(text)[1:-1] for text in telling), *map(cited, gone)]
    _scrub_rows(transaction, document_rows(transaction, told))
    for text in telling:
        written = {text, _json(text)[1:-1]}
        _forget_answers(transaction, _mentions(_ANSWERS, written))
        _delete(transaction, plans, _mentions(_PLANS, written))
        _delete(transaction, deferred, _mentions(_DEFERRED, written))
        _forget_proposals(transaction, _mentions(_PROPOSALS, written))
        for column in _QUOTING:
            for form in written:
                _replace(transaction, column, form)


def _journal_rows(transaction: Transaction, gone: Mapping[str, str]) -> set[int]:
    """Return journal rows about these entries or with their texts, and about what was derived from them and is no more.

    What was derived and is still there is among *gone*; what was undone or purged since lives on in its images alone.
    """
    mine = select(journal.c.pk, journal.c.record_id).where(journal.c.scope_id == transaction.scope_id)
    found: set[int] = set()
    for chunk in chunks(sorted(gone)):
        found.update(transaction.connection.execute(mine.where(journal.c.record_id.in_(chunk))).scalars())
    chased = set(gone)
    needles = {*map(_reference, gone), *(f'"content":{_json(text)}' for text in gone.values())}
    while needles:
        derived: set[str] = set()
        for chunk in chunks(sorted(needles), _MENTIONS):
            for row in transaction.connection.execute(mine.where(_mentions(_IMAGES, chunk))):
                found.add(row.pk)
                derived.add(row.record_id)
        lost = derived - chased - _existing(transaction, derived)
        chased |= lost
        needles = set(map(_reference, lost))
    return found


def _lost_rows(transaction: Transaction, turn_ids: Collection[str]) -> set[int]:
    """Return journal rows about entries that cited these turns and are no more: no redo brings them back."""
    mine = select(journal.c.pk, journal.c.record_id).where(journal.c.scope_id == transaction.scope_id)
    found: dict[int, str] = {}
    for chunk in chunks(sorted(turn_ids), _MENTIONS):
        citing = _mentions(_IMAGES, [_reference(turn_id, "turn") for turn_id in chunk])
        found |= {row.pk: row.record_id for row in transaction.connection.execute(mine.where(citing))}
    existing = _existing(transaction, set(found.values()))
    return {pk for pk, record_id in found.items() if record_id not in existing}


def _existing(transaction: Transaction, ids: Collection[str]) -> set[str]:
    found: set[str] = set()
    for chunk in chunks(sorted(ids)):
        statement = select(entries.c.id).where(entries.c.scope_id == transaction.scope_id, entries.c.id.in_(chunk))
        found.update(transaction.connection.execute(statement).scalars())
    return found


def _scrub_rows(transaction: Transaction, keys: Collection[int]) -> None:
    for chunk in chunks(sorted(keys)):
        rows = journal.c.pk.in_(chunk)
        # A fingerprint is an unsalted hash of the text: whoever guesses the text could prove the guess.
        fingerprints = select(journal.c.fingerprint).where(rows, journal.c.fingerprint.is_not(None))
        _delete(transaction, decisions, decisions.c.fingerprint.in_(fingerprints))
        scrubbed = {"before": None, "after": None, "fingerprint": None, "reason": REASON, "scrubbed": True}
        transaction.connection.execute(update(journal).where(rows).values(scrubbed))


def _forget_answers(transaction: Transaction, condition: ColumnElement[bool]) -> None:
    mine = model_calls.c.scope_id == transaction.scope_id
    transaction.connection.execute(update(model_calls).where(mine, condition).values(request=None, answer=None))


def _forget_proposals(transaction: Transaction, condition: ColumnElement[bool]) -> None:
    mine = select(proposals.c.marks).where(proposals.c.scope_id == transaction.scope_id, condition)
    # The marks of a rejected one are unsalted hashes of texts, as in the journal.
    marks = {
        mark for row in transaction.connection.execute(mine).scalars() for _, mark, *_ in orjson.loads(row) if mark
    }
    for chunk in chunks(sorted(marks)):
        _delete(transaction, decisions, decisions.c.fingerprint.in_(chunk))
    _delete(transaction, proposals, condition)


def _delete(transaction: Transaction, table: Table, condition: ColumnElement[bool]) -> None:
    transaction.connection.execute(delete(table).where(table.c.scope_id == transaction.scope_id, condition))


def _replace(transaction: Transaction, column: Column[str], form: str) -> None:
    statement = update(column.table).where(column.table.c.scope_id == transaction.scope_id, contains(column, form))
    transaction.connection.execute(statement.values({column.name: func.replace(column, form, REMOVED_TEXT)}))


def _mentions(columns: Iterable[ColumnElement[str]], texts: Collection[str]) -> ColumnElement[bool]:
    return or_(*(contains(column, text) for column in columns for text in texts))


def _is_telling(text: str) -> bool:
    """Tell whether the text can be searched for: short ones and bare names would hit keys and pass names too."""
    return len(text) >= _SHORTEST and _NO_NAME.search(text) is not None


def _json(text: str) -> str:
    return orjson.dumps(text).decode()


def _reference(record_id: str, kind: str = "entry") -> str:
    return f'"{kind}:{record_id}"'
