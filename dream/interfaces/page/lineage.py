"""Lays out where a memory came from and what became of it, as a graph of four columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_WIDE: Final = 210
_HIGH: Final = 62
_GAP: Final = 14
_BETWEEN: Final = 70
_MOST: Final = 12
"""Boxes of a column; of more the first are drawn."""
_LINE: Final = 26
_LINES: Final = 3


@dataclass(frozen=True, slots=True)
class Box:
    """A turn or an entry in the graph.

    Args:
        name: Its id.
        kind: `turn`, `entry`, or `this`.
        lines: The beginning of its text.
        whole: Its text, for whoever points at it.
        x: Where it stands, from the left.
        y: Where it stands, from the top.
    """

    name: str
    kind: str
    lines: tuple[str, ...]
    whole: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class LineageGraph:
    """A graph: boxes, lines between them as paths of SVG, and the size of the whole."""

    boxes: tuple[Box, ...]
    lines: tuple[str, ...]
    width: int
    height: int
    left_out: int = 0
    wide: int = _WIDE
    high: int = _HIGH


def lineage(memory: Mapping[str, Any], why: Mapping[str, Any]) -> LineageGraph | None:
    """Return the graph of a memory, from the turns to what was made of it; None if it stands alone.

    Args:
        memory: The memory.
        why: Its history.
    """
    columns = [
        [("turn", one["id"], one["content"]) for one in why["turns"]],
        [("entry", one["id"], one.get("content", "")) for one in why["ancestors"]],
        [("this", memory["id"], memory["content"])],
        [("entry", one["id"], one.get("content", "")) for one in why["descendants"]],
    ]
    if sum(map(len, columns)) == 1:
        return None
    drawn = [column[:_MOST] for column in columns if column]
    tallest = max(map(len, drawn))
    height = tallest * (_HIGH + _GAP) - _GAP
    boxes: dict[str, Box] = {}
    for place, column in enumerate(drawn):
        top = (height - (len(column) * (_HIGH + _GAP) - _GAP)) // 2
        for row, (kind, name, text) in enumerate(column):
            x, y = place * (_WIDE + _BETWEEN), top + row * (_HIGH + _GAP)
            boxes[name] = Box(name, kind, _lines(text), text[:500], x, y)
    lines = tuple(_line(boxes[one], boxes[other]) for one, other in _edges(memory, why, boxes))
    left_out = sum(map(len, columns)) - len(boxes)
    return LineageGraph(tuple(boxes.values()), lines, len(drawn) * (_WIDE + _BETWEEN) - _BETWEEN, height, left_out)


def _edges(memory: Mapping[str, Any], why: Mapping[str, Any], boxes: Mapping[str, Box]) -> Iterable[tuple[str, str]]:
    for entry in (memory, *why["ancestors"], *why["descendants"]):
        # A source is written as its kind and its id.
        sources = {str(one).partition(":")[2] for one in entry.get("sources", ())}
        yield from ((one, entry["id"]) for one in sorted(sources) if one in boxes and entry["id"] in boxes)


def _line(one: Box, other: Box) -> str:
    (left, right) = (one, other) if one.x <= other.x else (other, one)
    begins, ends = left.x + _WIDE, right.x
    if left.x == right.x:
        # Both stand in one column: around its right side.
        top, low, bend = one.y + _HIGH // 2, other.y + _HIGH // 2, begins + _BETWEEN // 3
        return f"M{begins} {top} C{bend} {top} {bend} {low} {begins} {low}"
    middle = (begins + ends) // 2
    first, last = left.y + _HIGH // 2, right.y + _HIGH // 2
    return f"M{begins} {first} C{middle} {first} {middle} {last} {ends} {last}"


def _lines(text: str) -> tuple[str, ...]:
    """Cut the beginning of a text into lines of a box.

    Example:
        >>> _lines("Ana moved to Porto in May, to work for a bakery there, which belongs to a cousin.")
        ('Ana moved to Porto in May,', 'to work for a bakery', 'there, which belongs to …')
    """
    found, line = list[str](), ""
    for word in text[:500].split():
        longer = f"{line} {word}".strip()
        if len(longer) <= _LINE:
            line = longer
            continue
        if line:
            found.append(line)
        line = word[:_LINE]
    found.append(line)
    if len(found) > _LINES:
        last = found[_LINES - 1][: _LINE - 2]
        found = [*found[: _LINES - 1], f"{last.rpartition(' ')[0] or last} …"]
    return tuple(found)
