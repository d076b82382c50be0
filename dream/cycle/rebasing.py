"""Edits of documents, made on what the documents say by now."""

from collections.abc import Mapping
from dataclasses import replace

from agentcore.domain.document import StoredDocument
from agentcore.domain.records import Record
from agentcore.workspace.differences import difference, own_left
from agentcore.workspace.document import Document
from dream.cycle.touched import Key, is_as_read
from dream.domain.change import Change, ChangeSet


def rebased(change_set: ChangeSet, present: Mapping[Key, Record | None]) -> ChangeSet:
    """Return the change set on documents as they are now, if all that it is about still stands in them; else as it is.

    Whoever wrote elsewhere in a document, a person or another change, takes nothing away from an edit of an item.

    Args:
        change_set: What a pass proposed, on documents as it read them.
        present: The records that it would change, as they are.
    """
    if all(is_as_read(present.get((one.kind, one.record_id)), one.before) for one in change_set.changes):
        return change_set
    changes = [_rebased(change, present.get((change.kind, change.record_id))) for change in change_set.changes]
    made = [change for change in changes if change is not None]
    return replace(change_set, changes=tuple(made)) if len(made) == len(changes) else change_set


def as_stored(change: Change[Record]) -> Record | None:
    """Return the record of a document as the store will have it after *change*."""
    before, after = change.before, change.after
    if not isinstance(after, StoredDocument):
        return None
    return replace(after, version=before.version + 1 if isinstance(before, StoredDocument) else 1)


def _rebased(change: Change[Record], stored: Record | None) -> Change[Record] | None:
    """Return the change on the record as it is, None if it cannot be made there."""
    before, after = change.before, change.after
    if is_as_read(stored, before):
        return change
    if not isinstance(after, StoredDocument):
        return None
    if not isinstance(stored, StoredDocument) or not (before is None or isinstance(before, StoredDocument)):
        return None
    edits = difference(Document("" if before is None else before.content), Document(after.content))
    redone = edits.done_to(Document(stored.content))
    if redone.refused:
        return None
    new = set(after.own) - set(() if before is None else before.own)
    own = own_left((*stored.own, *new), redone.document)
    record = replace(stored, content=redone.document.text, own=own, updated_at=after.updated_at)
    return Change[Record](before=stored, after=record, reason=change.reason)
