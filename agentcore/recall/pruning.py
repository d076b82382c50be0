"""The best documents of a query without scoring all that match.

Rare terms are read first, common ones only for the documents that can still win:

MaxScore (Turtle and Flood, "Query evaluation: strategies and optimizations", Information Processing and Management
31, 1995). Once the terms left cannot lift a document that has none of the others above the k best so far, only
documents already met are looked up in them. The answer is exact to the last bit, for what a document scores is summed
in the same order as without pruning, and bounds are compared with a slack wider than rounding.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeAlias

import numpy as np

from agentcore.recall.lists import Floats, Keys, Slots
from agentcore.recall.postings import Postings
from agentcore.recall.sparse_sums import SparseSums

Factors: TypeAlias = Callable[[Keys, Floats], Floats]
"""From keys, shape (documents,), and the numbers beside them, shape (columns, documents), to what each score
is multiplied with: finite numbers, shape (documents,). Documents given zero or less are left out."""

_SLACK: Final = 1.0 + 1e-9
_LEADERS: Final = 48
_MOST_LEADERS: Final = 512
_LOOKUPS_PER_SCAN: Final = 8
"""Postings that can be read in the time of one lookup."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a query.

    Args:
        number: The term's number.
        weight: What its saturation is multiplied with, above 0.
        most: The most it adds to any document.
        postings: How many documents hold it, tombstones included.
    """

    number: int
    weight: float
    most: float
    postings: int


class PrunedSearch:
    """One query's search for its k best documents; lives as long as the query.

    Args:
        postings: Where to look.
        sums: A scratch vector.
        saturations: What each shape is worth.
        terms: What to look for, in the order in which scores are summed: best the rarest first.
        k: How many documents are wanted, 1 or more.
        factors: What scores are multiplied with.
        most: The largest factor.
        look_from: Postings still to be read from which looking for a higher threshold is worth it.
    """

    def __init__(
        self,
        postings: Postings,
        sums: SparseSums,
        saturations: Floats,
        terms: Sequence[Term],
        *,
        k: int,
        factors: Factors | None,
        most: float,
        look_from: int,
    ) -> None:
        self._postings = postings
        self._sums = sums
        self._saturations = saturations
        self._terms = terms
        self._k = k
        self._factors = factors
        self._most = (1.0 if factors is None else most) * _SLACK
        self._look_from = look_from
        self._threshold = 0.0
        self._rest = [*accumulate((term.most for term in reversed(terms)), initial=0.0)][::-1]
        self._unread = [*accumulate((term.postings for term in reversed(terms)), initial=0)][::-1]

    def run(self) -> tuple[Slots, Floats]:
        """Return documents and their scores before factors: all that can be among the k best, and few others."""
        self._sums.begin(self._postings.slot_count)
        place = self._read()
        slots = self._hopeful(self._sums.touched(), place)
        for later in range(place, len(self._terms)):
            self._look_up(slots, self._terms[later])
            slots = self._hopeful(slots, later + 1)
        scores = self._sums.at(slots)
        self._sums.drain()
        return slots, scores

    def _read(self) -> int:
        """Sum the terms whose documents can win by these and the later ones alone; return how many terms these are."""
        for place, term in enumerate(self._terms):
            if self._rest[place] * self._most < self._threshold:
                return place
            slots, shapes = self._postings.postings(term.number)
            amounts = self._saturations.take(shapes)
            amounts *= term.weight
            totals = self._sums.add(slots, amounts)
            if self._unread[place + 1] >= self._look_from:
                self._threshold = max(self._threshold, self._reached(slots, totals, place + 1))
        return len(self._terms)

    def _reached(self, slots: Slots, totals: Floats, place: int) -> float:
        """Return what the k-th best of a few good documents scores in the end; the k-th best of all scores no less."""
        leaders = _leaders(totals, max(_LEADERS, 2 * self._k))
        slots, totals = slots[leaders], totals[leaders]
        if self._postings.dead:
            alive = self._postings.alive(slots)
            slots, totals = slots[alive], totals[alive]
        for term in self._terms[place:]:
            held, shapes = self._postings.found(term.number, slots)
            totals[held] += self._saturations.take(shapes) * term.weight
        if self._factors is not None:
            totals *= self._factors(self._postings.keys(slots), self._postings.values(slots))
        if len(totals) < self._k:
            return 0.0
        return max(0.0, float(np.partition(totals, len(totals) - self._k)[len(totals) - self._k]))

    def _hopeful(self, slots: Slots, place: int) -> Slots:
        """Return those of the documents that can still reach the threshold by the terms from *place* on."""
        least = self._threshold / self._most - self._rest[place]
        return slots if least <= 0.0 else slots[self._sums.at(slots) * _SLACK >= least]

    def _look_up(self, slots: Slots, term: Term) -> None:
        """Add a term to the sums of documents met before."""
        if term.postings < _LOOKUPS_PER_SCAN * len(slots):
            slots, shapes = self._postings.postings(term.number)
            totals = self._sums.at(slots)
            held = np.flatnonzero(totals)
            slots, shapes, totals = slots[held], shapes[held], totals[held]
        else:
            held, shapes = self._postings.found(term.number, slots)
            slots = slots[held]
            totals = self._sums.at(slots)
        self._sums.raise_to(slots, totals + self._saturations.take(shapes) * term.weight)


def _leaders(totals: Floats, count: int) -> Slots:
    """Return the places of high totals, not always the highest: about *count* of them, if there are as many."""
    width = len(totals) // (2 * count)
    if width < 2:
        return np.arange(len(totals))
    blocks = totals[: width * 2 * count].reshape(width, 2 * count).max(axis=0)
    least = np.partition(blocks, count)[count]
    return np.flatnonzero(totals >= least)[:_MOST_LEADERS]
