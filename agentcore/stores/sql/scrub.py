"""Clears every copy of a forgotten text: in books and documents, and in the evidence of entries that stay."""

import re
from collections.abc import Collection, Iterable, Mapping, Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

import orjson
from sqlalchemy import Column, ColumnElement, Table, delete, func, insert, or_, select, update

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.record_fields import evidence_of
from agentcore.domain.records import RecordKind
from agentcore.domain.temporal import to_micros
from agentcore.domain.text import fold_key, without_hidden
from agentcore.stores.forgetting import TombstoneKind
from agentcore.stores.sql.access import forget_receipts
from agentcore.stores.sql.entries import SqlEntryStore
from agentcore.stores.sql.evidence_words import evidence_saying
from agentcore.stores.sql.schema import (
    card_lines,
    decisions,
    documents,
    entries,
    hypotheses,
    journal,
    model_calls,
    outbox,
    plans,
    promotions,
    proposals,
    questions,
    reopened,
    runs,
    settled_clusters,
    steps,
    waiting_exchanges,
)
from agentcore.stores.sql.stored_prompts import StoredPrompts
from agentcore.stores.sql.stored_texts import ForgottenSentences, is_telling
from agentcore.stores.sql.tombstones import SqlForgottenReader, SqlTombstoneReader
from agentcore.stores.sql.transaction import Transaction, chunks, contains, encode, is_retired
from agentcore.stores.sql.withheld import forget_refused_texts

FORGET: Final = "forget"
"""Who the outbox says took the lines out."""

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_MARK: Final = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_FIGURES: Final = re.compile(r"[ \t]*(?:_\([^()]*\)_|— (?:score|confidence) [\d.]+, hits \d+)[ \t]*$")
_SOURCE: Final = re.compile(r"(?<= )entry:(\S+) ")


def scrub_documents(transaction: Transaction, gone: Mapping[str, str], telling: Collection[str]) -> None:
    """Take forgotten texts out of stored documents and of what waits to be written; their files follow.

    Args:
        transaction: The forget's own.
        gone: What is forgotten, by entry id; an item that says just that goes, and a line that names the entry as one
            that it was made from.
        telling: Texts long enough to be searched for; a line that holds one goes.
    """
    keys = {fold_key(form) for text in gone.values() for form in (text, without_hidden(text))}
    mine = documents.c.scope_id == transaction.scope_id
    for row in transaction.connection.execute(select(documents).where(mine)).all():
        kept = _without(row.content, gone.keys(), keys, telling)
        if kept == row.content:
            continue
        # Items are known by hashes of what they say: whoever guesses the text could prove the guess.
        own = encode([key for key in orjson.loads(row.own) if key in _line_keys(kept)])
        changed = {"content": kept, "own": own, "version": row.version + 1, "updated_at": to_micros(transaction.now)}
        transaction.connection.execute(update(documents).where(documents.c.pk == row.pk).values(**changed))
        transaction.change()
        waiting = select(outbox).where(outbox.c.scope_id == transaction.scope_id, outbox.c.document == row.id)
        for other in transaction.connection.execute(waiting).all():
            after = None if other.after is None else _without(other.after, gone.keys(), keys, telling)
            transaction.connection.execute(update(outbox).where(outbox.c.pk == other.pk).values(after=after))
        _post(transaction, row.id, before=row.content, after=kept)


def document_rows(transaction: Transaction, telling: Collection[str]) -> set[int]:
    """Return the journal's rows about documents and questions whose images hold a text of these, as JSON has it."""
    found: set[int] = set()
    mine = select(journal.c.pk).where(journal.c.scope_id == transaction.scope_id, journal.c.record_kind.in_(_QUOTED))
    for text in telling:
        statement = mine.where(or_(contains(journal.c.before, text), contains(journal.c.after, text)))
        found.update(transaction.connection.execute(statement).scalars())
    return found


def _line_rows(transaction: Transaction, gone: Mapping[str, str], telling: Collection[str]) -> set[int]:
    """Return the journal's rows about documents with a line in their images that a document loses."""
    keys = {fold_key(form) for text in gone.values() for form in (text, without_hidden(text))}
    about = select(journal.c.pk, journal.c.before, journal.c.after).where(
        journal.c.scope_id == transaction.scope_id,
        journal.c.record_kind == RecordKind.DOCUMENT.value,
        journal.c.scrubbed.is_(False),
    )

    def tells(image: str | None) -> bool:
        content = "" if image is None else str(orjson.loads(image)["content"])
        return _without(content, gone.keys(), keys, telling) != content

    return {row.pk for row in transaction.connection.execute(about) if tells(row.before) or tells(row.after)}


