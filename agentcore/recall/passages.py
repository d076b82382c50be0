"""Cuts long texts into passages of whole sentences, which are what recall indexes, scores and shows."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

BYTES_PER_TOKEN: Final = 4
"""Bytes of UTF-8 that count as a token, as `agentcore.llm.chat.estimate_tokens` counts."""

# Each look behind has one width, so that a run of full stops costs no more than its length.
_END: Final = re.compile(r"\n|(?<=[.!?…])\s|(?<=[.!?…][\"')\]»”\u2019*])\s|(?<=[。\uff01\uff1f｡।])(?=.)")


class Span(NamedTuple):
    """Where a part of a text begins and ends, in characters."""

    start: int
    end: int


def cut_passages(text: str, tokens: int) -> list[Span]:
    """Return the passages of a text: all of it if it is short enough, else as many whole sentences each as fit.

    A line ends a sentence too, so that code and lists are cut at their lines. A sentence that is too long by itself is
    cut at a space, or anywhere where there is none. What stands between two passages is white space.

    Args:
        text: Any text.
        tokens: Size of a passage at most, 1 or more, a token being four bytes of UTF-8.

    Example:
        >>> text = "It rained. Ana moved to Porto. It was May."
        >>> [text[start:end] for start, end in cut_passages(text, 6)]
        ['It rained.', 'Ana moved to Porto.', 'It was May.']
    """
    most = tokens * BYTES_PER_TOKEN
    if size(text) <= most:
        return [Span(0, len(text))]
    found: list[Span] = []
    first = last = held = 0
    for start, end in _sentences(text, most):
        sized = size(text[start:end])
        if held and held + sized > most:
            found.append(_stripped(text, first, last))
            held = 0
        if held or not text[start:end].isspace():
            first, last = (first, end) if held else (start, end)
            held += sized
    if held:
        found.append(_stripped(text, first, last))
    return found or [Span(0, len(text))]


def within(text: str, span: Span | None) -> str:
    """Return the part of a text that a span is of; without one all of it."""
    return text if span is None else text[span.start : span.end]


def size(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _sentences(text: str, most: int) -> Iterator[tuple[int, int]]:
    """Yield where sentences begin and end, with the white space behind them; none has more than *most* bytes."""
    start = 0
    for match in _END.finditer(text):
        yield from _pieces(text, start, match.end(), most)
        start = match.end()
    yield from _pieces(text, start, len(text), most)


def _pieces(text: str, start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    while end - start > most or size(text[start:end]) > most:
        head = text[start : start + most].encode("utf-8", "surrogatepass")[:most]
        at = start + max(1, len(head.decode("utf-8", "ignore")))
        space = text.rfind(" ", start + (at - start) // 2, at)
        at = space + 1 if space > start else at
        yield start, at
        start = at
    if start < end:
        yield start, end


def _stripped(text: str, start: int, end: int) -> Span:
    inside = text[start:end]
    return Span(start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip()))
