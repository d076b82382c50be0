"""An exact BM25 index that changes between any two queries."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from agentcore.recall.lists import Floats, Keys, Slots
from agentcore.recall.postings import Postings
from agentcore.recall.pruning import Factors, PrunedSearch, Term
from agentcore.recall.sparse_sums import SparseSums
from agentcore.recall.weighting import Formula, Weighting, lucene_idf, okapi_idf

_WASTE_WORTH_A_COMPACTION: Final = 1024
_WORTH_PRUNING: Final = 8_000
"""Postings of a query that are read sooner than pruned."""
_MOST_WORTH_PRUNING: Final = 1_000
"""Documents wanted beyond which hardly any is hopeless."""


class Bm25Index:
    """Documents under integer keys, ranked by BM25; every change shows in the next query.

    Scores are exact (see `agentcore.recall.weighting`) and cover every live document holding a query term.
    Removed documents leave tombstones: when `needs_compaction` says so, call `compact`, or `compact_further` again
    and again between queries and changes.

    Not thread-safe: one thread owns it.

    Args:
        weighting: The formula.
        k1: How soon repetitions stop counting, >= 0; 1.2, or 1.5 for okapi.
        b: How much long documents are held back, 0..1; 0.25, or 0.75 for okapi.
        epsilon: Share of the average idf that okapi gives to terms of more than half the documents.
        columns: Numbers kept beside each document for the factors of `top`.

    Raises:
        InvalidOptionsError: If a number is out of range.

    Example:
        >>> index = Bm25Index()
        >>> index.add(7, ["ana", "move", "lisbon"])
        >>> index.add(8, ["ben", "move", "oslo"])
        >>> keys, scores = index.top(["lisbon", "move"], k=10)
        >>> keys.tolist()
        [7, 8]
    """

    def __init__(
        self,
        *,
        weighting: Weighting = Weighting.LUCENE,
        k1: float | None = None,
        b: float | None = None,
        epsilon: float = 0.25,
        columns: int = 0,
    ) -> None:
        self._formula = Formula.of(weighting, k1, b)
        self._epsilon = epsilon
        self._postings = Postings(columns)
        self._sums = SparseSums()
        self._average_idf = (-1, 0.0)
        self._saturations = (-1, np.zeros(0))

    def __len__(self) -> int:
        return len(self._postings)

    def __contains__(self, key: object) -> bool:
        return key in self._postings

    @property
    def postings(self) -> Postings:
        """The lists beneath, to read from within this package."""
        return self._postings

    @property
    def sums(self) -> SparseSums:
        """The scratch vector, empty between calls, to borrow within this package."""
        return self._sums

    @property
    def needs_compaction(self) -> bool:
        """Whether a fifth of the slots, and more than a thousand, are tombstones."""
        return self._postings.dead > _WASTE_WORTH_A_COMPACTION and self._postings.dead * 4 > len(self)

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate within a fifth, at no cost."""
        return self._postings.nbytes + self._sums.nbytes

    def add(self, key: int, tokens: Iterable[str], values: Sequence[float] = ()) -> None:
        """Index a new document.

        Args:
            key: Below 2^63, such as the record's primary key.
            tokens: Its terms, repeated as often as they occur; may be empty.
            values: One number for each column.

        Raises:
            ValueError: If the key is present already or the values do not fit the columns.
            OverflowError: If the key does not fit 64 bits.
        """
        self._postings.add(key, tokens, values)

    def update(self, key: int, tokens: Iterable[str], values: Sequence[float] = ()) -> None:
        """Index a document anew, whether or not the key is present; arguments as for `add`."""
        self._postings.add(key, tokens, values, replace=True)

    def set_values(self, key: int, values: Sequence[float]) -> None:
        """Replace the numbers beside a document without indexing it anew.

        Raises:
            KeyError: If the key is not present.
            ValueError: If the values do not fit the columns.
        """
        self._postings.set_values(key, values)

    def update_many(
        self, keys: Sequence[int], documents: Iterable[list[str]], values: Sequence[Sequence[float]] = ()
    ) -> None:
        """Index many documents anew, whether or not their keys are present, at a fraction of the cost of each alone.

        Args:
            keys: Distinct, each below 2^63.
            documents: The terms of each.
            values: For each document one number for each column.

        Raises:
            ValueError: If a key stands there twice or the shapes do not fit.
            OverflowError: If a key does not fit 64 bits.
        """
        self._postings.add_many(keys, documents, values)

    def remove(self, key: int) -> bool:
        """Forget a document.

        Returns:
            Whether it was present.
        """
        return self._postings.remove(key)

    def compact(self) -> int:
        """Free what removed documents left behind; scores stay the same.

        Returns:
            How many removed documents were still taking room.
        """
        return self._postings.compact()

    def compact_further(self) -> bool:
        """Do a few milliseconds of a compaction; queries and changes may come between two calls.

        Returns:
            Whether there is more to do.
        """
        return self._postings.compact_further()

    def document_frequency(self, term: str) -> int:
        """How many documents hold a term."""
        number = self._postings.term_id(term)
        return 0 if number is None else self._postings.document_frequency(number)

    def terms_of(self, key: int) -> list[str]:
        """The distinct terms of a document, in no particular order.

        Raises:
            KeyError: If the key is not present.
        """
        numbers, _ = self._postings.terms_at(np.array([self._postings.slot_of(key)]))
        return [self._postings.term(number) for number in numbers.tolist()]

    def score(self, query_terms: Iterable[str]) -> tuple[Keys, Floats]:
        """Score every document that holds a query term.

        Args:
            query_terms: Terms as the documents' tokenizer makes them; unknown ones add nothing.

        Returns:
            Keys and scores, shape (documents,), in no particular order.
        """
        slots, scores = self._sum(self._weighted(query_terms))
        alive = self._postings.alive(slots)
        return self._postings.keys(slots[alive]), scores[alive]

    def top(
        self,
        query_terms: Iterable[str],
        k: int,
        factors: Factors | None = None,
        most: float = math.inf,
    ) -> tuple[Keys, Floats]:
        """The k best documents, best first; equal scores by ascending key.

        Documents may be of any kind. A field that counts more than another gives its tokens more than once (Robertson,
        Zaragoza and Taylor, "Simple BM25 Extension to Multiple Weighted Fields", CIKM 2004).

        Args:
            query_terms: As for `score`.
            k: How many at most; 0 or less gives none.
            factors: What to multiply scores with, such as importance.
            most: The largest factor there can be; with it hopeless documents are passed over, the answer is the same.

        Returns:
            Keys and scores, shape (at most k,).
        """
        terms = self._weighted(query_terms)
        slots, scores = self._candidates(terms, k, factors, most)
        if self._postings.dead:
            alive = self._postings.alive(slots)
            slots, scores = slots[alive], scores[alive]
        keys = self._postings.keys(slots)
        if factors is not None and len(keys):
            weights = factors(keys, self._postings.values(slots))
            wanted = weights > 0.0
            keys, scores = keys[wanted], (scores * weights)[wanted]
        return _best(keys, scores, k)

    def _candidates(
        self, terms: Sequence[tuple[int, float]], k: int, factors: Factors | None, most: float
    ) -> tuple[Slots, Floats]:
        """Documents and scores before factors: those of the k best and some others, tombstones among them."""
        postings = self._postings
        counts = [postings.posting_count(number) for number, _ in terms]
        pruned = sum(counts) > _WORTH_PRUNING and 0 < k <= _MOST_WORTH_PRUNING
        if not pruned or (factors is not None and most == math.inf) or any(weight <= 0.0 for _, weight in terms):
            return self._sum(terms)
        average = self._average_length()
        bounded = [
            Term(number, weight, weight * self._formula.most(*postings.widest(number), average), count)
            for (number, weight), count in zip(terms, counts, strict=True)
        ]
        rarest_first = sorted(bounded, key=lambda term: -term.weight)
        search = PrunedSearch(postings, self._sums, self._worth(), rarest_first, k=k, factors=factors, most=most)
        slots, scores = search.run()
        return (slots, scores) if rarest_first == bounded else (slots, self._rescored(bounded, slots))

    def _rescored(self, terms: Sequence[Term], slots: Slots) -> Floats:
        """The scores of a few documents, summed in the order of the terms."""
        scores = np.zeros(len(slots))
        for term in terms:
            held, shapes = self._postings.found(term.number, slots)
            scores[held] += self._worth().take(shapes) * term.weight
        return scores

    def _sum(self, terms: Sequence[tuple[int, float]]) -> tuple[Slots, Floats]:
        """Every document with one of the terms, and its score."""
        self._sums.begin(self._postings.slot_count)
        worth = self._worth() if terms else np.zeros(0)
        for number, weight in terms:
            slots, shapes = self._postings.postings(number)
            self._sums.add(slots, worth.take(shapes) * weight)
        slots, scores = self._sums.drain()
        if any(weight <= 0.0 for _, weight in terms):
            # A score may be zero, so a document can have been touched as new more than once.
            slots, first = np.unique(slots, return_index=True)
            scores = scores[first]
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

    def _weighted(self, query_terms: Iterable[str]) -> list[tuple[int, float]]:
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


def _best(keys: Keys, scores: Floats, k: int) -> tuple[Keys, Floats]:
    if k <= 0:
        return keys[:0], scores[:0]
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        kept = np.flatnonzero(scores >= least)
        keys, scores = keys[kept], scores[kept]
    order = np.lexsort((keys, -scores))[:k]
    return keys[order], scores[order]
