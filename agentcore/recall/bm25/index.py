"""Ranks documents by BM25, exactly, over an index that changes between any two queries."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np

from agentcore.recall.bm25.arrays import Floats, Keys, Slots, SparseSums
from agentcore.recall.bm25.postings import Postings
from agentcore.recall.bm25.pruning import LEADERS, SLACK, Factors, QueryCost, leaders_of, reached
from agentcore.recall.bm25.scoring import Formula, Scoring, Weighting

FEW: Final = 16
"""Documents below which adding one by one is faster than many at once."""
_WASTE_WORTH_A_COMPACTION: Final = 1024
_MANY: Final = 10
"""Times as many documents as are good ones from which those without hope are left out first."""


class Bm25Index:
    """Documents under integer keys, ranked by BM25; every change shows in the next query.

    Scores are exact (see `agentcore.recall.bm25.scoring`) and cover every live document holding a query term.
    Removed documents leave tombstones: call `tidy` now and then, or `compact`.

    Not thread-safe: one thread owns it.

    Args:
        weighting: The formula.
        k1: How soon repetitions stop counting, >= 0; 1.2, or 1.5 for okapi.
        b: How much long documents are held back, 0..1; 0.25, or 0.75 for okapi.
        epsilon: Share of the average idf that okapi gives to terms of more than half the documents.
        columns: Numbers kept beside each document for the factors of `top`.
        cost: What the ways to answer a query cost, which decides between them; changes no answer.

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
        cost: QueryCost | None = None,
    ) -> None:
        formula = Formula.of(weighting, k1, b)
        self._postings = Postings(columns)
        self._scoring = Scoring(self._postings, formula, epsilon=epsilon, cost=cost or QueryCost())

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
        return self._scoring.sums

    @property
    def cost(self) -> QueryCost:
        """What decides between the ways to answer a query."""
        return self._scoring.cost

    @property
    def needs_compaction(self) -> bool:
        """Whether a fifth of the slots, and more than a thousand, are tombstones."""
        return self._postings.dead > _WASTE_WORTH_A_COMPACTION and self._postings.dead * 4 > len(self)

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate within a fifth, at no cost."""
        return self._postings.nbytes + self._scoring.sums.nbytes

    def add(self, key: int, tokens: Iterable[str], values: Sequence[float] = (), beside: int = 0) -> None:
        """Index a new document.

        Args:
            key: Below 2^63, such as the record's primary key.
            tokens: Its terms, repeated as often as they occur; may be empty.
            values: One number for each column.
            beside: How many of the last tokens stand beside its text, as its category does: found like the others, and
                no part of how alike texts are.

        Raises:
            ValueError: If the key is present already or the values do not fit the columns.
            OverflowError: If the key does not fit 64 bits.
        """
        self._postings.add(key, tokens, values, beside=beside)

    def update(self, key: int, tokens: Iterable[str], values: Sequence[float] = (), beside: int = 0) -> None:
        """Index a document anew, whether or not the key is present; arguments as for `add`."""
        self._postings.add(key, tokens, values, beside=beside, replace=True)

    def set_values(self, key: int, values: Sequence[float]) -> None:
        """Replace the numbers beside a document without indexing it anew.

        Raises:
            KeyError: If the key is not present.
            ValueError: If the values do not fit the columns.
        """
        self._postings.set_values(key, values)

    def update_many(
        self,
        keys: Sequence[int],
        documents: Iterable[list[str]],
        values: Sequence[Sequence[float]] = (),
        besides: Sequence[int] = (),
    ) -> None:
        """Index many documents anew, whether or not their keys are present, at a fraction of the cost of each alone.

        Args:
            keys: Distinct, each below 2^63.
            documents: The terms of each.
            values: For each document one number for each column.
            besides: How many of the last terms of each stand beside its text; none by default.

        Raises:
            ValueError: If a key stands there twice or the shapes do not fit.
            OverflowError: If a key does not fit 64 bits.
        """
        self._postings.add_many(keys, documents, values, besides)

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

    def tidy(self) -> bool:
        """Do a few milliseconds of a compaction, if one is needed; queries and changes may come between two calls.

        Returns:
            Whether there is more to do.
        """
        return (self._postings.is_compacting or self.needs_compaction) and self._postings.compact_further()

    def document_frequency(self, term: str) -> int:
        """How many documents hold a term."""
        number = self._postings.term_id(term)
        return 0 if number is None else self._postings.document_frequency(number)

    def terms_of(self, key: int) -> list[str]:
        """The distinct terms of a document, in no particular order.

        Raises:
            KeyError: If the key is not present.
        """
        numbers = self._postings.terms_of(self._postings.slot_of(key))
        return [self._postings.term(number) for number in numbers.tolist()]

    def score(self, query_terms: Iterable[str]) -> tuple[Keys, Floats]:
        """Score every document that holds a query term.

        Args:
            query_terms: Terms as the documents' tokenizer makes them; unknown ones add nothing.

        Returns:
            Keys and scores, shape (documents,), in no particular order.
        """
        slots, scores = self._scoring.sum(self._scoring.weighted(query_terms))
        alive = self._postings.alive(slots)
        return self._postings.keys(slots[alive]), scores[alive]

    def top(
        self,
        query_terms: Iterable[str],
        k: int,
        factors: Factors | None = None,
        most: float = math.inf,
        among: Callable[[], Keys] | None = None,
    ) -> tuple[Keys, Floats]:
        """The k best documents, best first; equal scores by ascending key.

        Documents may be of any kind. A field that counts more than another gives its tokens more than once (Robertson,
        Zaragoza and Taylor, "Simple BM25 Extension to Multiple Weighted Fields", CIKM 2004).

        Args:
            query_terms: As for `score`.
            k: How many at most; 0 or less gives none.
            factors: What to multiply scores with, such as importance.
            most: The largest factor there can be; with it hopeless documents are passed over, the answer is the same.
            among: Gives the keys of all documents that *factors* does not leave out; if they are few, they are looked
                up instead of all that hold a query term, the answer is the same.

        Returns:
            Keys and scores, shape (at most k,).
        """
        terms = self._scoring.weighted(query_terms)
        few = None if among is None else self._scoring.few(terms, among)
        if few is None:
            slots, scores = self._scoring.candidates(terms, k, factors, most)
        else:
            slots, scores = self._scoring.looked_up(terms, few)
        if self._postings.dead:
            alive = self._postings.alive(slots)
            slots, scores = slots[alive], scores[alive]
        if factors is not None and most < math.inf and k > 0 and len(slots) > _MANY * max(LEADERS, k):
            slots, scores = self._promising(slots, scores, k, factors, most)
        keys = self._postings.keys(slots)
        if factors is not None and len(keys):
            weights = factors(keys, self._postings.values(slots))
            wanted = weights > 0.0
            keys, scores = keys[wanted], (scores * weights)[wanted]
        return best(keys, scores, k)

    def _promising(self, slots: Slots, scores: Floats, k: int, factors: Factors, most: float) -> tuple[Slots, Floats]:
        """Leave out documents that are below the k best of a few good ones even with the largest factor."""
        good = leaders_of(scores, max(LEADERS, 2 * k))
        least = reached(self._postings, slots[good], scores[good], k, factors)
        kept = np.flatnonzero(scores * (most * SLACK) >= least) if least > 0.0 else slice(None)
        return slots[kept], scores[kept]


def best(keys: Keys, scores: Floats, k: int) -> tuple[Keys, Floats]:
    """Return the *k* best of *keys* with their scores, best first, equal scores by ascending key."""
    if k <= 0:
        return keys[:0], scores[:0]
    if len(scores) > _MANY * max(LEADERS, k):
        # The k-th best of a few good ones is no better than the k-th best of all, and found in a tenth of the time.
        good = scores[leaders_of(scores, max(LEADERS, 2 * k))]
        if len(good) >= k:
            kept = np.flatnonzero(scores >= np.partition(good, len(good) - k)[len(good) - k])
            keys, scores = keys[kept], scores[kept]
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        kept = np.flatnonzero(scores >= least)
        keys, scores = keys[kept], scores[kept]
    order = np.lexsort((keys, -scores))[:k]
    return keys[order], scores[order]