def forget_promotions(transaction: Transaction, entry_ids: Collection[str]) -> None:
    """Forget that these entries were promoted."""
    for chunk in chunks(sorted(entry_ids)):
        mine = promotions.c.scope_id == transaction.scope_id
        transaction.connection.execute(promotions.delete().where(mine, promotions.c.entry_id.in_(chunk)))


def _post(transaction: Transaction, name: str, *, before: str, after: str) -> None:
    transaction.connection.execute(
        insert(outbox).values(
            scope_id=transaction.scope_id,
            run_id="",
            pass_name=FORGET,
            document=name,
            before=before,
            after=after,
            recorded_at=to_micros(transaction.now),
        )
    )


def cited(entry_id: str) -> str:
    """Return how a line of a document names an entry among those that it was made from.

    Example:
        >>> cited("4f00c2") in "- Bees and honey <!-- from entry:77c0de entry:4f00c2 -->"
        True
    """
    return f"entry:{entry_id} "


def _without(content: str, gone: AbstractSet[str], keys: Collection[str], telling: Collection[str]) -> str:
    return "".join(line for line in _LINE.findall(content) if not _says(line, gone, keys, telling))


def _line_keys(content: str) -> set[str]:
    """Return the fold keys of what the lines of a document say."""
    return {fold_key(_said_in(line)) for line in _LINE.findall(content)}


def without_forgotten_lines(transaction: Transaction, content: str, texts: Collection[str]) -> str:
    """Return the text of a document that comes from elsewhere, without the lines that say what was forgotten here.

    Args:
        transaction: Of the scope that it comes to.
        content: The text.
        texts: Forgotten texts that are known, since they come by the same way; others are known by their hash, or by
            the forgotten entry that a line names.
    """
    keys = SqlForgottenReader(transaction).contains(_line_keys(content)) | {fold_key(text) for text in texts}
    named = SqlTombstoneReader(transaction).of(TombstoneKind.ENTRY, _SOURCE.findall(content))
    return _without(content, named.keys(), keys, [*filter(is_telling, texts)])


def _said_in(line: str) -> str:
    return _FIGURES.sub("", _MARK.sub("", line.rstrip("\r\n")))


def _says(line: str, gone: AbstractSet[str], keys: Collection[str], telling: Collection[str]) -> bool:
    return (
        not gone.isdisjoint(_SOURCE.findall(line))
        or fold_key(_said_in(line)) in keys
        or any(text in line for text in telling)
    )


_QUOTED = (RecordKind.DOCUMENT.value, RecordKind.QUESTION.value)
"""Kinds whose images may quote any entry."""

REMOVED_TEXT = "[forgotten]"
"""What stands where a forgotten text was quoted."""

REASON = "A person asked to forget this."
"""The reason that stays in the journal beside a scrubbed image."""

QUOTED = "It quoted what a person asked to forget."
"""The reason that stays beside an image of what also rests on something else."""

_MENTIONS = 50
"""Texts searched for in one statement; databases bound the depth of an expression."""

_QUOTING = (
    journal.c.reason,
    runs.c.report,
    steps.c.report,
    entries.c.status_reason,
    *(questions.c[name] for name in ("reason", "text")),
    *(card_lines.c[name] for name in ("reason", "status_reason")),
    *(hypotheses.c[name] for name in ("rationale", "possible_outcome", "question", "state_reason", "decisions")),
)
_PLANS = (plans.c.changes, plans.c.report)
_WAITING = tuple(waiting_exchanges.c[name] for name in ("batch", "records", "rounds", "changes"))
_PROPOSALS = (proposals.c.changes, proposals.c.marks)
_IMAGES = (journal.c.before, journal.c.after)
_EVIDENCE = '"evidence":['


