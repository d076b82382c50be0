"""Passage: the part of a long text that answers a query."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

# Each look behind has one width, so that a run of full stops costs no more than its length.
_END: Final = re.compile(r"(?<=[.!?…])\s|(?<=[.!?…][\"')\]»”\u2019*])\s|(?<=[。\uff01\uff1f｡।])(?=.)")
_PIECES: Final = 4
"""A sentence too long to be shown is cut into pieces of this fraction of what may be shown."""


@dataclass(frozen=True, slots=True)
class Passage:
    """What is shown of a text.

    Args:
        text: One line: the text itself if it is short enough, else whole sentences around the words that matched.
        share: How much of what matched in the whole text it holds, the rarer words for more; 1 where nothing did.
        is_whole: Whether it is all of the text.
    """

    text: str
    share: float = 1.0
    is_whole: bool = True


def passage(text: str, rarity: Mapping[str, float], tokens: Callable[[str], Sequence[str]], *, longest: int) -> Passage:
    """Return the part of *text* that holds most of what was asked, in whole sentences as far as they fit.

    Args:
        text: Any text.
        rarity: The query's terms and how much each is worth.
        tokens: Cuts a text into such terms.
        longest: Characters that are shown at most, without the marks of what is left out.

    Example:
        >>> words = lambda text: text.lower().rstrip(".").split()
        >>> passage("It rained. Ana moved to Porto. It was May.", {"porto": 1.0}, words, longest=20).text
        '… Ana moved to Porto. …'
    """
    flat = " ".join(text.split())
    if len(flat) <= longest:
        return Passage(flat)
    spans = list(_sentences(text, longest))
    matched = [rarity.keys() & set(tokens(flat[start:end])) for start, end in spans]
    best, held = _best_run(spans, matched, rarity, longest)
    first, last = _widened(spans, *best, longest)
    start, end = spans[first][0], spans[last][1]
    shown = f"{'… ' if start else ''}{flat[start:end].strip()}{' …' if end < len(flat) else ''}"
    whole = sum(rarity[term] for term in set[str]().union(*matched))
    return Passage(shown, held / whole if whole else 1.0, is_whole=False)


def _sentences(text: str, longest: int) -> Iterator[tuple[int, int]]:
    """Yield where sentences begin and end in the text on one line; a line ends a sentence too."""
    at = 0
    for line in text.splitlines():
        flat = " ".join(line.split())
        if not flat:
            continue
        ends = [*(match.start() for match in _END.finditer(flat)), len(flat)]
        start = 0
        for end in ends:
            while end - start > longest:
                cut = flat.rfind(" ", start + 1, start + longest // _PIECES)
                cut = cut if cut > start else start + max(1, longest // _PIECES)
                yield at + start, at + cut
                start = cut
            if end > start:
                yield at + start, at + end
            start = end
        at += len(flat) + 1


def _best_run(
    spans: Sequence[tuple[int, int]], matched: Sequence[set[str]], rarity: Mapping[str, float], longest: int
) -> tuple[tuple[int, int], float]:
    """Return the shortest run of neighbours that holds most, the first of equals, and what it holds."""
    best, found = (0, 0), (0.0, 0)
    counts, held, first = Counter[str](), 0.0, 0
    for last, terms in enumerate(matched):
        held += sum(rarity[term] for term in terms if not counts[term])
        counts.update(terms)
        while first < last and (
            spans[last][1] - spans[first][0] > longest or all(counts[term] > 1 for term in matched[first])
        ):
            counts.subtract(matched[first])
            held -= sum(rarity[term] for term in matched[first] if not counts[term])
            first += 1
        if terms and (held, spans[first][0] - spans[last][1]) > found:
            best, found = (first, last), (held, spans[first][0] - spans[last][1])
    return best, found[0]


def _widened(spans: Sequence[tuple[int, int]], first: int, last: int, longest: int) -> tuple[int, int]:
    """Return the run with what follows it and what stands before, as far as there is room."""
    while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= longest:
        last += 1
    while first and spans[last][1] - spans[first - 1][0] <= longest:
        first -= 1
    return first, last
