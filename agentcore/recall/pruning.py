"""The best documents of a query without scoring all that match.

Rare terms are read first, common ones only for the documents that can still win: MaxScore (Turtle and Flood, "Query
evaluation: strategies and optimizations", Information Processing and Management 31, 1995). Once the terms left cannot
lift a document that has none of the others above the k best so far, only documents already met are looked up in them.

A document that repeats a term gains far more by it than the many that name it once. So of the terms left the few
postings with repetitions are read nevertheless where that matters, and what bounds the rest is the worth of a single
occurrence.

The answer is exact: bounds are compared with a slack wider than rounding, and who is left is scored anew as without
pruning.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from agentcore.recall.lists import Floats, Keys, Slots
from agentcore.recall.postings import Postings
from agentcore.recall.sparse_sums import SparseSums

Factors: TypeAlias = Callable[[Keys, Floats], Floats]
"""From keys, shape (documents,), and the numbers beside them, shape (columns, documents), to what each score
is multiplied with: finite numbers, shape (documents,). Documents given zero or less are left out."""

SLACK: Final = 1.0 + 1e-9
LEADERS: Final = 48
_MOST_LEADERS: Final = 512
LOOKUPS_PER_SCAN: Final = 8
"""Postings that can be read in the time of one lookup."""
_POSTINGS_PER_LOOK: Final = 4_000
"""Postings that are read in the time in which a few good documents are looked up in one term."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a query.

    Args:
        number: The term's number.
        weight: What its saturation is multiplied with, above 0.
        once: The most it adds to a document that holds it once.
        most: The most it adds to any document.
        postings: How many documents hold it, tombstones included.
    """

    number: int
    weight: float
    once: float
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
        self._most = (1.0 if factors is None else most) * SLACK
        self._look_from = look_from
        self._threshold = 0.0
        self._rest = [*accumulate((term.once for term in reversed(terms)), initial=0.0)][::-1]
        self._unread = [*accumulate((term.postings for term in reversed(terms)), initial=0)][::-1]

    def run(self) -> tuple[Slots, Floats | None]:
        """Return all documents that can be among the k best and few others; and their scores, if summed in order."""
        self._sums.begin(self._postings.slot_count)
        place = self._read()
        later = self._terms[place:]
        has_repeats = self._read_repeats(later)
        bounds = [term.once if read else term.most for term, read in zip(later, has_repeats, strict=True)]
        slots = self._hopeful(self._sums.touched(), sum(bounds))
        if later and self._factors is not None:
            # Most documents are worth far less than the largest factor.
            own = self._factors(self._postings.keys(slots), self._postings.values(slots)) * SLACK
        else:
            own = np.full(len(slots), self._most)
        for number, term in enumerate(later):
            kept = self._can_win(slots, sum(bounds[number:]), own)
            slots, own = slots[kept], own[kept]
            self._look_up(slots, term)
        if later:
            slots = slots[self._can_win(slots, 0.0, own)]
        scores = self._sums.at(slots) if place == len(self._terms) else None
        self._sums.drain()
        return slots, scores

    def _read(self) -> int:
        """Sum the terms whose documents can win by these and the later ones alone; return how many terms these are."""
        read = _POSTINGS_PER_LOOK * len(self._terms)
        for place, term in enumerate(self._terms):
            if self._rest[place] * self._most < self._threshold:
                return place
            slots, totals = self._add(term, *self._postings.postings(term.number))
            read += len(slots)
            is_worth_it = read >= _POSTINGS_PER_LOOK * (len(self._terms) - place - 1)
            if is_worth_it and max(self._unread[place + 1], len(slots)) >= self._look_from:
                self._threshold = max(self._threshold, self._reached(slots, totals, place + 1))
                read = 0
        return len(self._terms)

    def _read_repeats(self, terms: Sequence[Term]) -> list[bool]:
        """Sum the repetitions of terms, but for those that may stay unread without a document being missed.

        Returns:
            For each term whether its repetitions were read.
        """
        spare = self._threshold / self._most - sum(term.once for term in terms)
        read = [True] * len(terms)
        for number in reversed(range(len(terms))):
            more = terms[number].most - terms[number].once
            if more < spare:
                spare -= more
                read[number] = False
            else:
                self._add(terms[number], *self._postings.repeats(terms[number].number))
        return read

    def _add(self, term: Term, slots: Slots, shapes: Slots) -> tuple[Slots, Floats]:
        amounts = self._saturations.take(shapes)
        amounts *= term.weight
        return slots, self._sums.add(slots, amounts)

    def _reached(self, slots: Slots, totals: Floats, place: int) -> float:
        """Return what the k-th best of a few good documents scores in the end; the k-th best of all scores no less."""
        leaders = leaders_of(totals, max(LEADERS, 2 * self._k))
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

    def _hopeful(self, slots: Slots, rest: float) -> Slots:
        """Return those of the documents that can reach the threshold if they had the largest factor."""
        least = self._threshold / self._most - rest
        return slots if least <= 0.0 else slots[self._sums.at(slots) * SLACK >= least]

    def _can_win(self, slots: Slots, rest: float, own: Floats) -> NDArray[np.bool_]:
        """Tell which documents can still reach the threshold, each with its own factor, by what is left at most."""
        bounds = self._sums.at(slots)
        bounds += rest
        bounds *= own
        return bounds >= self._threshold

    def _look_up(self, slots: Slots, term: Term) -> None:
        """Add a term to the sums of documents met before; a repetition read before counts twice, which loses none."""
        if term.postings < LOOKUPS_PER_SCAN * len(slots):
            slots, shapes = self._postings.postings(term.number)
            totals = self._sums.at(slots)
            held = np.flatnonzero(totals)
            slots, shapes, totals = slots[held], shapes[held], totals[held]
        else:
            held, shapes = self._postings.found(term.number, slots)
            slots = slots[held]
            totals = self._sums.at(slots)
        self._sums.raise_to(slots, totals + self._saturations.take(shapes) * term.weight)


def leaders_of(totals: Floats, count: int) -> Slots:
    """Return the places of high totals, not always the highest: about *count* of them, if there are as many."""
    width = len(totals) // (2 * count)
    if width < 2:
        return np.arange(len(totals))
    blocks = totals[: width * 2 * count].reshape(width, 2 * count).max(axis=0)
    least = np.partition(blocks, count)[count]
    return np.flatnonzero(totals >= least)[:_MOST_LEADERS]
