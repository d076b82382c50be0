"""The documentation's pages, read the way their readers do: block by block, from top to bottom.

- A `python` block runs; blocks of a page share their names, and `await` may stand at the top level.
- In a `console` block, lines that start with `$ ` run, and what follows each must be what it prints. In a `bash` block
  every line is a command.
- A `text output` block says what the block above it prints.
- A block with the tag `file=NAME` is saved under that name.
- A tag after the language changes that: `no-run` leaves a block alone, `exit-2` expects that exit code.

In expected output, `...` stands for anything, an instant for any other, and so do seconds. Ids differ from run to run:
an id of the page stands for whichever id is printed in its place, in everything below as well.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = DOCS / "examples"


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its tags, its text, and the line it starts on."""

    language: str
    tags: frozenset[str]
    text: str
    line: int

    @property
    def exit_code(self) -> int:
        """The exit code that its commands shall have."""
        return int(self._tagged("exit-") or 0)

    @property
    def file_name(self) -> str | None:
        """The name to save it under."""
        return self._tagged("file=")

    def _tagged(self, prefix: str) -> str | None:
        return next((tag.removeprefix(prefix) for tag in self.tags if tag.startswith(prefix)), None)


@dataclass(frozen=True, slots=True)
class Command:
    """A line for a shell, and what it prints; None if the page does not say."""

    words: str
    output: str | None


def pages() -> list[Path]:
    """Return every page that is written by hand."""
    return [ROOT / "README.md", *sorted(path for path in DOCS.rglob("*.md") if EXAMPLES not in path.parents)]


def page_name(path: Path) -> str:
    """Return what a page is called in a test's name."""
    return str(path.relative_to(ROOT))


def blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    return [
        Block(language, frozenset(tags), token.content, token.map[0] + 1 if token.map else 0)
        for token in MarkdownIt("commonmark").parse(path.read_text("utf-8"))
        if token.type == "fence"
        for language, *tags in [token.info.split() or [""]]
    ]


def commands(block: Block) -> Iterator[Command]:
    """Yield the commands of a block for a shell."""
    if block.language != "console":
        for line in block.text.splitlines():
            yield from (Command(part.strip(), None) for part in line.split("&&") if part.strip())
        return
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        words, _, output = part.partition("\n")
        yield Command(words.strip(), output.rstrip() or None)


_ID = r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{6,16}\b"
_STANDS_FOR = {
    "anything": (r"\.\.\.", ".*?"),
    "instant": (r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"),
    "seconds": (r"\d+\.\d\d s", r"\d+\.\d\d s"),
}
_STAND_IN = re.compile("|".join([*(f"(?P<{name}>{written})" for name, (written, _) in _STANDS_FOR.items()), _ID]))


class Ids:
    """Which printed id each id of a page stands for; lives as long as one reading of the page."""

    def __init__(self) -> None:
        self._printed: dict[str, str] = {}

    def actual(self, text: str) -> str:
        """Return *text* of the page with the ids that were printed."""
        return re.sub(_ID, lambda found: self._of(found[0]) or found[0], text)

    def match(self, expected: str, printed: str) -> bool:
        """Tell whether *printed* is what the page shows, and note the ids that it has there."""
        names: list[str] = []
        found = re.fullmatch(self._pattern(_trimmed(expected), names), _trimmed(printed), re.DOTALL)
        if found is not None:
            self._printed.update({name: found[f"id{place}"] for place, name in enumerate(names)})
        return found is not None

    def _of(self, written: str) -> str | None:
        """Return the printed id that *written*, or an id it begins, stands for."""
        for known, printed in self._printed.items():
            if known.startswith(written):
                return printed[: len(written)]
        return None

    def _pattern(self, text: str, names: list[str]) -> str:
        pieces: list[str] = []
        end = 0
        for found in _STAND_IN.finditer(text):
            pieces += [re.escape(text[end : found.start()]), self._stand_in(found, names)]
            end = found.end()
        return "".join(pieces) + re.escape(text[end:])

    def _stand_in(self, found: re.Match[str], names: list[str]) -> str:
        if found.lastgroup is not None:
            return _STANDS_FOR[found.lastgroup][1]
        written = found[0]
        known = self._of(written)
        if known is not None:
            return re.escape(known)
        if written in names:
            return f"(?P=id{names.index(written)})"
        names.append(written)
        return f"(?P<id{len(names) - 1}>[0-9a-f]{{{len(written)}}})"


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()).rstrip()


def sections(path: Path) -> dict[str, str]:
    """Return the text under each heading of a page, the headings without their marks."""
    found: dict[str, str] = {}
    heading, in_fence = "", False
    for line in path.read_text("utf-8").splitlines():
        in_fence ^= line.startswith("```")
        if line.startswith("#") and not in_fence:
            heading = line.lstrip("#").strip()
        found[heading] = f"{found.get(heading, '')}{line}\n"
    return found


def rows(text: str) -> dict[str, str]:
    """Return the rows of the tables in *text*, by the code in their first cell."""
    found = re.finditer(r"^\| `([^`]+)`.*$", text, re.MULTILINE)
    return {row[1]: row[0] for row in found}
