"""Lays out text for a screen: lines of columns, paragraphs, tables; harmless and of a given width."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from unicodedata import category, east_asian_width

from agentcore.domain.temporal import to_text

_JOINERS = frozenset("\u200c\u200d")
"""Invisible, harmless, and part of words and emoji."""
_NO_WIDTH = frozenset({"Mn", "Me", "Cf"})


def one_line(text: str) -> str:
    r"""Return *text* on one line, with every character that a terminal might obey written as its escape.

    Example:
        >>> one_line("red: \x1b[31m\n  next")
        'red: \\x1b[31m next'
    """
    return harmless(" ".join(text.split()))


def harmless(text: str) -> str:
    """Return *text* with every character that a terminal might obey written as its escape."""
    return text if text.isprintable() else "".join(map(_harmless, text))


def _harmless(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    return character.encode("unicode_escape").decode()


def encodable(text: str) -> str:
    r"""Return *text* as JSON can hold it: bytes of a file name that are no UTF-8 as their escapes.

    Example:
        >>> encodable("caf\udce9")
        'caf\\udce9'
    """
    return text.encode("utf-8", "backslashreplace").decode()


def columns(text: str) -> int:
    """Return how many columns of a terminal *text* takes.

    Example:
        >>> columns("Lin 林美玲")
        10
    """
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if category(character) in _NO_WIDTH:
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def clip(text: str, width: int) -> str:
    """Return *text* on one line of at most *width* columns, the rest as an ellipsis.

    Example:
        >>> clip("Ana moved to Lisbon", 10)
        'Ana moved…'
    """
    line = one_line(text)
    if columns(line) <= width:
        return line
    head, _ = _cut(line, max(1, width - 1))
    return head.rstrip() + "…"


def wrapped(text: str, width: int, *, first: str = "", rest: str | None = None) -> Iterator[str]:
    """Yield *text* in lines of at most *width* columns, the first after *first*, the others after *rest*.

    Example:
        >>> list(wrapped("Ana moved to Lisbon", 14, first="- ", rest="  "))
        ['- Ana moved to', '  Lisbon']
    """
    hanging = " " * columns(first) if rest is None else rest
    line, is_empty = first, True
    for word in one_line(text).split(" "):
        left = word
        while True:
            joint = "" if is_empty else " "
            if columns(line) + len(joint) + columns(left) <= width:
                line, is_empty = line + joint + left, False
                break
            if is_empty:
                head, left = _cut(left, max(1, width - columns(line)))
                line += head
            yield line
            line, is_empty = hanging, True
            if not left:
                break
    if not is_empty:
        yield line


def _cut(text: str, width: int) -> tuple[str, str]:
    """Return as much of *text* as fits *width* columns (one character at least), and what is left."""
    used = 0
    for place, character in enumerate(text):
        used += _columns(character)
        if used > width and place:
            return text[:place], text[place:]
    return text, ""


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun.

    Example:
        >>> counted(1, "entry", "entries"), counted(1200, "turn")
        ('1 entry', '1,200 turns')
    """
    noun = singular if number == 1 else plural or f"{singular}s"
    return f"{number:,} {noun}"


def when(instant: datetime | None) -> str:
    """Return an instant to the minute, in UTC.

    Example:
        >>> from datetime import UTC
        >>> when(datetime(2025, 10, 12, 20, tzinfo=UTC))
        '2025-10-12 20:00 UTC'
    """
    return "never" if instant is None else f"{to_text(instant)[:16].replace('T', ' ')} UTC"


class Tone(StrEnum):
    """What a line is; the value is the style a terminal gives it."""

    PLAIN = ""
    TITLE = "bold"
    ADDED = "green"
    REMOVED = "red"
    FAINT = "dim"
    WARNING = "yellow"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of output, whatever it holds; the screen makes it harmless."""

    text: str = ""
    tone: Tone = Tone.PLAIN


Lines = Iterator[Line]


def clipped(text: str, width: int, *, first: str = "", tone: Tone = Tone.PLAIN) -> Line:
    """Return *text* after *first* on one line of at most *width* columns."""
    return Line(first + clip(text, width - columns(first)), tone)


def paragraph(text: str, width: int, *, first: str = "", rest: str | None = None, tone: Tone = Tone.PLAIN) -> Lines:
    """Yield *text* wrapped to *width* columns."""
    for line in wrapped(text, width, first=first, rest=rest):
        yield Line(line, tone)


def numbers_table(rows: Sequence[Sequence[str]], names: int, *, gap: int = 2) -> Lines:
    """Yield a heading, rows and a sum in columns: the first *names* of them to the left, numbers to the right."""
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    for place, row in enumerate(rows):
        padding = [" " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [cell + blank for cell, blank in zip(row[:names], padding, strict=False)]
        cells += [blank + cell for cell, blank in zip(row[names:], padding[names:], strict=True)]
        tone = Tone.TITLE if place in {0, len(rows) - 1} else Tone.PLAIN
        yield Line((" " * gap).join(cells).rstrip(), tone)


def table(rows: Iterable[tuple[str, ...]], width: int, *, indent: str = "", gap: int = 2) -> Lines:
    """Yield rows in columns as wide as their widest cell; the last column is wrapped to what is left."""
    given = list(rows)
    if not given:
        return
    widths = [max(columns(row[place]) for row in given) for place in range(len(given[0]) - 1)]
    for row in given:
        cells = (cell + " " * (size - columns(cell) + gap) for cell, size in zip(row, widths, strict=False))
        yield from paragraph(row[-1], width, first=indent + "".join(cells))
