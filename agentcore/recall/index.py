"""An exact BM25 index that changes between any two queries."""

import math
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np

from agentcore.errors import InvalidOptionsError
from agentcore.recall.postings import Floats, Keys, Postings, Slots
from agentcore.recall.sparse_sums import SparseSums

Factors: TypeAlias = Callable[[Keys, Floats], Floats]
"""From keys, shape (documents,), and the numbers beside them, shape (columns, documents), to what each score
is multiplied with: finite numbers, shape (documents,). Documents given zero or less are left out."""


class Weighting(StrEnum):
    """How rare terms outweigh common ones."""

    LUCENE = "lucene"
    """log(1 + (N - df + 0.5) / (df + 0.5)), always positive; a query's repeated terms count once."""
    OKAPI = "okapi"
    """The scores of `rank_bm25.BM25Okapi` on the live documents; a query's repeated terms count each time."""


_WASTE_WORTH_A_COMPACTION: Final = 1024
_DEFAULTS: Final = {Weighting.LUCENE: (1.2, 0.25), Weighting.OKAPI: (1.5, 0.75)}


class Bm25Index:
    """Documents under integer keys, ranked by BM25; every change shows in the next query.

    Scores are exact and cover every live document holding a query term. Removed documents leave tombstones:
    call `compact` when `needs_compaction` says so.

    Term weight and saturation: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
    Beyond", 2009, section 3. Lucene's form drops the factor k1 + 1, so that a term adds less than its idf.

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
        default_k1, default_b = _DEFAULTS[weighting]
        self._weighting = weighting
        self._k1 = default_k1 if k1 is None else k1
        self._b = default_b if b is None else b
        self._epsilon = epsilon
        if not 0.0 <= self._k1 < math.inf:
            raise InvalidOptionsError(field="k1", value=k1, allowed="give a finite number of 0 or more")
        if not 0.0 <= self._b <= 1.0:
            raise InvalidOptionsError(field="b", value=b, allowed="give a number from 0 to 1")
        self._postings = Postings(columns)
        self._sums = SparseSums()
        self._average_idf = (-1, 0.0)

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

    def document_frequency(self, term: str) -> int:
        """How many documents hold a term."""
        number = self._postings.term_id(term)
        return 0 if number is None else self._postings.document_frequency(number)

    def terms_of(self, key: int) -> list[str]:
        """The distinct terms of a document, in the order of their first appearance.

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
        slots, scores = self._collect(query_terms)
        return self._postings.keys(slots), scores

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
        slots, scores = self._collect(query_terms)
        keys = self._postings.keys(slots)
        if factors is not None and len(keys):
            weights = factors(keys, self._postings.values(slots))
            wanted = weights > 0.0
            keys, scores = keys[wanted], (scores * weights)[wanted]
        return _best(keys, scores, k)

    # The seam for pruning: a search that skips hopeless documents replaces this and leaves the rest as it is.
    def _collect(self, query_terms: Iterable[str]) -> tuple[Slots, Floats]:
        postings, sums = self._postings, self._sums
        sums.begin(postings.slot_count)
        for term, weight in self._weighted(query_terms):
            slots = postings.slots(term)
            sums.add(slots, self._saturation(term, slots) * weight)
        slots, scores = sums.drain()
        if self._weighting is Weighting.OKAPI:
            # Here a score may be zero, so a document can have been drained as new more than once.
            slots, first = np.unique(slots, return_index=True)
            scores = scores[first]
        if postings.dead:
            alive = postings.alive(slots)
            slots, scores = slots[alive], scores[alive]
        return slots, scores

    def _saturation(self, term: int, slots: Slots) -> Floats:
        counts = self._postings.counts(term)
        penalty = self._k1 * self._b
        if penalty == 0.0:
            denominator = counts + self._k1
        else:
            denominator = self._postings.lengths(slots)
            denominator *= penalty * len(self._postings) / self._postings.total_length
            denominator += self._k1 - penalty
            denominator += counts
        if self._weighting is Weighting.OKAPI:
            counts *= self._k1 + 1.0
        counts /= denominator
        return counts

    def _weighted(self, query_terms: Iterable[str]) -> list[tuple[int, float]]:
        """Term numbers and their idf, rarest first for lucene, in the query's order for okapi."""
        postings = self._postings
        known = [
            (frequency, term, number)
            for term in (query_terms if self._weighting is Weighting.OKAPI else dict.fromkeys(query_terms))
            if (number := postings.term_id(term)) is not None and (frequency := postings.document_frequency(number)) > 0
        ]
        if self._weighting is Weighting.OKAPI:
            return [(number, self._okapi_idf(frequency)) for frequency, _, number in known]
        known.sort()
        total = len(postings)
        return [(number, math.log1p((total - frequency + 0.5) / (frequency + 0.5))) for frequency, _, number in known]

    def _okapi_idf(self, frequency: int) -> float:
        idf = math.log(len(self._postings) - frequency + 0.5) - math.log(frequency + 0.5)
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
