"""What a document consists of."""

from dataclasses import dataclass
from enum import StrEnum

SectionPath = tuple[str, ...]
"""The headings above something, from the outermost."""


class ItemKind(StrEnum):
    """What an item is written as."""

    BULLET = "bullet"
    PARAGRAPH = "paragraph"
    BLOCK = "block"
    """A table, code, a quotation, HTML, front matter: kept as it is written, never edited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that a document says.

    Attributes:
        id: Follows from what it says and where; the same as long as both stay, whatever happens around it.
        section: The headings above it.
        kind: What it is written as.
        text: What it says, on one line; a block's is as it is written.
        first_line: Where it begins, counted from 0.
        end_line: The line after its last own one; what is nested below it has lines of its own.
        prefix: What stands before its text on its first line (indentation and mark); None if that cannot be told, and
            it then cannot be rewritten.
        nested: How many items stand below it; it can be rewritten, and removed only together with them.
        is_kept: It stands between `<!-- keep -->` and `<!-- /keep -->`.
    """

    id: str
    section: SectionPath
    kind: ItemKind
    text: str
    first_line: int
    end_line: int
    prefix: str | None = None
    nested: int = 0
    is_kept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What stands under one heading, up to the next.

    Attributes:
        path: The heading and those above it; empty before the first.
        first_line: The line of the heading.
        end_line: The line after its last one.
    """

    path: SectionPath
    first_line: int
    end_line: int
