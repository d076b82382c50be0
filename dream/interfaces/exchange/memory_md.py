"""Parses MEMORY.md: sections become categories, bullets become entries.

- Headings of several levels are joined by `/`. A single first-level heading above all others is the document's title
  and names no category. Bullets before any heading, or right below the title, go to `general`.
- A bullet's text is kept as it is written, its lines and paragraphs joined by blanks; comments inside it are dropped.
- A nested bullet is an entry of its own that begins with the text of its parents (`Physio: Tuesdays 18:00`), because it
  would mean something else, or nothing, without them, and two bullets that differ only in their parents must not be
  taken for the same. A parent that ends in a colon only introduces and is no entry itself.
- Prose, code, tables, quotes, HTML and front matter are counted and left out.

The file names no dates, so its entries date from the import.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.records import RecordKind
from agentcore.domain.text import DEFAULT_CATEGORY, clean_category, clean_content
from dream.interfaces.exchange.files import SourceFile
from dream.interfaces.exchange.items import UNNAMED, ImportItem, SkippedItem, SkipReason, SourceKeys

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_LISTS = ("bullet_list", "ordered_list")
_LEFT_OUT = {
    "paragraph": SkipReason.PROSE,
    "fence": SkipReason.CODE_BLOCK,
    "code_block": SkipReason.CODE_BLOCK,
    "html_block": SkipReason.HTML,
    "table": SkipReason.TABLE,
    "blockquote": SkipReason.QUOTE,
}
_MAX_NESTING = 100


def parse_memory_md(source: SourceFile) -> Iterator[ImportItem | SkippedItem]:
    """Yield the bullets as entries.

    Raises:
        InvalidFileError: it is no text in UTF-8, or a bullet is longer than an entry may be.
    """
    text = source.text()
    front = _FRONT_MATTER.match(text)
    if front is not None:
        yield SkippedItem(RecordKind.ENTRY, SkipReason.FRONT_MATTER, 1)
        text = text[front.end() :]
    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable("table")
    root = SyntaxTreeNode(parser.parse(text))
    yield from _BulletReader(source, first_line=1 if front is None else 1 + front[0].count("\n")).blocks(root)


@dataclass(slots=True)
class _BulletReader:
    """The state of one reading: where in the headings it is."""

    source: SourceFile
    first_line: int
    category: str = DEFAULT_CATEGORY
    path: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    keys: SourceKeys = field(default_factory=lambda: SourceKeys("memory-md"))

    def blocks(self, root: SyntaxTreeNode) -> Iterator[ImportItem | SkippedItem]:
        title = _title(root)
        for node in root.children:
            if node.type == "heading":
                self.enter(node, is_title=node is title)
            elif node.type in _LISTS:
                yield from self.bullets(node, context="")
            elif node.type in _LEFT_OUT:
                yield self.skip(node, _LEFT_OUT[node.type])

    def enter(self, heading: SyntaxTreeNode, *, is_title: bool) -> None:
        level = _level(heading)
        self.path = [(above, name) for above, name in self.path if above < level]
        name = _plain_text(heading)
        if name and not is_title:
            self.path.append((level, clean_category(name)))
        self.category = clean_category("/".join(name for _, name in self.path))

    def bullets(self, node: SyntaxTreeNode, *, context: str) -> Iterator[ImportItem | SkippedItem]:
        for bullet in node.children:
            own = [child for child in bullet.children if child.type == "paragraph"]
            nested = [child for child in bullet.children if child.type in _LISTS]
            left_out = [child for child in bullet.children if child not in own and child.type in _LEFT_OUT]
            text = " ".join(filter(None, map(_written_text, own)))
            whole = f"{context}: {text}" if context and text else text
            yield self.entry(bullet, whole, introduces=bool(nested) and text.endswith(":"))
            for child in left_out:
                yield self.skip(child, _LEFT_OUT[child.type])
            for child in nested:
                yield from self.bullets(child, context=whole.rstrip(" :") or context)

    def entry(self, bullet: SyntaxTreeNode, text: str, *, introduces: bool) -> ImportItem | SkippedItem:
        if not text.strip() or introduces:
            return self.skip(bullet, SkipReason.LEAD_IN if introduces else SkipReason.NO_TEXT)
        line = self.line(bullet)
        with self.source.at(line):
            content = clean_content(text)
        entry = MemoryEntry(
            id=UNNAMED,
            scope=self.source.scope,
            content=content,
            category=self.category,
            created_at=self.source.now,
            recorded_at=self.source.now,
            last_seen_at=self.source.now,
        )
        return ImportItem(record=entry, source_key=self.keys.new(self.category, content), line=line)

    def skip(self, node: SyntaxTreeNode, reason: SkipReason) -> SkippedItem:
        return SkippedItem(RecordKind.ENTRY, reason, self.line(node))

    def line(self, node: SyntaxTreeNode) -> int | None:
        return None if node.map is None else self.first_line + node.map[0]


def _title(root: SyntaxTreeNode) -> SyntaxTreeNode | None:
    """Return the first heading if it is the only one of the first level and stands above others."""
    headings = [node for node in root.children if node.type == "heading"]
    first_level = [node for node in headings if _level(node) == 1]
    return headings[0] if len(headings) > 1 and first_level == headings[:1] else None


def _level(heading: SyntaxTreeNode) -> int:
    return int(heading.tag[1:])


def _plain_text(heading: SyntaxTreeNode) -> str:
    """Return what a heading says, without its markup."""
    texts = [node.content for node in heading.walk() if node.type in ("text", "code_inline")]
    return "".join(texts).strip()


def _written_text(paragraph: SyntaxTreeNode) -> str:
    """Return a paragraph as it is written, on one line and without its comments."""
    (inline,) = paragraph.children
    text = inline.content
    for node in inline.walk():
        if node.type == "html_inline" and node.content.startswith("<!--"):
            text = text.replace(node.content, "", 1)
    return " ".join(filter(None, (line.strip() for line in text.split("\n"))))
