"""Edits a Markdown document item by item."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from agentcore.workspace.markdown import ItemKind, MarkdownItem, MarkdownText, Section, SectionPath, read


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
class RefusedEdit:
    """An edit that was not made."""

    edit: Edit
    reason: EditRefusal


_BOM = "\ufeff"
Said = tuple[SectionPath, str]
"""Where something stands, and what it says."""


@dataclass(frozen=True, slots=True)
class Edited:
    """What came of edits.

    Attributes:
        document: The document after them.
        refused: Those that were not made, and why.
    """

    document: "Document"
    refused: tuple[RefusedEdit, ...]


class Document:
    r"""A Markdown text, read once; edits give another document.

    Whatever an edit does not name stays as it is, byte for byte: line ends, byte order mark, the end of the last line.

    Args:
        text: The text, a byte order mark included.

    Example:
        >>> document = Document("# Notes\n\n- Ana likes tea.\n- Bo moved.\n")
        >>> edited = document.edited([Replace(document.items[1].id, "Bo moved to Faro.")])
        >>> print(edited.document.text)
        # Notes
        <BLANKLINE>
        - Ana likes tea.
        - Bo moved to Faro.
        <BLANKLINE>
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._bom = _BOM if text.startswith(_BOM) else ""
        self._reading: MarkdownText = read(text[len(self._bom) :])

    @property
    def text(self) -> str:
        """The whole text."""
        return self._text

    @property
    def hash(self) -> str:
        """What tells this text from others: SHA-256 of its UTF-8 bytes, in hexadecimal digits."""
        return sha256(self._text.encode()).hexdigest()

    @property
    def items(self) -> tuple[MarkdownItem, ...]:
        """What it says, in order."""
        return self._reading.items

    @property
    def sections(self) -> tuple[Section, ...]:
        """Its sections in order; the first is what stands before any heading."""
        return self._reading.sections

    def item(self, item_id: str) -> MarkdownItem | None:
        """Return an item, None if there is none of that id."""
        return next((item for item in self.items if item.id == item_id), None)

    def edited(self, edits: Sequence[Edit]) -> Edited:
        """Return the document after *edits*; an edit that cannot be made refuses itself and no other.

        Ids are those of this document. Additions come last.
        """
        together = self._at_once(edits)
        if together is not None:
            return Edited(together, ())
        document, refused = self, list[RefusedEdit]()
        named = Counter(edit.item_id for edit in edits if not isinstance(edit, Append))
        place = {item.id: number for number, item in enumerate(self.items)}
        # From the end to the beginning: of items that say the same, the later are numbered after the earlier.
        for edit in sorted(edits, key=lambda one: 1 if isinstance(one, Append) else -place.get(one.item_id, 0)):
            if not isinstance(edit, Append) and named[edit.item_id] > 1:
                refused.append(RefusedEdit(edit, EditRefusal.TWICE))
                continue
            outcome = document._after(edit)
            if isinstance(outcome, Document):
                document = outcome
            else:
                refused.append(RefusedEdit(edit, outcome))
        return Edited(document, tuple(refused))

    def _at_once(self, edits: Sequence[Edit]) -> "Document | None":
        """Return the document after *edits* of items alone, read again but once; None if one of them may be refused."""
        if len(edits) < 2:
            return None
        lines, gone, come = list(self._reading.lines), set[str](), list[Said]()
        for edit in edits:
            item = None if isinstance(edit, Append) or edit.item_id in gone else self.item(edit.item_id)
            if item is None or isinstance(edit, Append) or item.kind is ItemKind.BLOCK or item.prefix is None:
                return None
            if isinstance(edit, Remove) and item.nested:
                return None
            gone.add(item.id)
            written = ""
            if isinstance(edit, Replace):
                text = " ".join(edit.text.split())
                come.append((item.section, text))
                written = f"{item.prefix}{text}{_end_of(lines[item.end_line - 1])}"
            lines[item.first_line : item.end_line] = [written, *("" for _ in range(item.first_line + 1, item.end_line))]
        after = Document(self._bom + "".join(lines))
        kept = [(item.section, item.text) for item in self.items if item.id not in gone]
        return after if Counter((item.section, item.text) for item in after.items) == Counter([*kept, *come]) else None

    def _after(self, edit: Edit) -> "Document | EditRefusal":
        if isinstance(edit, Append):
            return self._appended(edit)
        item = self.item(edit.item_id)
        if item is None:
            return EditRefusal.NOT_FOUND
        if item.kind is ItemKind.BLOCK or item.prefix is None:
            return EditRefusal.NOT_EDITABLE
        return self._removed(item) if isinstance(edit, Remove) else self._replaced(item, edit)

    def _replaced(self, item: MarkdownItem, edit: Replace) -> "Document | EditRefusal":
        text = " ".join(edit.text.split())
        last = self._reading.lines[item.end_line - 1]
        line = f"{item.prefix}{text}{_end_of(last)}"
        return self._with(item.first_line, item.end_line, [line], gone=item, come=[(item.section, text)])

    def _removed(self, item: MarkdownItem) -> "Document | EditRefusal":
        if item.nested:
            return EditRefusal.HAS_NESTED
        return self._with(item.first_line, item.end_line, [], gone=item, come=[])

    def _appended(self, edit: Append) -> "Document | EditRefusal":
        texts = [" ".join(text.split()) for text in edit.texts]
        section = next((one for one in reversed(self.sections) if one.path == edit.section), None)
        lines = self._reading.lines
        at = len(lines) if section is None else self._end_of_content(section)
        new = [] if section is not None else self._heading(edit.section)
        follows_bullet = section is not None and any(
            item.kind is ItemKind.BULLET and item.end_line == at for item in self.items
        )
        new += [] if follows_bullet or at == 0 else [""]
        new += [f"- {text}" for text in texts]
        if section is not None and at < len(lines) and lines[at].strip():
            new.append("")
        return self._with(at, at, self._ended(at, new), gone=None, come=[(edit.section, text) for text in texts])

    def _heading(self, path: SectionPath) -> list[str]:
        """Return the headings of *path* that are not there yet."""
        there = {section.path for section in self.sections}
        depth = next(depth for depth in range(len(path), -1, -1) if path[:depth] in there)
        lines = list[str]()
        for level, name in enumerate(path[depth:], depth + 1):
            lines += ["", f"{'#' * min(level, 6)} {name}"]
        return lines if self._text.strip() else lines[1:]

    def _end_of_content(self, section: Section) -> int:
        end = section.end_line
        while end > section.first_line and not self._reading.lines[end - 1].strip():
            end -= 1
        return end

    def _ended(self, at: int, new: list[str]) -> list[str]:
        """Give new lines the line end of the document, and none where its last line has none."""
        lines = self._reading.lines
        end = next((_end_of(line) for line in lines if _end_of(line)), "\n")
        ended = [f"{line}{end}" for line in new]
        if at == len(lines) and lines and not _end_of(lines[-1]):
            ended[-1] = ended[-1].removesuffix(end)
            ended[0] = end + ended[0]
        return ended

    def _with(
        self, first: int, end: int, new: list[str], *, gone: MarkdownItem | None, come: list[tuple[SectionPath, str]]
    ) -> "Document | EditRefusal":
        """Put *new* in the place of lines, and read again whether that did what was meant and nothing else."""
        lines = self._reading.lines
        after = Document(self._bom + "".join((*lines[:first], *new, *lines[end:])))
        expected = Counter((item.section, item.text) for item in self.items if item is not gone)
        expected.update(come)
        if Counter((item.section, item.text) for item in after.items) != expected:
            return EditRefusal.NOT_ONE_ITEM
        return after


def _end_of(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]
