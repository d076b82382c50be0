"""Weights terms and sums the scores of the documents that match a query."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np

from agentcore.errors import InvalidOptionsError
from agentcore.recall.bm25.arrays import Floats, Keys, Slots, SparseSums, first_places
from agentcore.recall.bm25.postings import Postings
from agentcore.recall.bm25.pruning import (
    LEADERS,
    LOOKUPS_PER_SCAN,
    SLACK,
    Factors,
    PrunedSearch,
    QueryCost,
    Term,
    leaders_of,
    reached,
)


class Weighting(StrEnum):
    """How rare terms outweigh common ones."""

    LUCENE = "lucene"
    """log(1 + (N - df + 0.5) / (df + 0.5)), always positive; a query's repeated terms count once."""
    OKAPI = "okapi"
    """The scores of `rank_bm25.BM25Okapi` on the live documents; a query's repeated terms count each time."""


_DEFAULTS: Final = {Weighting.LUCENE: (1.2, 0.25), Weighting.OKAPI: (1.5, 0.75)}


@dataclass(frozen=True, slots=True)
class Formula:
    """BM25 with its parameters: a term adds idf times saturation.

    Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, section 3. Lucene's form
    drops the factor k1 + 1, so that a term adds less than its idf.

    Args:
        weighting: Which form.
        k1: How soon repetitions stop counting.
        b: How much long documents are held back.
    """

    weighting: Weighting
    k1: float
    b: float

    @classmethod
    def of(cls, weighting: Weighting, k1: float | None, b: float | None) -> "Formula":
        """Return the formula with the defaults of its form in place of None.

        Raises:
            InvalidOptionsError: If a number is out of range.
        """
        default_k1, default_b = _DEFAULTS[weighting]
        formula = cls(weighting, default_k1 if k1 is None else k1, default_b if b is None else b)
        if not 0.0 <= formula.k1 < math.inf:
            raise InvalidOptionsError(field="k1", value=k1, allowed="give a finite number of 0 or more")
        if not 0.0 <= formula.b <= 1.0:
            raise InvalidOptionsError(field="b", value=b, allowed="give a number from 0 to 1")
        return formula

    def saturations(self, counts: Floats, lengths: Floats, average: float) -> Floats:
        """Return what each pair of a term's count and a document's length is worth, shape (pairs,).

        Args:
            counts: How often the term stands in the document, 1 or more.
            lengths: Terms of the document.
            average: Terms of a document on average, above 0.
        """
        denominators = counts + self.k1 * (1 - self.b + self.b * lengths / average)
        return counts * (self.k1 + 1 if self.weighting is Weighting.OKAPI else 1) / denominators

    def most(self, count: int, length: int, average: float) -> float:
        """Return the saturation of one pair: more than that of any smaller count and any greater length."""
        worth = count / (count + self.k1 * (1 - self.b + self.b * length / average))
        return worth * (self.k1 + 1) if self.weighting is Weighting.OKAPI else worth


def lucene_idf(total: int, frequency: int) -> float:
    """Return the weight of a term that *frequency* of *total* documents hold; above 0."""
    return math.log1p((total - frequency + 0.5) / (frequency + 0.5))


def okapi_idf(total: int, frequency: int) -> float:
    """Return the weight that BM25 first gave it, below 0 for a term of more than half the documents."""
    return math.log(total - frequency + 0.5) - math.log(frequency + 0.5)


Weights: TypeAlias = Sequence[tuple[int, float]]
"""Terms of a query by number, in the order in which scores are summed, and their idf."""

_JUDGED_PER_POSTING: Final = 20
"""Documents that a filter judges one after the other in the time in which it looks up one that a posting names."""
_MOST_WORTH_PRUNING: Final = 1_000
"""Documents wanted beyond which hardly any is hopeless."""


