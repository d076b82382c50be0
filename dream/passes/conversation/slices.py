"""Divides what is longer than a prompt at headings and sentences, so that all of it is read."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from agentcore.domain.conversation import Turn
from dream.domain.rounds import ShownPart
from dream.passes.conversation.sentences import sentences_in
from dream.passes.prompts import quoted

_HEADING: Final = re.compile(r"#{1,6}\s")
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")
_WORD: Final = re.compile(r"\S+\s*|\s+")
_LEAST: Final = 200
"""Bytes that a slice must have room for; below that its line has more room than its words."""
_WIDEST: Final = 6
"""Bytes of one character at most, as JSON writes it."""
_BYTES: Final = 4
"""Of a token."""
Place = tuple[int, int]
"""Where a text begins and ends in another, in characters."""


@dataclass(frozen=True, slots=True)
class TurnSlice:
    """A turn as a prompt shows it: whole, or one of the slices of a long one.

    Args:
        turn: It, with the words that are shown.
        span: Where in the stored turn these stand; None for all of it.
    """

    turn: Turn
    span: ShownPart | None = None


def slices_of(turn: Turn, room: int, weigh: Callable[[Turn], int]) -> list[TurnSlice]:
    """Return the turn, or the slices of one that has no room as a whole; none if not even a slice has.

    Slices end between sentences, or between words where one sentence alone is longer. No two of them have room in
    one prompt.

    Args:
        turn: It.
        room: Tokens of a prompt's lines.
        weigh: Returns what the line of a turn takes.
    """
    if weigh(turn) <= room:
        return [TurnSlice(turn)]
    most = (room - weigh(replace(turn, content=""))) * _BYTES
    if most < _LEAST:
        return []
    text = turn.content
    places = _joined(text, most, _cut(text, most))
    return [TurnSlice(replace(turn, content=text[start:end]), ShownPart(turn.id, start, end)) for start, end in places]


def sections_of(text: str, tokens: int) -> list[Place]:
    r"""Return the places of the parts of a Markdown text, each of so many tokens at most; none if that is too few.

    They end before headings; what stands under one and is longer ends with its sentences.

    Example:
        >>> text = "# A\n" + "Go on. " * 60 + "\n# B\n```\n# no heading\n```\n" + "Stop. " * 60
        >>> [text[start:end][:7] for start, end in sections_of(text, 120)], len(sections_of(text, 60))
        (['# A\nGo ', '# B\n```'], 4)
    """
    most = tokens * _BYTES
    if most < _LEAST:
        return []
    starts, is_fenced, at = [0], False, 0
    for line in text.splitlines(keepends=True):
        is_fenced ^= _FENCE.match(line) is not None
        if at and not is_fenced and _HEADING.match(line) is not None:
            starts.append(at)
        at += len(line)
    found: list[Place] = []
    for start, end in pairwise([*starts, len(text)]):
        part = text[start:end]
        cut = [(0, len(part))] if _size(part) <= most else _joined(part, most, _cut(part, most))
        found += [(start + one, start + other) for one, other in cut]
    # What stands between them, line breaks, stays there whatever becomes of them.
    return [(start, start + len(text[start:end].rstrip())) for start, end in _joined(text, most, found)]


def _cut(text: str, most: int) -> Iterator[Place]:
    """Yield the places of sentences, and of the parts of those that are too long."""
    at = 0
    for sentence in sentences_in(text):
        start = text.index(sentence, at)
        at = start + len(sentence)
        if _size(sentence) <= most:
            yield start, at
        else:
            words = ((start + one.start(), start + one.end()) for one in _WORD.finditer(sentence))
            yield from _joined(text, most, (part for word in words for part in _short(text, most, word)))


def _short(text: str, most: int, place: Place) -> Iterator[Place]:
    start, end = place
    if _size(text[start:end]) <= most:
        yield place
        return
    step = most // _WIDEST
    yield from ((one, min(one + step, end)) for one in range(start, end, step))


def _joined(text: str, most: int, places: Iterable[Place]) -> Iterator[Place]:
    """Yield places that are put together as long as there is room."""
    begun: Place | None = None
    used = 0
    for start, end in places:
        more = _size(text[begun[1] if begun else start : end])
        if begun is not None and used + more <= most:
            begun, used = (begun[0], end), used + more
            continue
        if begun is not None:
            yield begun
        begun, used = (start, end), _size(text[start:end])
    if begun is not None:
        yield begun


def _size(text: str) -> int:
    return len(quoted(text).encode()) - 2