def scrub(transaction: Transaction, gone: Mapping[str, str], turn_ids: Collection[str] = ()) -> None:
    """Clear the bookkeeping of one scope of forgotten entries, before they are deleted.

    Args:
        transaction: The forget's own.
        gone: Texts by entry id.
        turn_ids: Turns that are withheld: what waits to be learnt from them is not learnt, and their sentences leave
            the evidence of other entries.
    """
    scrub_rows(transaction, _journal_rows(transaction, gone) | _lost_rows(transaction, turn_ids))
    _forget_sentences(transaction, gone, turn_ids)
    for chunk in chunks(sorted(turn_ids), _MENTIONS):
        ids, named = [_json(turn_id) for turn_id in chunk], [_reference(turn_id, "turn") for turn_id in chunk]
        _forget_answers(transaction, _mentions((model_calls.c.record_ids,), ids))
        _forget_undone(transaction, named, shown=[*ids, *named])
    for chunk in chunks(sorted(gone), _MENTIONS):
        ids = [_json(entry_id) for entry_id in chunk]
        _forget_answers(transaction, _mentions((model_calls.c.record_ids,), ids))
        named = [*ids, *map(_reference, chunk), *map(cited, chunk)]
        _forget_undone(transaction, named, shown=named)
        _delete(transaction, settled_clusters, _mentions((settled_clusters.c.record_ids,), ids))
        _delete(transaction, reopened, reopened.c.record_id.in_(chunk))
    forget_refused_texts(transaction, gone, turn_ids)
    # A document holds a text without the characters that nobody sees.
    forms = {form for text in gone.values() for form in (text, without_hidden(text))}
    telling = sorted(filter(is_telling, forms))
    scrub_documents(transaction, gone, telling)
    forget_promotions(transaction, gone)
    told = [*(_json(text)[1:-1] for text in telling), *map(cited, gone)]
    scrub_rows(transaction, document_rows(transaction, told) | _line_rows(transaction, gone, telling))
    forget_receipts(transaction, {*gone, *turn_ids})
    _forget_prompts(transaction, {form for text in telling for form in _written(text)})
    for text in telling:
        written = _written(text)
        _forget_answers(transaction, _mentions((model_calls.c.answer,), written))
        _forget_undone(transaction, written, shown=written)
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


def scrub_rows(transaction: Transaction, keys: Collection[int]) -> None:
    """Take the images out of these rows of the journal."""
    for chunk in chunks(sorted(keys)):
        rows = journal.c.pk.in_(chunk)
        # A fingerprint is an unsalted hash of the text: whoever guesses the text could prove the guess.
        fingerprints = select(journal.c.fingerprint).where(rows, journal.c.fingerprint.is_not(None))
        _delete(transaction, decisions, decisions.c.fingerprint.in_(fingerprints))
        scrubbed = {"before": None, "after": None, "fingerprint": None, "reason": REASON, "scrubbed": True}
        transaction.connection.execute(update(journal).where(rows).values(scrubbed))


def _forget_answers(transaction: Transaction, condition: ColumnElement[bool]) -> None:
    mine = model_calls.c.scope_id == transaction.scope_id
    transaction.connection.execute(update(model_calls).where(mine, condition).values(prompt=None, answer=None))


def _forget_prompts(transaction: Transaction, texts: Collection[str]) -> None:
    """Empty the calls whose prompts hold one of *texts*, in a directive too, and forget such directives."""
    if not texts:
        return
    prompts = StoredPrompts(transaction)
    for chunk in chunks(sorted(prompts.telling(texts))):
        _forget_answers(transaction, model_calls.c.pk.in_(chunk))
    prompts.forget(texts)


def _written(text: str) -> set[str]:
    """Return a text as it may stand in books: as it is, and in JSON."""
    return {text, _json(text)[1:-1]}


def _forget_undone(transaction: Transaction, texts: Collection[str], *, shown: Collection[str]) -> None:
    """Drop plans and proposals that mention one of *texts*, and what waits that mentions or showed one."""
    _delete(transaction, plans, _mentions(_PLANS, shown))
    _forget_waiting(transaction, shown)
    _forget_proposals(transaction, _mentions(_PROPOSALS, texts))


