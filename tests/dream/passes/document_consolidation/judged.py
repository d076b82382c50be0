"""An answer about a page, judged and made without a store."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from dreaming import NOW

from agentcore.domain import MemoryEntry, Scope, StoredDocument, fold_key
from agentcore.stores import ReadView
from agentcore.workspace import Document
from dream.domain import Refusal
from dream.guards import builtin_vocabulary
from dream.guards.verdict import Verdict
from dream.options import DreamOptions
from dream.passes.answers import BrokenAnswer
from dream.passes.document_consolidation import (
    DocumentEditor,
    DocumentHandles,
    MemoryDocument,
    judge,
    over_eager,
    parse,
    read_memory,
    sort_out,
)


@dataclass
class _View:
    """As much of a store as reading MEMORY.md takes."""

    found: Mapping[str, StoredDocument]
    known: Sequence[MemoryEntry]

    @property
    def documents(self) -> "_View":
        return self

    @property
    def entries(self) -> "_View":
        return self

    def get(self, name: str) -> StoredDocument | None:
        return self.found.get(name)

    def get_many(self, ids: Sequence[str]) -> list[MemoryEntry]:
        return [entry for entry in self.known if entry.id in ids]


def page(
    text: str,
    *,
    own: Iterable[str] | None = None,
    entries: Sequence[MemoryEntry] = (),
    options: DreamOptions | None = None,
    archive: str | None = None,
) -> MemoryDocument:
    """A MEMORY.md of which the agent wrote *own*, all of it by default."""
    items = [item.text for item in Document(text).items] if own is None else own
    keys = tuple(sorted({fold_key(one) for one in items}))
    scope = Scope.default()
    stored = {"MEMORY.md": StoredDocument(id="MEMORY.md", scope=scope, content=text, updated_at=NOW, own=keys)}
    if archive is not None:
        stored["memory-archive.md"] = StoredDocument(
            id="memory-archive.md", scope=scope, content=archive, updated_at=NOW
        )
    view = cast("ReadView", _View(stored, entries))
    memory = read_memory(view, options or DreamOptions(), [entry.id for entry in entries])
    assert memory is not None
    return memory


def sheet_of(memory: MemoryDocument) -> DocumentHandles:
    """Every item that may be shown, as one batch."""
    ids = {f"i{place}": one for place, one in enumerate(memory.pieces, 1)}
    return DocumentHandles(ids=ids, pieces={handle: memory.pieces[one] for handle, one in ids.items()})


@dataclass
class Outcome:
    """What became of an answer."""

    memory: str
    archive: str
    refused: list[Refusal]
    desk: DocumentEditor

    @property
    def codes(self) -> list[str]:
        return [str(refusal.code) for refusal in self.refused]


def edited(
    memory: MemoryDocument,
    *edits: Mapping[str, Any],
    options: DreamOptions | None = None,
    is_whole: bool = True,
    is_read: bool = True,
) -> Outcome:
    """Judge and make the edits of an answer; texts stand for handles.

    What words leave undecided is made where it *is_read* a second time, by one who accepts it.
    """
    options = options or DreamOptions()
    sheet = sheet_of(memory)
    handles = {piece.said: handle for handle, piece in reversed(sheet.pieces.items())}

    def named(one: Any) -> Any:
        return handles.get(one, one) if isinstance(one, str) else one

    told = [
        {**one, "items": [named(item) for item in one["items"]], "target": named(one.get("target"))} for one in edits
    ]
    desk = DocumentEditor(memory=memory, cap=options.documents.size_cap, as_of=NOW)
    given = parse({"edits": told}, 2 * len(sheet.ids) + 1)
    assert not isinstance(given, BrokenAnswer)
    excess = over_eager(given, sheet, options.documents, is_whole=is_whole)
    if excess is not None:
        return Outcome(memory.document.text, "", [excess], desk)
    found = sort_out(given, sheet)
    items, refused = judge(found.edits, sheet, options, builtin_vocabulary())
    for item in items:
        if is_read or item.verdict is Verdict.PROVEN:
            for one in item.value:
                desk.make(one)
    archived = [one.after for made in desk.change_sets for one in made.changes if one.record_id == "memory-archive.md"]
    last = archived[-1] if archived else memory.archive
    return Outcome(
        desk.document.text,
        last.content if isinstance(last, StoredDocument) else "",
        [*found.refused, *refused, *desk.refused],
        desk,
    )


def merge(text: str, *items: str) -> dict[str, Any]:
    return {"op": "merge", "items": list(items), "text": text}


def rewrite(item: str, text: str) -> dict[str, Any]:
    return {"op": "rewrite", "items": [item], "text": text}


def archive(*items: str, target: str | None = None, reason: str | None = None) -> dict[str, Any]:
    return {"op": "archive", "items": list(items), "target": target, "reason": reason}


def move(item: str, target: str | None) -> dict[str, Any]:
    return {"op": "move", "items": [item], "target": target}


def add(text: str, *items: str) -> dict[str, Any]:
    return {"op": "add", "items": list(items), "text": text}


def keep(*items: str) -> dict[str, Any]:
    return {"op": "keep", "items": list(items)}
