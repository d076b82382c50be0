"""What a term of a query adds to the score of a document."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agentcore.errors import InvalidOptionsError
from agentcore.recall.lists import Floats


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
