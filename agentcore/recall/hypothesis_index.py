"""Ranks the hypotheses in sight of one scope for a query, by the words and sources they hold."""

from collections.abc import Collection
from heapq import nlargest
from typing import Final

from agentcore.domain.hypothesis import Hypothesis
from agentcore.recall.results import RelatedHypothesis
from agentcore.recall.tokenizer import Tokenizer

_LEAST_RARE: Final = 3
_MOST_RARE: Final = 40
_RARE_SHARE: Final = 40
"""A word is rare that at most this part of the hypotheses hold, within these bounds."""
_OF_SOURCES: Final = 0.4
_OF_WORDS: Final = 0.3
_OF_RANK: Final = 0.2
_ROUNDED: Final = 1e-4
"""Scores that differ by less may be told as equal."""


class HypothesisIndex:
    """The hypotheses in sight of one scope, by the words and sources they hold; lives until another scope needs room.

    What a query costs grows with the holders of its rare words and of its answers, not with all that there are.
    """

    def __init__(self) -> None:
        self.revision = -1
        """As of which revision of the scope it is."""
        self._by_id: dict[str, tuple[Hypothesis, frozenset[str]]] = {}
        self._weights: dict[str, tuple[float, float]] = {}
        """What likelihood and confidence of each give of a score, and what a shared source gives."""
        self._by_term: dict[str, set[str]] = {}
        self._by_source: dict[str, set[str]] = {}
        self._tokenizer = Tokenizer()

    @property
    def ids(self) -> Collection[str]:
        """Those that are in sight."""
        return self._by_id.keys()

    def put(self, one: Hypothesis) -> None:
        """Take a hypothesis over that is not there."""
        terms = frozenset(self._tokenizer.tokens(f"{one.hypothesis} {one.what_if}"))
        self._by_id[one.id] = one, terms
        rank = _OF_RANK * (one.likelihood + one.confidence) / 2
        self._weights[one.id] = rank, _OF_SOURCES / len(one.source_refs)
        for term in terms:
            self._by_term.setdefault(term, set()).add(one.id)
        for ref in one.source_refs:
            self._by_source.setdefault(ref.id, set()).add(one.id)

    def drop(self, hypothesis_id: str) -> None:
        """Leave a hypothesis out; an unknown one changes nothing."""
        one, terms = self._by_id.pop(hypothesis_id, (None, ()))
        if one is None:
            return
        del self._weights[one.id]
        for term in terms:
            self._by_term[term].discard(one.id)
        for ref in one.source_refs:
            self._by_source[ref.id].discard(one.id)

    def ranked(self, query: str, results: Collection[str], limit: int) -> tuple[RelatedHypothesis, ...]:
        """Return the best for a query and the entries that answer it, best first."""
        rare = max(_LEAST_RARE, min(_MOST_RARE, len(self._by_id) // _RARE_SHARE))
        said: dict[str, int] = {}
        for term in set(self._tokenizer.query_tokens(query)):
            holders = self._by_term.get(term, ())
            if len(holders) <= rare:
                for name in holders:
                    said[name] = said.get(name, 0) + 1
        weights = self._weights
        scores = {name: weights[name][0] + _OF_WORDS * min(1.0, count / 2) for name, count in said.items()}
        for source in results:
            for name in self._by_source.get(source, ()):
                rank, part = weights[name]
                scores[name] = scores.get(name, rank) + part
        # Many may hold a word, and few are told: only those near the last of them are put in order.
        least = min(nlargest(limit, scores.values()), default=0.0) - _ROUNDED
        near = sorted((-round(score, 4), name) for name, score in scores.items() if score >= least)
        return tuple(RelatedHypothesis(self._by_id[name][0], -score) for score, name in near[:limit])
