"""A line of output, and what it is, so that a terminal may colour it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dream.interfaces.cli.render.text import clip, columns, wrapped


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
