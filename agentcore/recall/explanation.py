"""Explanation: why an entry has the score it has."""

from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, slots=True)
class TermScore:
    """What one term of the query adds.

    Args:
        term: The term, as the tokenizer makes it.
        idf: How rare it is: log(1 + (N - df + 0.5) / (df + 0.5)).
        count: How often the entry has it.
        norm: What the count is held against: k1 * (1 - b + b * length / average).
    """

    term: str
    idf: float
    count: int
    norm: float

    @property
    def score(self) -> float:
        """The term's share of the relevance: idf * count / (count + norm)."""
        return self.idf * self.count / (self.count + self.norm)


@dataclass(frozen=True, slots=True)
class DenseScore:
    """What vectors make of the relevance.

    Args:
        similarity: Cosine of the entry's vector with the query's; None as long as it has none.
        share: What that adds, from 0 for the least similar entry of the scope to the weight for the most similar one.
        scale: What the sum of the terms is multiplied with for its share.
    """

    similarity: float | None
    share: float
    scale: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a score came about: the sum of the terms, together with what vectors add, times every factor.

    Args:
        terms: The query's terms that the entry has, the rarest first.
        importance: What its importance makes of the score, above 0, at most 1.
        recency: What its recency makes of it, above 0, at most 1.
        phrase: What neighbouring words make of it, 1 or more.
        dense: What vectors make of the relevance; None where words alone answer.
    """

    terms: tuple[TermScore, ...]
    importance: float = 1.0
    recency: float = 1.0
    phrase: float = 1.0
    dense: DenseScore | None = None

    @property
    def bm25(self) -> float:
        """What the terms add up to."""
        return sum(term.score for term in self.terms)

    @property
    def relevance(self) -> float:
        """BM25, or its share and that of the vectors."""
        return self.bm25 if self.dense is None else self.bm25 * self.dense.scale + self.dense.share

    @property
    def score(self) -> float:
        """The score, up to rounding."""
        return prod((self.relevance, self.importance, self.recency, self.phrase))
