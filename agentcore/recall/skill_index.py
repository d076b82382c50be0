"""Holds one scope's skills as postings."""

from collections.abc import Iterable
from typing import Final

from agentcore.recall.bm25.index import Bm25Index
from agentcore.recall.results import Ranking
from agentcore.recall.tokenizer import Tokenizer
from agentcore.stores.values import FeedPosition, SkillRow

NAME_WEIGHT: Final = 3
"""How often a word of a skill's name counts."""
SUMMARY_WEIGHT: Final = 2
"""How often a word of its summary counts; one of its content counts once."""


class SkillIndex:
    """A BM25 index of one scope's skills; lives until recall makes room for another.

    Three fields are one document: a word of the name counts three times, one of the summary twice, one of the content
    once (Robertson, Zaragoza and Taylor, "Simple BM25 Extension to Multiple Weighted Fields", CIKM 2004).

    Not thread-safe: the recall thread owns it.

    Args:
        tokenizer: Cuts skills and queries.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._index = Bm25Index()
        self.position = FeedPosition()
        """How far the change feed has been taken over."""

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate."""
        return self._index.nbytes

    def restart(self) -> None:
        """Forget everything and begin the feed anew."""
        self.position = FeedPosition()
        self._index = Bm25Index()

    def drop(self, keys: Iterable[int]) -> None:
        """Leave out skills that are gone; unknown ones change nothing."""
        for key in keys:
            self._index.remove(key)

    def take(self, rows: Iterable[SkillRow]) -> None:
        """Take over skills as they are now; those that readers may not see leave."""
        for row in rows:
            if row.live:
                self._index.update(row.key, self._terms(row))
            else:
                self._index.remove(row.key)

    def reach(self, position: FeedPosition) -> None:
        """Note that everything up to *position* has been taken over."""
        self.position = position

    def tidy(self) -> bool:
        """Go on with a compaction, if one is needed; tell whether there is more."""
        return self._index.tidy()

    def rank(self, query: str, *, limit: int) -> Ranking:
        """Return the best skills for *query*, equal scores by key."""
        keys, scores = self._index.top(self._tokenizer.query_tokens(query), limit)
        return Ranking(keys.tolist(), scores.tolist())

    def _terms(self, row: SkillRow) -> list[str]:
        name, summary, content = (self._tokenizer.tokens(text) for text in (row.name, row.summary, row.content))
        return NAME_WEIGHT * name + SUMMARY_WEIGHT * summary + content
