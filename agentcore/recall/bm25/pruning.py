"""Finds the best documents of a query without scoring all that match.

Rare terms are read first, common ones only for the documents that can still win: MaxScore (Turtle and Flood, "Query
evaluation: strategies and optimizations", Information Processing and Management 31, 1995). Once the terms left cannot
lift a document that has none of the others above the k best so far, only documents already met are looked up in them.

A document that repeats a term gains far more by it than the many that name it once. So the worth of a single occurrence
bounds what a term can add, and the few repetitions, which the index knows, are counted by themselves: first for the
documents that were met; then, as the k best so far are nearly the best there are, for the others where that can still
matter.

The answer is exact: bounds are compared with a slack wider than rounding, and who is left is scored anew as without
pruning.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeAlias

import numpy as np

from agentcore.recall.bm25.arrays import Floats, Keys, Slots, SparseSums, runs
from agentcore.recall.bm25.postings import Postings

_PER_DOCUMENT: Final = 0.2
_PER_NOTED: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCost:
    """What the ways cost; changes no answer.

    Args:
        vector: What the long vector costs besides its length.
        prune_from: What reading everything has to cost before pruning is tried, which takes long for few documents.
        prune_to: Terms of a query beyond which hardly a document is hopeless.
        most_read: Share of what reading everything costs that pruning may read before it is given up.
        lookup: Looking one document up in one term.
        neighbours: Postings that a search for neighbours reads sooner than it looks documents up in them.
    """

    vector: float = 1_600.0
    prune_from: float = 120_000.0
    prune_to: float = 8
    most_read: float = 1 / 16
    lookup: float = 4.0
    neighbours: int = 16_000

    def is_noting_shorter(self, postings: int, documents: int) -> bool:
        """Tell whether so few postings are read that noting the documents they name is shorter than a long vector."""
        return _PER_NOTED * postings < _of_everything(postings, documents) + self.vector

    def may_prune(self, terms: int, postings: int, documents: int) -> bool:
        """Tell whether pruning is worth a try."""
        return terms <= self.prune_to and _of_everything(postings, documents) >= self.prune_from

    def is_reading_in_vain(self, read: int, postings: int, documents: int) -> bool:
        """Tell whether so much has been read without an end in sight that reading everything is shorter."""
        return read > self.most_read * _of_everything(postings, documents)

    def is_looking_up_shorter(self, lookups: int, unread: int, documents: int) -> bool:
        """Tell whether so many lookups are shorter than reading the rest, too."""
        return self.lookup * lookups <= _of_everything(unread, documents)


def _of_everything(postings: int, documents: int) -> float:
    return postings + _PER_DOCUMENT * documents


Factors: TypeAlias = Callable[[Keys, Floats], Floats]
"""From keys, shape (documents,), and the numbers beside them, shape (columns, documents), to what each score
is multiplied with: finite numbers, shape (documents,). Documents given zero or less are left out."""

SLACK: Final = 1.0 + 1e-9
LEADERS: Final = 48
_MOST_LEADERS: Final = 512
LOOKUPS_PER_SCAN: Final = 16
"""Postings that can be read in the time of one lookup."""
_WORTH_ANOTHER_LOOK: Final = 500
"""Documents still to be looked up from which looking for a higher threshold is worth it."""
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
        cost: When to give up.
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
        cost: QueryCost,
    ) -> None:
        self._postings = postings
        self._sums = sums
        self._saturations = saturations
        self._terms = terms
        self._k = k
        self._factors = factors
        self._most = (1.0 if factors is None else most) * SLACK
        self._cost = cost
        self._threshold = 0.0
        self._rest = [*accumulate((term.once for term in reversed(terms)), initial=0.0)][::-1]
        self._unread = [*accumulate((term.postings for term in reversed(terms)), initial=0)][::-1]

    def run(self) -> Slots | None:
        """Return all documents that can be among the k best and few others; None if reading everything is shorter."""
        documents = self._postings.slot_count
        self._sums.begin(documents)
        place = self._read()
        met = self._sums.touched()
        lookups = len(met) * (len(self._terms) - place)
        if place < 0 or not self._cost.is_looking_up_shorter(lookups, self._unread[place], documents):
            self._sums.drain()
            return None
        if place == len(self._terms):
            met = met[self._sums.at(met) * self._most >= self._threshold]
            self._sums.drain()
            return met
        met = np.sort(met, kind="stable")
        best = self._completed(met, self._sums.at(met), place)
        self._sums.drain()
        repeating = self._repeating(self._terms[place:], met)
        if len(repeating):
            self._sums.add(repeating, 1.0)
            best = np.concatenate([best, self._completed(repeating, np.zeros(len(repeating)), place)])
            self._sums.drain()
        return best

    def _read(self) -> int:
        """Sum the terms whose documents can win by these and the later ones alone.

        Returns:
            How many terms these are, or -1 if there seems to be no end of it.
        """
        since_look = _POSTINGS_PER_LOOK * len(self._terms)
        everything, documents = self._unread[0], self._postings.slot_count
        for place, term in enumerate(self._terms):
            if self._rest[place] * self._most < self._threshold:
                return place
            if place and self._cost.is_reading_in_vain(everything - self._unread[place + 1], everything, documents):
                return -1
            slots, totals = self._add(term, *self._postings.postings(term.number))
            since_look += len(slots)
            if since_look >= _POSTINGS_PER_LOOK * (len(self._terms) - place - 1):
                self._threshold = max(self._threshold, self._reached(slots, totals, place + 1))
                since_look = 0
        return len(self._terms)

    def _add(self, term: Term, slots: Slots, shapes: Slots) -> tuple[Slots, Floats]:
        return slots, self._sums.add(slots, self._worth(term, shapes))

    def _completed(self, slots: Slots, totals: Floats, place: int) -> Slots:
        """Look documents up in the terms from *place* on; return those that can be among the k best.

        Args:
            slots: The documents, ascending; exactly these and maybe others have been touched.
            totals: What the terms before *place* give them.
            place: The first of the terms that are still to be added.
        """
        later = self._terms[place:]
        more = self._more_by_repeats(slots, later)
        kept = (totals + more + self._rest[place]) * self._most >= self._threshold
        slots, totals, more = slots[kept], totals[kept], more[kept]
        own = self._largest_factors(slots)
        for number, term in enumerate(later, start=place):
            kept = (totals + more + self._rest[number]) * own >= self._threshold
            slots, totals, more, own = slots[kept], totals[kept], more[kept], own[kept]
            self._look_up(slots, totals, term)
            if len(slots) >= _WORTH_ANOTHER_LOOK:
                self._threshold = max(self._threshold, self._reached(slots, totals, number + 1))
        return slots[totals * own >= self._threshold]

    def _more_by_repeats(self, slots: Slots, terms: Sequence[Term]) -> Floats:
        """Return how much more than single occurrences the repetitions of terms are worth to documents."""
        more = np.zeros(len(slots))
        for term in terms:
            places, shapes = self._places(slots, *self._postings.repeats(term.number))
            more[places] += np.maximum(self._worth(term, shapes) - term.once, 0.0)
        return more

    def _repeating(self, terms: Sequence[Term], met: Slots) -> Slots:
        """Return the documents not met yet that repeat one of the terms, but for terms in which it cannot matter.

        Args:
            terms: Terms that a document which has each of them once cannot win by.
            met: Documents that are none of these, ascending.
        """
        spare = self._threshold / self._most - sum(term.once for term in terms)
        found: list[Slots] = []
        for term in reversed(terms):
            if term.most - term.once < spare:
                spare -= term.most - term.once
            else:
                found.append(self._postings.repeats(term.number)[0])
        if not found:
            return met[:0]
        slots, _ = runs(np.sort(np.concatenate(found), kind="stable"))
        return slots[met.take(met.searchsorted(slots), mode="clip") != slots] if len(met) else slots

    def _largest_factors(self, slots: Slots) -> Floats:
        """Return what the score of each document can be multiplied with; most are worth far less than the largest."""
        if self._factors is None:
            return np.full(len(slots), self._most)
        return self._factors(self._postings.keys(slots), self._postings.values(slots)) * SLACK

    def _reached(self, slots: Slots, totals: Floats, place: int) -> float:
        """Return what the k-th best of a few good documents scores in the end; the k-th best of all scores no less."""
        leaders = leaders_of(totals, max(LEADERS, 2 * self._k))
        slots, totals = slots[leaders], totals[leaders]
        for term in self._terms[place:]:
            held, shapes = self._postings.found(term.number, slots)
            totals[held] += self._worth(term, shapes)
        return reached(self._postings, slots, totals, self._k, self._factors)

    def _look_up(self, slots: Slots, totals: Floats, term: Term) -> None:
        """Add what a term gives to documents."""
        if term.postings < LOOKUPS_PER_SCAN * len(slots):
            places, shapes = self._places(slots, *self._postings.postings(term.number))
        else:
            places, shapes = self._postings.found(term.number, slots)
        totals[places] += self._worth(term, shapes)

    def _places(self, slots: Slots, posted: Slots, shapes: Slots) -> tuple[Slots, Slots]:
        """Return which of some touched documents are posted, by place, and the shape of each one's posting."""
        touched = np.flatnonzero(self._sums.at(posted))
        posted, shapes = posted[touched], shapes[touched]
        places = slots.searchsorted(posted)
        held = np.flatnonzero(slots.take(places, mode="clip") == posted) if len(slots) else touched[:0]
        return places[held], shapes[held]

    def _worth(self, term: Term, shapes: Slots) -> Floats:
        return self._saturations.take(shapes) * term.weight


def reached(postings: Postings, slots: Slots, totals: Floats, k: int, factors: Factors | None) -> float:
    """Return the k-th best score of documents, zero if fewer are alive: the k-th best of more documents is no less.

    Args:
        postings: The documents.
        slots: Some of them.
        totals: Their scores before factors.
        k: Which of the scores is wanted.
        factors: What scores are multiplied with.
    """
    if postings.dead:
        alive = postings.alive(slots)
        slots, totals = slots[alive], totals[alive]
    if factors is not None:
        totals = totals * factors(postings.keys(slots), postings.values(slots))
    if len(totals) < k:
        return 0.0
    return max(0.0, float(np.partition(totals, len(totals) - k)[len(totals) - k]))


def leaders_of(totals: Floats, count: int) -> Slots:
    """Return the places of high totals, not always the highest: about *count* of them, if there are as many."""
    width = len(totals) // (2 * count)
    if width < 2:
        return np.arange(len(totals))
    blocks = totals[: width * 2 * count].reshape(width, 2 * count).max(axis=0)
    least = np.partition(blocks, count)[count]
    return np.flatnonzero(totals >= least)[:_MOST_LEADERS]
