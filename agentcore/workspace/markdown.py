"""Reads a Markdown text into the items it consists of."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from agentcore.domain.text import fold_key

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode


SectionPath = tuple[str, ...]
"""The headings above something, from the outermost."""


class ItemKind(StrEnum):
    """What an item is written as."""

    BULLET = "bullet"
    PARAGRAPH = "paragraph"
    BLOCK = "block"
    """A table, code, a quotation, HTML, front matter: kept as it is written, never edited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownItem:
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


_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""A line as Markdown counts lines; `str.splitlines` knows more ends than Markdown does."""
_FRONT_MATTER: Final = re.compile(r"---[ \t]*(?:\r\n?|\n)(?:[^\r\n]*(?:\r\n?|\n))*?(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)")
_KEEP: Final = re.compile(r"<!--[ \t]*(/?)keep[ \t]*-->", re.IGNORECASE)
_LISTS: Final = ("bullet_list", "ordered_list")
_MAX_NESTING: Final = 100


def lines_of(text: str) -> list[str]:
    """Return the lines with their ends, as Markdown counts them; joined they are the text."""
    return _LINE.findall(text)


@dataclass(frozen=True, slots=True)
class MarkdownText:
    """What was read in a text."""

    lines: list[str]
    items: tuple[MarkdownItem, ...]
    sections: tuple[Section, ...]


def read(text: str) -> MarkdownText:
    """Read *text*, which may be anything: what is no Markdown is a paragraph."""
    # Deferred: most commands on a memory read no document.
    from markdown_it import MarkdownIt  # noqa: PLC0415
    from markdown_it.tree import SyntaxTreeNode  # noqa: PLC0415

    lines = lines_of(text)
    front = _FRONT_MATTER.match(text)
    body = text if front is None else text[front.end() :]
    offset = 0 if front is None else len(lines_of(front[0]))
    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable("table")
    reader = _MarkdownReader(lines, offset)
    if front is not None:
        reader.block(0, offset)
    reader.walk(SyntaxTreeNode(parser.parse(body)))
    return MarkdownText(lines, tuple(reader.items), reader.sections())


@dataclass(slots=True)
class _MarkdownReader:
    """The state of one reading: where in the headings it is, and what stands in a kept part."""

    lines: list[str]
    offset: int
    items: list[MarkdownItem] = field(default_factory=list[MarkdownItem])
    _headings: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    _begun: list[tuple[SectionPath, int]] = field(default_factory=lambda: [((), 0)])
    _is_kept: bool = False
    _seen: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def section(self) -> SectionPath:
        return tuple(name for _, name in self._headings)

    def sections(self) -> tuple[Section, ...]:
        ends = [line for _, line in self._begun[1:]] + [len(self.lines)]
        return tuple(
            Section(path=path, first_line=first, end_line=end)
            for (path, first), end in zip(self._begun, ends, strict=True)
        )

    def walk(self, root: "SyntaxTreeNode") -> None:
        for node in root.children:
            if node.type == "heading":
                self._enter(node)
            elif node.type in _LISTS:
                self._bullets(node)
            elif node.type == "paragraph":
                first, end = self._span(node)
                self._add(ItemKind.PARAGRAPH, _written(node), first, end, prefix=self._before(first, node))
            else:
                first, end = self._span(node)
                self.block(first, end)

    def block(self, first: int, end: int) -> None:
        written = "".join(self.lines[first:end])
        for mark in _KEEP.finditer(written):
            self._is_kept = not mark[1]
        if written.strip() and not _KEEP.fullmatch(written.strip()):
            self._add(ItemKind.BLOCK, written.strip(), first, end, prefix=None)

    def _enter(self, heading: "SyntaxTreeNode") -> None:
        level = int(heading.tag[1:])
        self._headings = [(above, name) for above, name in self._headings if above < level]
        self._headings.append((level, _written(heading)))
        self._begun.append((self.section, self._span(heading)[0]))

    def _bullets(self, listing: "SyntaxTreeNode") -> None:
        for bullet in listing.children:
            first, end = self._span(bullet)
            leading = list(_leading_paragraphs(bullet))
            rest = bullet.children[len(leading) :]
            own_end = self._trimmed(first, self._span(rest[0])[0] if rest else end)
            place = len(self.items)
            text = " ".join(filter(None, map(_written, leading)))
            if text:
                self._add(ItemKind.BULLET, text, first, own_end, prefix=self._before(first, leading[0]))
            for child in rest:
                self._below(child)
            if text and (below := len(self.items) - place - 1):
                self.items[place] = replace(self.items[place], nested=below)

    def _below(self, node: "SyntaxTreeNode") -> None:
        first, end = self._span(node)
        if node.type in _LISTS:
            self._bullets(node)
        elif node.type == "paragraph":
            self._add(ItemKind.PARAGRAPH, _written(node), first, end, prefix=None)
        else:
            self.block(first, end)

    def _add(self, kind: ItemKind, text: str, first: int, end: int, *, prefix: str | None) -> None:
        key = fold_key("\n".join((*self.section, text)))[:12]
        self._seen[key] = count = self._seen.get(key, 0) + 1
        item = MarkdownItem(
            id=key if count == 1 else f"{key}-{count}",
            section=self.section,
            kind=kind,
            text=text,
            first_line=first,
            end_line=end,
            prefix=prefix,
            is_kept=self._is_kept,
        )
        self.items.append(item)

    def _span(self, node: "SyntaxTreeNode") -> tuple[int, int]:
        first, end = node.map or (0, 0)
        return first + self.offset, self._trimmed(first + self.offset, end + self.offset)

    def _trimmed(self, first: int, end: int) -> int:
        while end > first and not self.lines[end - 1].strip():
            end -= 1
        return end

    def _before(self, first: int, paragraph: "SyntaxTreeNode") -> str | None:
        """Return what stands before the paragraph's text on its line."""
        if self._span(paragraph)[0] != first:
            return None
        beginning = paragraph.children[0].content.split("\n", 1)[0]
        before, found, after = self.lines[first].partition(beginning)
        return before if found and not after.strip() else None


def _leading_paragraphs(bullet: "SyntaxTreeNode") -> "Iterator[SyntaxTreeNode]":
    for child in bullet.children:
        if child.type != "paragraph":
            return
        yield child


def _written(node: "SyntaxTreeNode") -> str:
    """Return what a paragraph or a heading says as it is written, on one line."""
    content = node.children[0].content if node.children else ""
    return " ".join(content.split())
