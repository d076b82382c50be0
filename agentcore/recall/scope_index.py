"""One scope's entries as postings, and how far they follow the change feed."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from agentcore.domain.decay import Decay
from agentcore.recall.index import Bm25Index
from agentcore.recall.lists import Floats, Keys
from agentcore.recall.neighbour import Neighbour
from agentcore.recall.neighbours import similar
from agentcore.recall.options import RecallOptions
from agentcore.recall.ranking import Ranking
from agentcore.recall.tokenizer import Tokenizer
from agentcore.stores.protocols import FeedPosition, IndexRow

_BASE_AND_LAST_SEEN: Final = 2


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
        self._index = self._empty()

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
        for row in rows:
            if row.live:
                self._index.update(row.key, self._tokenizer.tokens(row.text), (row.base, row.last_seen_us))
            else:
                self._index.remove(row.key)

    def reach(self, position: FeedPosition) -> None:
        """Note that everything up to *position* has been taken over."""
        self.position = position
        if self._index.needs_compaction:
            self._index.compact()

    def rank(self, query: str, *, decay: Decay, now_us: int, limit: int | None) -> Ranking:
        """Return the best entries for *query*, equal scores by key.

        Args:
            query: What is asked, of any length.
            decay: How importance is read.
            now_us: The instant importance is read at, microseconds since 1970.
            limit: How many at most; None for all that match.
        """
        weight = self._options.importance_weight

        def factors(_: Keys, columns: Floats) -> Floats:
            importance = decay.values(columns[0], columns[1].astype(np.int64), now_us)
            return (1.0 - weight) + weight * importance

        terms = self._tokenizer.query_tokens(query)
        keys, scores = self._index.top(terms, len(self._index) if limit is None else limit, factors, most=1.0)
        return Ranking(keys.tolist(), scores.tolist())

    def similar(self, keys: Sequence[int], threshold: float, limit: int) -> dict[int, list[Neighbour]]:
        """Return the neighbours of each entry that is here; arguments as for `neighbours.similar`."""
        return {key: similar(self._index, key, threshold, limit) for key in keys if key in self._index}

    def count_documents(self, texts: Iterable[str]) -> dict[str, int]:
        """Return, per term of *texts*, in how many entries here it stands."""
        postings = self._index.postings
        ids = {term: postings.term_id(term) for text in texts for term in self._tokenizer.tokens(text)}
        return {term: 0 if term_id is None else postings.document_frequency(term_id) for term, term_id in ids.items()}

    def _empty(self) -> Bm25Index:
        return Bm25Index(k1=self._options.k1, b=self._options.b, columns=_BASE_AND_LAST_SEEN)
