"""Holds one scope's entries as postings, and ranks them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np

from agentcore.domain.decay import Decay
from agentcore.recall.bm25.arrays import PART_BITS, Floats, Keys, first_places
from agentcore.recall.bm25.index import best
from agentcore.recall.bm25.neighbours import alike, similar
from agentcore.recall.bm25.scoring import lucene_idf
from agentcore.recall.bm25.shared_terms import sharing
from agentcore.recall.dense_index import Similarities, fuse
from agentcore.recall.facets import Admitted
from agentcore.recall.options import RecallOptions
from agentcore.recall.passage_index import CutRecord, PassageIndex, records_of, share_of_length
from agentcore.recall.results import DenseScore, Explanation, Neighbour, Ranking, SharedTerms, TermScore
from agentcore.recall.snapshot import Kept, Snapshot
from agentcore.recall.tokenizer import Tokenizer
from agentcore.stores.values import FILING_MARK, FeedPosition, IndexRow

_COLUMNS: Final = 3
"""Importance, when it was last seen, and what its length leaves of its score."""
_SHARE: Final = 2
_DEEPER: Final = 4
_LEAST_RARE: Final = 3
_MOST_RARE: Final = 40
_RARE_SHARE: Final = 40
"""A term is rare that at most this part of the documents hold, within these bounds."""
_MICROSECOND: Final = timedelta(microseconds=1)


class ScopeIndex:
    """A BM25 index that follows one scope; lives until `Recall` makes room for another.

    A long entry is indexed by passages: its BM25 is that of the best of them, and its length takes a share of its score
    (see `share_of_length`).

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
        self._entries = self._empty()
        self._last_query: tuple[str, list[str]] = ("", [])

    @property
    def cut(self) -> str:
        """What decides beside the texts what is kept."""
        return f"{self._options.passage_tokens} tokens, {self._options.length_weight} of length"

    def restart(self) -> None:
        """Forget everything and begin the feed anew."""
        self.position = FeedPosition()
        self._entries = self._empty()

    def drop(self, keys: Iterable[int]) -> None:
        """Leave out entries that are gone; unknown ones change nothing."""
        for key in keys:
            self._entries.remove(key)

    def take(self, rows: Iterable[IndexRow]) -> None:
        """Take over entries as they are now; those that readers may not see leave."""
        latest = {row.key: row for row in rows}
        self.unkept += len(latest)
        live = [row for row in latest.values() if row.live]
        self.drop(latest.keys() - {row.key for row in live})
        self._entries.put([self._cut(row) for row in live])

    def _cut(self, row: IndexRow) -> CutRecord:
        content, mark, filing = row.text.rpartition(FILING_MARK)
        content, filing = (content, filing) if mark else (filing, "")
        tokens, weight = self._options.passage_tokens, self._options.length_weight
        share = share_of_length(content, passage_tokens=tokens, weight=weight)
        return self._entries.cut(row.key, content, (row.base, row.last_seen_us, share), after=filing)

    def reach(self, position: FeedPosition) -> None:
        """Note that everything up to *position* has been taken over."""
        self.position = position

    def tidy(self) -> bool:
        """Go on with a compaction, if one is needed; tell whether there is more."""
        return self._entries.index.tidy()

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate."""
        return self._entries.index.nbytes

    def __len__(self) -> int:
        return len(self._entries)

    def adopt(self, snapshot: Snapshot) -> None:
        """Take what was kept of the index in place of what is here."""
        self._entries = self._empty()
        self._entries.adopt(snapshot.kept.lists)
        self.position = snapshot.position
        self.unkept = 0

    def kept(self) -> Kept:
        """Return what the index is made of, without tombstones."""
        self._entries.index.compact()
        return Kept(self._entries.index.postings.lists, cut=self.cut)

    def postings_of(self, query: str) -> int:
        """Return how many postings the terms of *query* have: what ranking reads at most."""
        postings = self._entries.index.postings
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
            worth = importance * recency * columns[_SHARE]
            return worth if admitted is None else worth * admitted(records_of(keys))

        terms = self._terms_of(query)
        index, wanted = self._entries.index, len(self._entries) if limit is None else limit
        among = None if admitted is None else partial(self._passages_of, admitted)
        most = wanted
        while True:
            found, scores = index.top(terms, most, factors, most=1.0, among=among)
            if not self._entries.has_parts:
                return self._ranking(found, scores)
            best_of = first_places(records_of(found))
            if len(best_of) >= wanted or len(found) < most:
                break
            # Some of the best passages are of one entry.
            most *= _DEEPER
        best_of = np.sort(best_of)[:wanted]
        return self._ranking(found[best_of], scores[best_of])

    def _passages_of(self, admitted: Admitted) -> Keys:
        return self._entries.passages_of_all(admitted.keys())

    def _ranking(self, passages: Keys, scores: Floats) -> Ranking:
        """Return the ranking of entries by their best passages."""
        return Ranking(records_of(passages).tolist(), scores.tolist(), self._entries.spans(passages.tolist()))

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
        postings = self._entries.index.postings
        slots = np.arange(postings.slot_count)
        slots = slots[postings.alive(slots)]
        slots = slots[np.argsort(postings.keys(slots))]
        passages, matched = self._entries.index.score(self._tokenizer.query_tokens(query))
        order = np.lexsort((passages, -matched))
        passages, matched = passages[order], matched[order]
        of_entry = first_places(records_of(passages))
        shown = dict(zip(records_of(passages[of_entry]).tolist(), passages[of_entry].tolist(), strict=True))
        slots = slots[first_places(records_of(postings.keys(slots)))]
        keys = records_of(postings.keys(slots))
        fused = fuse(keys, (records_of(passages[of_entry]), matched[of_entry]), near, weight)
        columns = postings.values(slots)
        importance, recency = self._factors(columns, decay, now_us)
        scores = fused.relevance * importance * recency * columns[_SHARE]
        scores *= 1.0 if admitted is None else admitted(keys)
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
        best_passages = [shown.get(key, key << PART_BITS) for key in best_keys.tolist()]
        return self._ranking(np.array(best_passages, dtype=np.int64), best_scores), parts

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
        return {
            key: max(
                (self._explained(terms, slot, decay, now_us) for slot in self._entries.slots_of(key)),
                key=lambda one: one.bm25,
            )
            for key in keys
            if key in self._entries
        }

    def _explained(self, terms: Iterable[str], passage: np.intp, decay: Decay, now_us: int) -> Explanation:
        postings, options = self._entries.index.postings, self._options
        slot = np.array([passage])
        average = postings.total_length / len(postings)
        norm = options.k1 * (1.0 - options.b + options.b * float(postings.lengths(slot)[0]) / average)
        found: list[TermScore] = []
        for term in terms:
            number = postings.term_id(term)
            if number is not None and len(place := np.flatnonzero(postings.slots(number) == slot[0])):
                idf = lucene_idf(len(postings), postings.document_frequency(number))
                found.append(TermScore(term, idf, int(postings.counts(number)[place[0]]), norm))
        columns = postings.values(slot)
        importance, recency = self._factors(columns, decay, now_us)
        found.sort(key=lambda one: (-one.idf, one.term))
        return Explanation(tuple(found), float(importance[0]), float(recency[0]), length=float(columns[_SHARE][0]))

    def similar(
        self, keys: Sequence[int], threshold: float, limit: int, *, text_alone: bool
    ) -> dict[int, list[Neighbour]]:
        """Return the neighbours of each entry that is here; arguments as for `neighbours.similar`."""
        near = partial(similar, self._entries.index, parts=self._entries.has_parts, text_alone=text_alone)
        return {
            key: [Neighbour(one.key >> PART_BITS, one.similarity) for one in near(key << PART_BITS, threshold, limit)]
            for key in keys
            if key in self._entries
        }

    def sharing(self, keys: Sequence[int], limit: int) -> dict[int, list[SharedTerms]]:
        """Return, per entry that is here, those that share rare terms with it; see `shared_terms.sharing`."""
        index = self._entries.index
        most = max(_LEAST_RARE, min(_MOST_RARE, len(index) // _RARE_SHARE))
        found = {
            key: sharing(index, key << PART_BITS, most=most, limit=limit, part_bits=PART_BITS)
            for key in keys
            if key in self._entries
        }
        return {key: [replace(one, key=one.key >> PART_BITS) for one in shared] for key, shared in found.items()}

    def alike(self, keys: Sequence[int], threshold: float) -> list[tuple[int, int, float]]:
        """Return which of the entries that are here are alike; arguments as for `neighbours.alike`."""
        known = [key << PART_BITS for key in keys if key in self._entries]
        pairs = alike(self._entries.index, known, threshold, parts=self._entries.has_parts)
        return [(one >> PART_BITS, other >> PART_BITS, similarity) for one, other, similarity in pairs]

    def count_documents(self, texts: Iterable[str]) -> dict[str, int]:
        """Return, per term of *texts*, in how many entries here it stands; of a long one each passage counts."""
        postings = self._entries.index.postings
        ids = {term: postings.term_id(term) for text in texts for term in self._tokenizer.tokens(text)}
        return {term: 0 if term_id is None else postings.document_frequency(term_id) for term, term_id in ids.items()}

    def _terms_of(self, query: str) -> list[str]:
        """Cut a query into terms, once for whoever asks for its cost and then for its answer."""
        if self._last_query[0] != query:
            self._last_query = (query, self._tokenizer.query_tokens(query))
        return self._last_query[1]

    def _empty(self) -> PassageIndex:
        options = self._options
        return PassageIndex(
            self._tokenizer, passage_tokens=options.passage_tokens, k1=options.k1, b=options.b, columns=_COLUMNS
        )
