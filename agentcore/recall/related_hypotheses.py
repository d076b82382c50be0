"""Finds hypotheses that have to do with a query or its results: a lane beside recall, never part of its results."""

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nlargest
from typing import TYPE_CHECKING, Final

from agentcore.domain.hypothesis import Hypothesis
from agentcore.domain.scope import Scope
from agentcore.errors import AgentcoreError
from agentcore.recall.results import RelatedHypothesis
from agentcore.stores.storage import ReadView, Storage

if TYPE_CHECKING:
    from agentcore.recall.tokenizer import Tokenizer

_log: Final = logging.getLogger(__name__)
MOST_RELATED: Final = 20
"""Hypotheses beside one answer at most."""
_SCOPES: Final = 64
_LEAST_RARE: Final = 3
_RARE_SHARE: Final = 40
"""A word is rare that at most this part of the hypotheses hold."""
_OF_SOURCES: Final = 0.4
_OF_WORDS: Final = 0.3
_OF_RANK: Final = 0.2
_ROUNDED: Final = 1e-4
"""Scores that differ by less may be told as equal."""


@dataclass(slots=True)
class _Visible:
    """The hypotheses in sight of one scope, by the words and sources they hold."""

    revision: int = -1
    by_id: dict[str, Hypothesis] = field(default_factory=dict[str, Hypothesis])
    ranks: dict[str, float] = field(default_factory=dict[str, float])
    """What their likelihood and confidence give of a score."""
    by_term: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    by_source: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def put(self, one: Hypothesis, terms: Iterable[str]) -> None:
        self.by_id[one.id] = one
        self.ranks[one.id] = _OF_RANK * (one.likelihood + one.confidence) / 2
        for term in terms:
            self.by_term.setdefault(term, set()).add(one.id)
        for ref in one.source_refs:
            self.by_source.setdefault(ref.id, set()).add(one.id)

    def drop(self, hypothesis_id: str) -> None:
        if self.by_id.pop(hypothesis_id, None) is not None:
            del self.ranks[hypothesis_id]
            for table in (self.by_term, self.by_source):
                for holders in table.values():
                    holders.discard(hypothesis_id)


class RelatedHypotheses:
    """Keeps the hypotheses in sight of the latest scopes in memory; lives as long as recall.

    Args:
        storage: Where they are.
        reached: Returns the revision of a scope that recall has just read, None if that is not known: what is of that
            revision need not be asked about again.
    """

    def __init__(self, storage: Storage, reached: Callable[[Scope], int | None]) -> None:
        self._storage = storage
        self._reached = reached
        self._known: OrderedDict[Scope, _Visible] = OrderedDict()

    async def beside(
        self, scope: Scope, query: str, results: Sequence[str], *, limit: int
    ) -> tuple[RelatedHypothesis, ...]:
        """Return the hypotheses that share sources with results or rare words with the query, best first.

        Where they cannot be read there are none, and the log says so.

        Args:
            scope: Whose memory.
            query: What was asked.
            results: Ids of the entries that answer it.
            limit: How many at most; never more than 20.
        """
        limit = min(limit, MOST_RELATED)
        if limit < 1:
            return ()
        at_hand = self._known.get(scope)
        if at_hand is not None and at_hand.revision == self._reached(scope):
            return self._ranked(at_hand, query, results, limit)
        try:
            visible = await self._storage.read(scope, lambda view: self._current(view, scope))
        except AgentcoreError as error:
            _log.warning("related_hypotheses_unread", extra={"scope": str(scope), "error": type(error).__name__})
            return ()
        return self._ranked(visible, query, results, limit)

    def _current(self, view: ReadView, scope: Scope) -> _Visible:
        visible = self._known.pop(scope, None) or _Visible()
        self._known[scope] = visible
        if visible.revision != view.revision:
            self._follow(view, visible)
        while len(self._known) > _SCOPES:
            self._known.popitem(last=False)
        return visible

    def _follow(self, view: ReadView, visible: _Visible) -> None:
        for one in view.hypotheses.changed_after(visible.revision):
            visible.drop(one.id)
            if one.is_visible:
                visible.put(one, self._terms(one))
        if len(visible.by_id) != view.hypotheses.visible_count():
            # Some are gone for good, which leaves no row behind.
            there = view.hypotheses.existing(list(visible.by_id))
            for gone in visible.by_id.keys() - there:
                visible.drop(gone)
        visible.revision = view.revision

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        # Who never asks for hypotheses waits for no tokenizer.
        from agentcore.recall.tokenizer import Tokenizer  # noqa: PLC0415

        return Tokenizer()

    def _terms(self, one: Hypothesis) -> set[str]:
        return set(self._tokenizer.tokens(f"{one.hypothesis} {one.what_if}"))

    def _ranked(
        self, visible: _Visible, query: str, results: Collection[str], limit: int
    ) -> tuple[RelatedHypothesis, ...]:
        rare = max(_LEAST_RARE, len(visible.by_id) // _RARE_SHARE)
        words, shared = Counter[str](), Counter[str]()
        for term in set(self._tokenizer.query_tokens(query)):
            holders = visible.by_term.get(term, ())
            if len(holders) <= rare:
                words.update(holders)
        for entry_id in results:
            shared.update(visible.by_source.get(entry_id, ()))
        ranks = visible.ranks
        scores = {name: ranks[name] + _OF_WORDS * min(1.0, count / 2) for name, count in words.items()}
        for name, count in shared.items():
            part = count / len(visible.by_id[name].source_refs)
            scores[name] = scores.get(name, ranks[name]) + _OF_SOURCES * part
        # Hundreds may hold a word, and few are told: only those near the last of them are put in order.
        least = min(nlargest(limit, scores.values()), default=0.0) - _ROUNDED
        near = [(-round(score, 4), name) for name, score in scores.items() if score >= least]
        return tuple(RelatedHypothesis(visible.by_id[name], -score) for score, name in sorted(near)[:limit])
