"""Reads MEMORY.md item by item: what a model may edit, and what stays as it is."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from agentcore.domain.document import StoredDocument
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.text import fold_key
from agentcore.stores.storage import ReadView
from agentcore.workspace.document import Document
from agentcore.workspace.folder import ARCHIVE, MEMORY
from agentcore.workspace.markdown import ItemKind, MarkdownItem
from dream.domain.built_in_passes import DOCUMENT_CONSOLIDATION
from dream.guards.secrets import secret_in
from dream.options import DreamOptions, PassMode
from dream.passes.promotion.blocks import said_by

NAME: Final = DOCUMENT_CONSOLIDATION.name
"""The pass."""
PATTERNS: Final = "Patterns and contradictions"
"""The heading under which it writes what several items show together."""

_MOST_ENTRIES: Final = 2_000
"""Promoted entries, the latest first, that are looked for behind items."""


@lru_cache(maxsize=4)
def read_document(text: str) -> Document:
    """Return *text* as a document, parsed once however often a run asks about it."""
    return Document(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentItem:
    """One item of MEMORY.md.

    Args:
        item: The item.
        said: What it says, without the figures of its promotion.
        is_own: Whether the agent or its dreams wrote it.
        is_kept: Whether it is marked, or headed, as one that stays.
        is_barred: Whether it is a person's, and changes are made without asking.
        above: What the items say that it stands below, from the outermost.
        entry: The entry that was promoted to it.
    """

    item: MarkdownItem
    said: str
    is_own: bool
    is_kept: bool
    is_barred: bool
    above: tuple[str, ...] = ()
    entry: MemoryEntry | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether it may be referred to and not changed."""
        return self.is_kept or self.is_barred

    @property
    def is_pattern(self) -> bool:
        """Whether a dream wrote it of other items."""
        return bool(self.item.section) and self.item.section[-1] == PATTERNS

    @property
    def key(self) -> str:
        """What tells it from what says something else, wherever it stands and whatever its figures are."""
        return fold_key(self.said)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDocument:
    """MEMORY.md as it is stored.

    Args:
        stored: Its record.
        document: What it says.
        archive: The record of memory-archive.md; None if there is none.
        pieces: What may be shown of it, by the id of the item, in order.
        left_alone: How many items are never shown: tables, code and other blocks, and what looks like a secret.
    """

    stored: StoredDocument
    document: Document
    archive: StoredDocument | None
    pieces: Mapping[str, DocumentItem] = field(default_factory=dict[str, DocumentItem])
    left_alone: int = 0

    @property
    def entry_ids(self) -> tuple[str, ...]:
        """The entries behind what may be shown."""
        return tuple(sorted({piece.entry.id for piece in self.pieces.values() if piece.entry is not None}))


def read_memory(view: ReadView, options: DreamOptions, promoted: Sequence[str]) -> MemoryDocument | None:
    """Return what MEMORY.md says, None if there is no such document.

    Args:
        view: The store.
        options: The host's.
        promoted: Ids of the entries that were ever promoted, the latest first.
    """
    stored = view.documents.get(MEMORY)
    if stored is None:
        return None
    document = read_document(stored.content)
    items = document.items
    entries = _by_text(view.entries.get_many(promoted[:_MOST_ENTRIES]))
    above = _above(items)
    pieces = {item.id: _piece(item, above[item.id], stored.own, options, entries) for item in items if _is_shown(item)}
    return MemoryDocument(
        stored=stored,
        document=document,
        archive=view.documents.get(ARCHIVE),
        pieces=pieces,
        left_alone=len(items) - len(pieces),
    )


def _is_shown(item: MarkdownItem) -> bool:
    return item.kind is not ItemKind.BLOCK and item.prefix is not None and secret_in(item.text) is None


def _piece(
    item: MarkdownItem,
    above: tuple[str, ...],
    own: Collection[str],
    options: DreamOptions,
    entries: Mapping[str, MemoryEntry],
) -> DocumentItem:
    said, is_own = said_by(item.text), fold_key(item.text) in own
    guarded = options.documents.protect_user_text and options.mode(NAME) is not PassMode.PROPOSE
    return DocumentItem(
        item=item,
        said=said,
        is_own=is_own,
        is_kept=item.is_kept or _is_headed(item, options.documents.protected_headings),
        is_barred=guarded and not is_own,
        above=above,
        entry=entries.get(fold_key(said)),
    )


def _is_headed(item: MarkdownItem, headings: Iterable[str]) -> bool:
    protected = {heading.casefold() for heading in headings}
    return any(heading.casefold() in protected for heading in item.section)


def _by_text(entries: Iterable[MemoryEntry]) -> dict[str, MemoryEntry]:
    """Return entries by what they say; of two that say the same, the one that is still active."""
    found: dict[str, MemoryEntry] = {}
    for entry in entries:
        key = fold_key(entry.content)
        if key not in found or entry.is_active:
            found[key] = entry
    return found


def _above(items: Sequence[MarkdownItem]) -> dict[str, tuple[str, ...]]:
    """Return what stands above each item: the items it is nested below."""
    told: dict[str, tuple[str, ...]] = {}
    open_until: list[tuple[int, str]] = []
    for place, item in enumerate(items):
        open_until = [(end, text) for end, text in open_until if place < end]
        told[item.id] = tuple(text for _, text in open_until)
        if item.nested:
            open_until.append((place + 1 + item.nested, said_by(item.text)))
    return told
