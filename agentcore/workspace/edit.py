"""What can be done to a document, and what may not."""

from dataclasses import dataclass
from enum import StrEnum

from agentcore.workspace.item import SectionPath


@dataclass(frozen=True, slots=True)
class Replace:
    """Let an item say something else; its mark and place stay."""

    item_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Remove:
    """Take an item out."""

    item_id: str


@dataclass(frozen=True, slots=True)
class Append:
    """Add bullets at the end of a section; a section that is not there is added at the end of the document."""

    section: SectionPath
    texts: tuple[str, ...]


Edit = Replace | Remove | Append


class EditRefusal(StrEnum):
    """Why an edit was not made."""

    NOT_FOUND = "item_not_found"
    """The document has no such item, or no longer."""
    NOT_EDITABLE = "item_not_editable"
    """It is a block, or its text cannot be told from its mark."""
    HAS_NESTED = "item_has_nested"
    """Others stand below it that would lose what they belong to."""
    NOT_ONE_ITEM = "text_not_one_item"
    """Written there, the text would not be one item that says just that: it opens a heading, a list, a comment."""
    TWICE = "edited_twice"
    """Two edits are about one item."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An edit that was not made."""

    edit: Edit
    reason: EditRefusal