class Scoring:
    """Scores the documents of one index; lives as long as it.

    Args:
        postings: The documents.
        formula: What a term adds to a score.
        epsilon: Share of the average idf that okapi gives to terms of more than half the documents.
        cost: Which way to answer is the shortest.
    """

    def __init__(self, postings: Postings, formula: Formula, *, epsilon: float, cost: QueryCost) -> None:
        self._postings = postings
        self._formula = formula
        self._epsilon = epsilon
        self.cost = cost
        self._average_idf = (-1, 0.0)
        self._saturations = (-1, np.zeros(0))
        self.sums = SparseSums()
        """A scratch vector, empty between calls."""

    def candidates(self, terms: Weights, k: int, factors: Factors | None, most: float) -> tuple[Slots, Floats]:
        """Documents and scores before factors: those of the k best and some others, tombstones among them."""
        is_bounded = factors is None or most < math.inf
        if not (terms and is_bounded and 0 < k <= _MOST_WORTH_PRUNING) or any(weight <= 0.0 for _, weight in terms):
            return self.sum(terms)
        counts = [self._postings.posting_count(number) for number, _ in terms]
        documents = self._postings.slot_count
        if self.cost.may_prune(len(terms), sum(counts), documents):
            slots = self._pruned(terms, counts, k, factors, most)
            if slots is not None:
                return self.looked_up(terms, slots)
        elif self.cost.is_noting_shorter(sum(counts), documents):
            return self.sum(terms)
        return self._best_of_all(terms, k, factors, 1.0 if factors is None else most)

    def _pruned(
        self, terms: Weights, counts: Sequence[int], k: int, factors: Factors | None, most: float
    ) -> Slots | None:
        bounded = [self._bounded(number, weight, count) for (number, weight), count in zip(terms, counts, strict=True)]
        search = PrunedSearch(
            self._postings,
            self.sums,
            self._worth(),
            sorted(bounded, key=lambda term: -term.weight),
            k=k,
            factors=factors,
            most=most,
            cost=self.cost,
        )
        return search.run()

    def _best_of_all(self, terms: Weights, k: int, factors: Factors | None, most: float) -> tuple[Slots, Floats]:
        """Read everything, and leave out what is below the k best of a few good ones even with the largest factor."""
        self.sums.begin(self._postings.slot_count)
        worth = self._worth()
        for number, weight in terms:
            slots, shapes = self._postings.postings(number)
            self.sums.add_unnoted(slots, worth.take(shapes) * weight)
        totals = self.sums.everywhere()
        good = leaders_of(totals, max(LEADERS, 2 * k))
        least = reached(self._postings, good, totals[good], k, factors)
        kept = np.flatnonzero(totals >= least / (most * SLACK) if least > 0.0 else totals)
        scores = totals[kept]
        self.sums.clear()
        return kept, scores

    def _bounded(self, number: int, weight: float, count: int) -> Term:
        (repeated, length), average = self._postings.bounds(number), self._average_length()
        once, most = (weight * self._formula.most(times, length, average) for times in (1, repeated))
        return Term(number, weight, once, most, count)

    def few(self, terms: Weights, among: Callable[[], Keys]) -> Slots | None:
        """Return the documents that *among* gives if they are looked up sooner than all postings are read."""
        postings = self._postings
        unread = sum(postings.posting_count(number) for number, _ in terms)
        if unread * _JUDGED_PER_POSTING < len(postings):
            return None
        keys = among()
        if len(keys) * len(terms) * LOOKUPS_PER_SCAN > unread:
            return None
        return np.array([postings.slot_of(key) for key in keys.tolist() if key in postings], dtype=np.intp)

    def looked_up(self, terms: Weights, slots: Slots) -> tuple[Slots, Floats]:
        """Those of a few documents that hold one of the terms, and their scores, summed in the order of the terms."""
        worth = self._worth() if terms else np.zeros(0)
        scores, matching = np.zeros(len(slots)), np.zeros(len(slots), dtype=np.bool_)
        for number, weight in terms:
            held, shapes = self._postings.found(number, slots)
            scores[held] += worth.take(shapes) * weight
            matching[held] = True
        return slots[matching], scores[matching]

    def sum(self, terms: Weights) -> tuple[Slots, Floats]:
        """Every document with one of the terms, and its score."""
        self.sums.begin(self._postings.slot_count)
        worth = self._worth() if terms else np.zeros(0)
        for number, weight in terms:
            slots, shapes = self._postings.postings(number)
            self.sums.add(slots, worth.take(shapes) * weight)
        slots, scores = self.sums.drain()
        if any(weight <= 0.0 for _, weight in terms):
            # A score may be zero, so a document can have been touched as new more than once.
            first = first_places(slots)
            slots, scores = slots[first], scores[first]
        return slots, scores

    def _worth(self) -> Floats:
        """What each shape of a posting is worth as of now."""
        revision, worth = self._saturations
        if revision != self._postings.revision:
            worth = self._formula.saturations(*self._postings.shapes(), self._average_length())
            self._saturations = (self._postings.revision, worth)
        return worth

    def _average_length(self) -> float:
        return self._postings.total_length / len(self._postings)

    def weighted(self, query_terms: Iterable[str]) -> Weights:
        """Term numbers and their idf, rarest first for lucene, in the query's order for okapi."""
        postings = self._postings
        okapi = self._formula.weighting is Weighting.OKAPI
        known = [
            (frequency, term, number)
            for term in (query_terms if okapi else dict.fromkeys(query_terms))
            if (number := postings.term_id(term)) is not None and (frequency := postings.document_frequency(number)) > 0
        ]
        if okapi:
            return [(number, self._okapi_weight(frequency)) for frequency, _, number in known]
        known.sort()
        return [(number, lucene_idf(len(postings), frequency)) for frequency, _, number in known]

    def _okapi_weight(self, frequency: int) -> float:
        idf = okapi_idf(len(self._postings), frequency)
        return idf if idf >= 0.0 else self._epsilon * self._mean_idf()

    def _mean_idf(self) -> float:
        revision, mean = self._average_idf
        if revision != self._postings.revision:
            frequencies = self._postings.frequencies()
            held = frequencies[frequencies > 0]
            idf = np.log(len(self._postings) - held + 0.5) - np.log(held + 0.5)
            # Summed one after the other, as Python sums: np.sum adds in pairs and rounds differently.
            mean = float(np.cumsum(idf)[-1]) / len(idf)
            self._average_idf = (self._postings.revision, mean)
        return mean
