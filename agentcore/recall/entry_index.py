"""Holds one scope's entries as postings, and ranks them."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Final

import numpy as np

from agentcore.domain.decay import Decay
from agentcore.recall.bm25.arrays import Floats, Keys
from agentcore.recall.bm25.index import FEW, Bm25Index, best
from agentcore.recall.bm25.neighbours import alike, similar
from agentcore.recall.bm25.scoring import lucene_idf
from agentcore.recall.dense_index import Similarities, fuse
from agentcore.recall.facets import Admitted
from agentcore.recall.options import RecallOptions
from agentcore.recall.results import DenseScore, Explanation, Neighbour, Ranking, TermScore
from agentcore.recall.snapshot import Kept, Snapshot
from agentcore.recall.tokenizer import Tokenizer
from agentcore.stores.values import FILING_MARK, FeedPosition, IndexRow

_BASE_AND_LAST_SEEN: Final = 2
_MICROSECOND: Final = timedelta(microseconds=1)


class ScopeIndex:
    """A BM25 index that follows one scope; lives until `Recall` makes room for another.

    Every change may be repeated: a follower that was interrupted goes on from `position` and gets there.

    Not thread-safe: the recall thread owns it.

    Args:
        tokenizer: Cuts entries and queries.
        options: How scores are made.

    Example:
        >>> index = ScopeIndex(Tokenizer(), RecallOptions())
        >>> index.take([IndexRow(7, "Ana lives in Lisbon", 0.5, 0, True), IndexRow(8, "Ben", 0.5, 0, True)])
        >>> index.rank("where does Ana live", decay=Decay(), now_us=0, limit=10).keys
        [7]
    """

    def __init__(self, tokenizer: Tokenizer, options: RecallOptions) -> None:
        self._tokenizer = tokenizer
        self._options = options
        self.position = FeedPosition()
        """How far the change feed has been taken over."""
        self.unkept = 0
        """Rows taken over since it was read from a file."""
        self._index = self._empty()
        self._last_query: tuple[str, list[str]] = ("", [])

    def restart(self) -> None:
        """Forget everything and begin the feed anew."""
        self.position = FeedPosition()
        self._index = self._empty()

    def drop(self, keys: Iterable[int]) -> None:
        """Leave out entries that are gone; unknown ones change nothing."""
        for key in keys:
            self._index.remove(key)

    def take(self, rows: Iterable[IndexRow]) -> None:
        """Take over entries as they are now; those that readers may not see leave."""
        latest = {row.key: row for row in rows}
        self.unkept += len(latest)
        live = [row for row in latest.values() if row.live]
        self.drop(latest.keys() - {row.key for row in live})
        terms = [self._terms(row.text) for row in live]
        values = [(row.base, row.last_seen_us) for row in live]
        if len(live) < FEW:
            for row, its_terms, its_values in zip(live, terms, values, strict=True):
                self._index.update(row.key, its_terms, its_values)
        else:
            self._index.update_many([row.key for row in live], terms, values)

    def reach(self, position: FeedPosition) -> None:
        """Note that everything up to *position* has been taken over."""
        self.position = position

    def tidy(self) -> bool:
        """Go on with a compaction, if one is needed; tell whether there is more."""
        return self._index.tidy()

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate."""
        return self._index.nbytes

    def __len__(self) -> int:
        return len(self._index)

    def adopt(self, snapshot: Snapshot) -> None:
        """Take what was kept of the index in place of what is here."""
        self._index = self._empty()
        self._index.postings.lists = snapshot.kept.lists
        self.position = snapshot.position
        self.unkept = 0

    def kept(self) -> Kept:
        """Return what the index is made of, without tombstones."""
        self._index.compact()
        return Kept(self._index.postings.lists)

    def postings_of(self, query: str) -> int:
        """Return how many postings the terms of *query* have: what ranking reads at most."""
        postings = self._index.postings
        numbers = map(postings.term_id, dict.fromkeys(self._terms_of(query)))
        return sum(postings.posting_count(number) for number in numbers if number is not None)

    def rank(
        self, query: str, *, decay: Decay, now_us: int, limit: int | None, admitted: Admitted | None = None
    ) -> Ranking:
        """Return the best entries for *query*, equal scores by key.

        Args:
            query: What is asked, of any length.
            decay: How importance is read.
            now_us: The instant importance is read at, microseconds since 1970.
            limit: How many at most; None for all that match.
            admitted: Tells which entries may be among them.
        """

        def factors(keys: Keys, columns: Floats) -> Floats:
            importance, recency = self._factors(columns, decay, now_us)
            return importance * recency if admitted is None else importance * recency * admitted(keys)

        terms = self._terms_of(query)
        keys, scores = self._index.top(
            terms,
            len(self._index) if limit is None else limit,
            factors,
            most=1.0,
            among=None if admitted is None else admitted.keys,
        )
        return Ranking(keys.tolist(), scores.tolist())

    def rank_fused(
        self,
        query: str,
        near: Similarities,
        weight: float,
        *,
        decay: Decay,
        now_us: int,
        limit: int,
        admitted: Admitted | None = None,
    ) -> tuple[Ranking, dict[int, DenseScore]]:
        """Return the best entries by words and vectors, equal scores by key, and what vectors make of each.

        Args:
            query: What is asked, of any length.
            near: How near the entries that have a vector are to it.
            weight: Share of the vectors.
            decay: How importance is read.
            now_us: The instant importance is read at, microseconds since 1970.
            limit: How many at most.
            admitted: Tells which entries may be among them.
        """
        postings = self._index.postings
        slots = np.arange(postings.slot_count)
        slots = slots[postings.alive(slots)]
        slots = slots[np.argsort(postings.keys(slots))]
        keys = postings.keys(slots)
        fused = fuse(keys, self._index.score(self._tokenizer.query_tokens(query)), near, weight)
        importance, recency = self._factors(postings.values(slots), decay, now_us)
        scores = fused.relevance * importance * recency * (1.0 if admitted is None else admitted(keys))
        found = np.flatnonzero(scores > 0.0)
        best_keys, best_scores = best(keys[found], scores[found], limit)
        parts = {
            int(keys[place]): DenseScore(
                None if np.isnan(fused.cosines[place]) else float(fused.cosines[place]),
                float(fused.dense[place]),
                fused.scale,
            )
            for place in np.searchsorted(keys, best_keys)
        }
        return Ranking(best_keys.tolist(), best_scores.tolist()), parts

    def _factors(self, columns: Floats, decay: Decay, now_us: int) -> tuple[Floats, Floats]:
        """What importance and recency make of scores; shape (documents,) each, above 0, at most 1."""
        weight, seen = self._options.importance_weight, columns[1].astype(np.int64)
        importance = (1.0 - weight) + weight * decay.values(columns[0], seen, now_us)
        weight = self._options.recency_weight
        if weight == 0.0:
            return importance, np.ones(len(seen))
        half_lives = np.maximum(now_us - seen, 0) / (self._options.recency_half_life / _MICROSECOND)
        return importance, (1.0 - weight) + weight * np.exp2(-half_lives)

    def adjacencies(self, query: str, texts: Iterable[str]) -> list[float]:
        """Return, for each text, the share of the query's neighbouring terms that stand next to each other in it."""
        pairs = set(pairwise(self._tokenizer.query_tokens(query)))
        return [
            len(pairs.intersection(pairwise(self._tokenizer.tokens(text)))) / len(pairs) if pairs else 0.0
            for text in texts
        ]

    def explain(self, query: str, keys: Sequence[int], *, decay: Decay, now_us: int) -> dict[int, Explanation]:
        """Return how the score of each of *keys* comes about; those that are not here are left out."""
        terms = dict.fromkeys(self._tokenizer.query_tokens(query))
        return {key: self._explained(terms, key, decay, now_us) for key in keys if key in self._index}

    def _explained(self, terms: Iterable[str], key: int, decay: Decay, now_us: int) -> Explanation:
        postings, options = self._index.postings, self._options
        slot = np.array([postings.slot_of(key)])
        average = postings.total_length / len(postings)
        norm = options.k1 * (1.0 - options.b + options.b * float(postings.lengths(slot)[0]) / average)
        found: list[TermScore] = []
        for term in terms:
            number = postings.term_id(term)
            if number is not None and len(place := np.flatnonzero(postings.slots(number) == slot[0])):
                idf = lucene_idf(len(postings), postings.document_frequency(number))
                found.append(TermScore(term, idf, int(postings.counts(number)[place[0]]), norm))
        importance, recency = self._factors(postings.values(slot), decay, now_us)
        found.sort(key=lambda one: (-one.idf, one.term))
        return Explanation(tuple(found), float(importance[0]), float(recency[0]))

    def similar(self, keys: Sequence[int], threshold: float, limit: int) -> dict[int, list[Neighbour]]:
        """Return the neighbours of each entry that is here; arguments as for `neighbours.similar`."""
        return {key: similar(self._index, key, threshold, limit) for key in keys if key in self._index}

    def alike(self, keys: Sequence[int], threshold: float) -> list[tuple[int, int, float]]:
        """Return which of the entries that are here are alike; arguments as for `neighbours.alike`."""
        return alike(self._index, [key for key in keys if key in self._index], threshold)

    def count_documents(self, texts: Iterable[str]) -> dict[str, int]:
        """Return, per term of *texts*, in how many entries here it stands."""
        postings = self._index.postings
        ids = {term: postings.term_id(term) for text in texts for term in self._tokenizer.tokens(text)}
        return {term: 0 if term_id is None else postings.document_frequency(term_id) for term, term_id in ids.items()}

    def _terms_of(self, query: str) -> list[str]:
        """Cut a query into terms, once for whoever asks for its cost and then for its answer."""
        if self._last_query[0] != query:
            self._last_query = (query, self._tokenizer.query_tokens(query))
        return self._last_query[1]

    def _terms(self, text: str) -> list[str]:
        content, _, filing = text.rpartition(FILING_MARK)
        return self._tokenizer.tokens(content) + self._tokenizer.tokens(filing)

    def _empty(self) -> Bm25Index:
        return Bm25Index(k1=self._options.k1, b=self._options.b, columns=_BASE_AND_LAST_SEEN)
