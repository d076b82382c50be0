"""Estimates which of three ways to answer a query is the shortest, in units of one posting read.

- Few postings: read them all and note which documents they name.
- Many of few documents, or of many terms: read them all into one long vector, which is quick for each posting and costs
  a little for each document, named or not.
- Very many of few terms: pass over hopeless documents (`agentcore.recall.bm25.pruning`), which costs much for each
  document that is met and nothing for most.

The figures were measured on 1,000 to 1,000,000 documents with questions and with queries of 1 to 30 terms
(`python -m tests.bench recall`).
"""

from dataclasses import dataclass
from typing import Final

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
