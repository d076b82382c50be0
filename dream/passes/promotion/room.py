"""Room in MEMORY.md: the oldest items that dreams wrote move to memory-archive.md, a person's never do."""

from dataclasses import dataclass

from agentcore.domain.text import fold_key
from agentcore.workspace.document import Append, Document, Remove
from agentcore.workspace.markdown import ItemKind, MarkdownItem, SectionPath
from dream.passes.promotion.blocks import without_emptied


@dataclass(frozen=True, slots=True)
class Fitted:
    """MEMORY.md within its bounds.

    Args:
        memory: What it says.
        archive: What memory-archive.md says.
        moved: How many items moved.
        fits: Whether that was enough.
    """

    memory: Document
    archive: Document
    moved: int
    fits: bool


def fitted(memory: Document, archive: Document, own: tuple[str, ...], cap: int) -> Fitted:
    """Move as many items as it takes, those first that stand first.

    Args:
        memory: What MEMORY.md would say.
        archive: What memory-archive.md says.
        own: Fold keys of the items that may move.
        cap: Characters that MEMORY.md may have.
    """
    over = len(memory.text) - cap
    moving = list[MarkdownItem]()
    for item in memory.items:
        if over <= 0:
            break
        if item.kind is ItemKind.BULLET and not item.nested and not item.is_kept and fold_key(item.text) in own:
            moving.append(item)
            over -= len(item.text) + 3
    edited = memory.edited([Remove(item.id) for item in moving])
    stayed = {refused.edit.item_id for refused in edited.refused if isinstance(refused.edit, Remove)}
    gone = [item for item in moving if item.id not in stayed]
    by_section: dict[SectionPath, list[str]] = {}
    for item in gone:
        by_section.setdefault(item.section, []).append(item.text)
    kept = archive.edited([Append(section, tuple(texts)) for section, texts in by_section.items()])
    if kept.refused:
        return Fitted(memory, archive, 0, fits=False)
    text = without_emptied(edited.document.text)
    left = edited.document if text == edited.document.text else Document(text)
    return Fitted(left, kept.document, len(gone), fits=len(left.text) <= cap)
