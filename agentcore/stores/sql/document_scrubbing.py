"""Scrubbing of documents: no line of them says what a person asked to forget."""

import re
from collections.abc import Collection, Mapping, Set as AbstractSet
from typing import Final

from sqlalchemy import insert, or_, select, update

from agentcore.domain.instants import to_micros
from agentcore.domain.text import fold_key, without_hidden
from agentcore.stores.sql.conditions import contains
from agentcore.stores.sql.schema import documents, journal, outbox, promotions
from agentcore.stores.sql.transaction import Transaction, chunks

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
        changed = {"content": kept, "version": row.version + 1, "updated_at": to_micros(transaction.now)}
        transaction.connection.execute(update(documents).where(documents.c.pk == row.pk).values(**changed))
        transaction.change()
        waiting = select(outbox).where(outbox.c.scope_id == transaction.scope_id, outbox.c.document == row.id)
        for other in transaction.connection.execute(waiting).all():
            after = None if other.after is None else _without(other.after, gone.keys(), keys, telling)
            transaction.connection.execute(update(outbox).where(outbox.c.pk == other.pk).values(after=after))
        _post(transaction, row.id, before=row.content, after=kept)


def document_rows(transaction: Transaction, telling: Collection[str]) -> set[int]:
    """Return the journal's rows about documents whose images hold one of these texts, which are forms of JSON."""
    found: set[int] = set()
    mine = select(journal.c.pk).where(journal.c.scope_id == transaction.scope_id, journal.c.record_kind == "document")
    for text in telling:
        statement = mine.where(or_(contains(journal.c.before, text), contains(journal.c.after, text)))
        found.update(transaction.connection.execute(statement).scalars())
    return found


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


def _says(line: str, gone: AbstractSet[str], keys: Collection[str], telling: Collection[str]) -> bool:
    said = _FIGURES.sub("", _MARK.sub("", line.rstrip("\r\n")))
    return fold_key(said) in keys or not gone.isdisjoint(_SOURCE.findall(line)) or any(text in line for text in telling)
