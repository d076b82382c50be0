"""Finds documents that share rare terms with a document: a common thread, not a likeness."""

from collections.abc import Sequence
from itertools import islice
from typing import Final

import numpy as np

from agentcore.recall.bm25.arrays import Slots
from agentcore.recall.bm25.index import Bm25Index
from agentcore.recall.bm25.postings import Postings
from agentcore.recall.results import SharedTerms

_LEAST_HOLDERS: Final = 2


def sharing(index: Bm25Index, key: int, *, most: int, limit: int, part_bits: int = 0) -> list[SharedTerms]:
    """Return the documents that share terms with a document which few hold, those that share the rarest first.

    What it takes grows with the holders of rare terms, whatever the index holds.

    Args:
        index: Where to look.
        key: The document asked about; it is not among those found.
        most: Documents that may hold a term for it to be rare.
        limit: How many at most.
        part_bits: Low bits of keys that number the parts of one record; a record is found once.

    Example:
        >>> index = Bm25Index()
        >>> for place, text in enumerate(["ana adopt dog", "ben adopt cat", "cem walk dog", "dora walk"], 1):
        ...     index.add(place, text.split())
        >>> [(one.key, one.terms) for one in sharing(index, 1, most=2, limit=5)]
        [(2, (('adopt', 2),)), (3, (('dog', 2),))]
    """
    postings = index.postings
    own = postings.terms_of(postings.slot_of(key))
    held = postings.frequencies_of(own).tolist()
    rare = [
        (term, holders) for term, holders in zip(own.tolist(), held, strict=True) if _LEAST_HOLDERS <= holders <= most
    ]
    met: dict[int, dict[int, int]] = {}
    for term, holders in rare:
        slots = postings.slots(term)
        for other in postings.keys(slots[postings.alive(slots)]).tolist():
            if other >> part_bits != key >> part_bits:
                met.setdefault(other, {})[term] = holders
    ranked = sorted(met.items(), key=lambda item: (-sum(1.0 / holders for holders in item[1].values()), item[0]))
    nearest = ranked[:limit]
    weights, *others = _weights(postings, [own, *(postings.terms_of(postings.slot_of(other)) for other, _ in nearest)])
    total = sum(weights.values())
    found: list[SharedTerms] = []
    for (other, terms), theirs in zip(nearest, others, strict=True):
        shared = sum(weight for term, weight in theirs.items() if term in weights)
        either = total + sum(theirs.values()) - shared
        told = ((postings.term(term), holders) for term, holders in terms.items())
        found.append(SharedTerms(other, tuple(sorted(told, key=lambda one: (one[1], one[0]))), shared / either))
    return found


def _weights(postings: Postings, documents: Sequence[Slots]) -> list[dict[int, float]]:
    """Return the weight of each term of each document; looked up at once, since each look costs more than its terms."""
    every = np.concatenate(documents)
    held = postings.frequencies_of(every)
    weights = np.log1p((len(postings) - held + 0.5) / (held + 0.5)).tolist()
    pairs = zip(every.tolist(), weights, strict=True)
    return [dict(islice(pairs, len(terms))) for terms in documents]
