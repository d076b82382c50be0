"""From approved edits to changes of the documents: one change set for each edit, one on top of the other."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from agentcore.domain.document import StoredDocument
from agentcore.domain.records import Record
from agentcore.domain.text import fold_key
from agentcore.workspace.document import Append, Document, Edit, EditRefusal, Remove, Replace
from agentcore.workspace.folder import ARCHIVE, MEMORY
from agentcore.workspace.markdown import MarkdownItem, SectionPath
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.document_consolidation.items import PATTERNS, DocumentItem, MemoryDocument, read_document
from dream.passes.document_consolidation.judging import Approved
from dream.passes.document_consolidation.prompt import Op, operation_of

_CODES: Final = {
    EditRefusal.NOT_FOUND: Refused.STALE_SOURCE,
    EditRefusal.NOT_EDITABLE: Refused.CONTEXT_ONLY,
    EditRefusal.HAS_NESTED: Refused.HAS_NESTED,
    EditRefusal.NOT_ONE_ITEM: Refused.INVALID_CONTENT,
    EditRefusal.TWICE: Refused.HANDLE_REUSED,
}


@dataclass(frozen=True, slots=True)
class _EditedDocument:
    """A document between two edits.

    Args:
        stored: Its record as it then is; None if there is none yet.
        document: What it says.
    """

    stored: StoredDocument | None
    document: Document


@dataclass(slots=True)
class DocumentEditor:
    """Makes the edits of one answer, each on what those before it left; lives as long as it.

    Args:
        memory: MEMORY.md as the edits were judged by.
        cap: Characters that it may have.
        as_of: The instant the run judges by.
    """

    memory: MemoryDocument
    cap: int
    as_of: datetime
    change_sets: list[ChangeSet] = field(default_factory=list[ChangeSet])
    made: list[Approved] = field(default_factory=list[Approved])
    refused: list[Refusal] = field(default_factory=list[Refusal])
    _gone: set[str] = field(default_factory=set[str])
    _page: _EditedDocument = field(init=False)
    _archive: _EditedDocument = field(init=False)

    def __post_init__(self) -> None:
        """Begin with the documents as they are stored."""
        archive = self.memory.archive
        self._page = _EditedDocument(self.memory.stored, self.memory.document)
        self._archive = _EditedDocument(archive, read_document("" if archive is None else archive.content))

    @property
    def document(self) -> Document:
        """What MEMORY.md says after the edits so far."""
        return self._page.document

    def make(self, edit: Approved) -> None:
        """Make an edit, or note why it cannot be made; then the next one is made on what there was before it."""
        page = self._appended(edit) if edit.op is Op.ADD else self._changed(edit)
        kept = self._kept(edit.pieces[0]) if edit.op is Op.ARCHIVE else None
        if isinstance(page, Refused) or isinstance(kept, Refused):
            code = page if isinstance(page, Refused) else Refused.INVALID_CONTENT
            self.refused.append(Refusal.of(code, [piece.item.id for piece in edit.pieces]))
        elif len(page.text) > max(self.cap, len(self.document.text)):
            self.refused.append(Refusal(Refused.DOCUMENT_FULL, f"{MEMORY}: no room for what it would add"))
        else:
            self._commit(edit, page, kept)

    def _commit(self, edit: Approved, page: Document, kept: tuple[StoredDocument, Document] | None) -> None:
        before, after = self._page.stored, self._record(MEMORY, self._page, page, _own(edit, self._page, page))
        changes = [Change[Record](before=before, after=after, reason=edit.reason)]
        self._page = _EditedDocument(_as_stored(after, before), page)
        if kept is not None:
            record, document = kept
            changes.append(Change[Record](before=self._archive.stored, after=record, reason=edit.reason))
            self._archive = _EditedDocument(_as_stored(record, self._archive.stored), document)
        marks = {change.record_id: edit.mark for change in changes}
        self.change_sets.append(ChangeSet(operation=operation_of(edit.op), changes=tuple(changes), fingerprints=marks))
        self.made.append(edit)
        self._gone.update(piece.item.id for piece in edit.pieces if edit.op is not Op.ADD)

    def _changed(self, edit: Approved) -> Document | Refused:
        """Return the document with the items merged, reworded, moved or taken out."""
        found = [self._found(piece) for piece in edit.pieces]
        items = [item for item in found if item is not None]
        if len(items) < len(found):
            return Refused.STALE_SOURCE
        edits: list[Edit] = []
        match edit.op:
            case Op.ARCHIVE:
                edits = [Remove(items[0].id)]
            case Op.MOVE if edit.target is not None:
                edits = [Remove(items[0].id), Append(edit.target.item.section, (items[0].text,))]
            case _:
                stays = _survivor(edit)
                edits = [Remove(item.id) for place, item in enumerate(items) if place != stays]
                if edit.pieces[stays].said != edit.text:
                    edits.append(Replace(items[stays].id, _rewritten(edit, edit.pieces[stays])))
        return _edited(self.document, edits)

    def _appended(self, edit: Approved) -> Document | Refused:
        """Return the document with a new item under the heading of its own."""
        outcome: Document | Refused = Refused.INVALID_CONTENT
        for section in _places(self.document):
            outcome = _edited(self.document, [Append(section, (edit.text,))])
            if isinstance(outcome, Document):
                return outcome
        return outcome

    def _found(self, piece: DocumentItem) -> MarkdownItem | None:
        """Return where an item stands by now: of those that say the same, the one that was in its place."""

        def says(item: MarkdownItem) -> bool:
            return (item.section, item.text) == (piece.item.section, piece.item.text)

        copies = [item for item in self.memory.document.items if says(item) and item.id not in self._gone]
        now = [item for item in self.document.items if says(item)]
        places = [place for place, item in enumerate(copies) if item.id == piece.item.id]
        return now[places[0]] if places and len(now) == len(copies) else None

    def _kept(self, piece: DocumentItem) -> tuple[StoredDocument, Document] | Refused:
        """Return memory-archive.md with an item, told with what it stood below."""
        text = " > ".join((*piece.above, piece.item.text))
        document = _edited(self._archive.document, [Append(piece.item.section, (text,))])
        if isinstance(document, Refused):
            return document
        own = set(() if self._archive.stored is None else self._archive.stored.own)
        own |= {fold_key(text)} if piece.is_own else set()
        return self._record(ARCHIVE, self._archive, document, own), document

    def _record(self, name: str, page: "_EditedDocument", after: Document, own: Collection[str]) -> StoredDocument:
        known = page.stored or StoredDocument(
            id=name, scope=self.memory.stored.scope, content="", updated_at=self.as_of
        )
        return replace(known, content=after.text, own=tuple(sorted(own)), updated_at=self.as_of)


def _edited(document: Document, edits: Sequence[Edit]) -> Document | Refused:
    edited = document.edited(edits)
    return _CODES[edited.refused[0].reason] if edited.refused else edited.document


def _survivor(edit: Approved) -> int:
    """Return which of the items stays in its place: the one that says it already, or the first."""
    return next((place for place, piece in enumerate(edit.pieces) if piece.said == edit.text), 0)


def _rewritten(edit: Approved, piece: DocumentItem) -> str:
    """Return the new text of an item; one that goes on by itself keeps the figures of its promotion."""
    figures = piece.item.text[len(piece.said) :] if len(edit.pieces) == 1 else ""
    return f"{edit.text}{figures}"


def _own(edit: Approved, before: _EditedDocument, after: Document) -> set[str]:
    """Return which items are the agent's own: what has a person's text in it is a person's."""
    own = set(() if before.stored is None else before.stored.own)
    there = {fold_key(item.text) for item in before.document.items}
    now = {fold_key(item.text) for item in after.items}
    is_own = edit.op is Op.ADD or all(piece.is_own for piece in edit.pieces)
    return (own & now) | ((now - there) if is_own else set())


def _places(document: Document) -> Iterable[SectionPath]:
    """Yield where the heading of patterns may stand: where it does, below the last heading, or for itself."""
    there = [section.path for section in document.sections if section.path and section.path[-1] == PATTERNS]
    yield from there
    if not there:
        roots = [section.path[:1] for section in document.sections if section.path]
        yield from ((*roots[-1], PATTERNS), (PATTERNS,)) if roots else ((PATTERNS,),)


def _as_stored(after: StoredDocument, before: StoredDocument | None) -> StoredDocument:
    """Return the record as the store will have it."""
    return replace(after, version=1 if before is None else before.version + 1)
