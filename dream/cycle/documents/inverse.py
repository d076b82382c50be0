"""Takes back what a dream did to a document, item by item where somebody else wrote in it since."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agentcore.domain.document import StoredDocument
from agentcore.domain.records import Record
from agentcore.stores.storage import UnitOfWork
from agentcore.workspace.differences import difference, own_left
from agentcore.workspace.document import Document
from dream.domain.change import Change, JournalRow
from dream.domain.promotion import without_emptied
from dream.domain.proposal import Refusal
from dream.domain.reasons import NotUndone
from dream.domain.report import RunKind
from dream.stores import dream_stores
from dream.stores.journal import DOCUMENT_CHANGED

Inverse = tuple[Change[Record] | None, Refusal | None]


def document_inverse(row: JournalRow, present: Record | None) -> Inverse:
    """Return the change that takes *row* back, if there is one, and what of it cannot be taken back."""
    stored = present if isinstance(present, StoredDocument) else None
    was, became = row.record_before, row.record_after
    before = was if isinstance(was, StoredDocument) else None
    after = became if isinstance(became, StoredDocument) else None
    if row.operation == DOCUMENT_CHANGED or _text(stored) == _text(before):
        return None, None  # nothing that a dream did, or taken back already
    if _text(stored) == _text(after):
        return Change[Record](before=stored, after=before, reason=f"undo: {row.reason}"), None
    if stored is None:
        return None, Refusal(NotUndone.CHANGED_SINCE, row.record_id)
    inverse = difference(Document(_text(after) or ""), Document(_text(before) or ""))
    redone = inverse.done_to(Document(stored.content))
    refusal = None
    if redone.refused:
        detail = f"{row.record_id}: {len(redone.refused)} of {len(inverse.gone) + len(inverse.come)} edits"
        refusal = Refusal(NotUndone.CHANGED_SINCE, detail)
    if redone.document.text == stored.content:
        return None, refusal
    # A heading of a dream that has nothing left below it goes with what stood there.
    left = Document(without_emptied(redone.document.text))
    own = own_left((*stored.own, *(() if before is None else before.own)), left)
    restored = replace(stored, content=left.text, own=own)
    return Change[Record](before=stored, after=restored, reason=f"undo: {row.reason}"), refusal


_LOOKED_AT: Final = 5
"""Runs before one that are looked at for who may have read a document at the same instant."""


def drop_first_reads(unit: UnitOfWork, run_id: str, rows: Sequence[JournalRow]) -> None:
    """Remove the records of documents that say what a run was the first to read; their files are read anew.

    Args:
        unit: A transaction.
        run_id: The run, which was taken back.
        rows: What it had changed.
    """
    books = dream_stores(unit)
    run = books.runs.report(run_id)
    if run is None or run.finished_at is None:
        return
    waiting = {row.document for row in books.outbox.waiting()}
    # On a clock that stands, the run before may have read it at the same instant: then it stays.
    before = [one for one in books.runs.newest(limit=_LOOKED_AT, before=run_id) if one.kind is not RunKind.UNDO]
    earlier = [one.finished_at for one in before if one.finished_at and books.runs.undo_of(one.run_id) is None]
    read = [one for one in (row.record_before for row in rows) if isinstance(one, StoredDocument)]
    for first in [one for one in (*read, *unit.documents.all()) if one.version == 1 and not one.own]:
        if not run.started_at <= first.updated_at <= run.finished_at or any(first.updated_at <= one for one in earlier):
            continue
        stored = unit.documents.get(first.id)
        if stored is not None and first.id not in waiting and not stored.own and stored.content == first.content:
            unit.documents.apply([(stored, None)])


def _text(document: StoredDocument | None) -> str | None:
    return None if document is None else document.content