def _forget_waiting(transaction: Transaction, texts: Collection[str]) -> None:
    """Empty waiting exchanges that mention one of *texts*; each row stays, for the next dream to tell of it."""
    mine = select(waiting_exchanges).where(waiting_exchanges.c.scope_id == transaction.scope_id)
    for row in transaction.connection.execute(mine.where(_mentions(_WAITING, texts))).all():
        left = [one for one in map(encode, orjson.loads(row.changes)) if not any(text in one for text in texts)]
        emptied = update(waiting_exchanges).values(rounds=None, changes=f"[{','.join(left)}]")
        transaction.connection.execute(emptied.where(waiting_exchanges.c.pk == row.pk))


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
    mine = (column.table.c.scope_id == transaction.scope_id) & contains(column, form)
    if column.table is entries:
        mine &= is_retired(entries.c.status)  # what is current has no reason, and the index knows the others
    statement = update(column.table).where(mine)
    transaction.connection.execute(statement.values({column.name: func.replace(column, form, REMOVED_TEXT)}))


def _mentions(columns: Iterable[ColumnElement[str]], texts: Collection[str]) -> ColumnElement[bool]:
    return or_(*(contains(column, text) for column in columns for text in texts))


def _json(text: str) -> str:
    return orjson.dumps(text).decode()


def _reference(record_id: str, kind: str = "entry") -> str:
    return f'"{kind}:{record_id}"'


def _forget_sentences(transaction: Transaction, gone: Mapping[str, str], turn_ids: Collection[str]) -> None:
    """Take forgotten sentences out of the evidence of entries that stay, and out of the journal's images of entries."""
    forgotten = ForgottenSentences.of(gone, turn_ids)
    rows = evidence_saying(transaction, forgotten.texts, forgotten.sources).items()
    read = {one: kept for one, kept in rows if one not in gone and forgotten.filter.lets_pass(kept)}
    told = [one for one, kept in read.items() if _kept(orjson.loads(kept), forgotten) is not None]
    store = SqlEntryStore(transaction)
    store.replace([(entry, _without_sentences(entry, forgotten)) for entry in store.get_many(told)])
    for chunk in chunks(told, _MENTIONS):
        # A stored prompt showed the evidence of its entries.
        _forget_answers(transaction, _mentions((model_calls.c.record_ids,), [_json(entry_id) for entry_id in chunk]))
    _redact_images(transaction, forgotten)
    _forget_quotations(transaction, turn_ids)


def _forget_quotations(transaction: Transaction, turn_ids: Collection[str]) -> None:
    """Take the reasons out of the journal that quote one of these turns: why an entry was made tells what was said."""
    mine = (journal.c.scope_id == transaction.scope_id) & journal.c.reason.contains('"')
    for chunk in chunks(sorted(turn_ids), _MENTIONS):
        citing = _mentions(_IMAGES, [_reference(turn_id, "turn") for turn_id in chunk])
        transaction.connection.execute(update(journal).where(mine, citing).values(reason=QUOTED))


def _without_sentences(entry: MemoryEntry, forgotten: ForgottenSentences) -> MemoryEntry:
    return replace(entry, evidence=tuple(one for one in entry.evidence if not forgotten.hold(one)))


def _kept(evidence: list[dict[str, Any]], forgotten: ForgottenSentences) -> list[dict[str, Any]] | None:
    """Return what stays of *evidence*; None if all of it does."""
    kept = [one for one in evidence if not forgotten.hold(evidence_of(one))]
    return None if len(kept) == len(evidence) else kept


def _redact_images(transaction: Transaction, forgotten: ForgottenSentences) -> None:
    about = select(journal).where(
        journal.c.scope_id == transaction.scope_id, journal.c.record_kind == RecordKind.ENTRY.value
    )
    rows = transaction.connection.execute(about.where(_mentions(_IMAGES, [_EVIDENCE])))
    for row in rows.all():
        images = {"before": _redacted(row.before, forgotten), "after": _redacted(row.after, forgotten)}
        if images != {"before": row.before, "after": row.after}:
            transaction.connection.execute(update(journal).where(journal.c.pk == row.pk).values(images))


def _redacted(image: str | None, forgotten: ForgottenSentences) -> str | None:
    if image is None or _EVIDENCE not in image or not forgotten.filter.lets_pass(image):
        return image
    values = orjson.loads(image)
    kept = _kept(values.pop("evidence"), forgotten)
    return image if kept is None else encode(values | {"evidence": kept} if kept else values)
