"""Finds hypotheses that have to do with a query or its results: a lane beside recall, never part of its results."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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


@dataclass(slots=True)
class _Visible:
    """The hypotheses in sight of one scope, by the words and sources they hold."""

    revision: int = -1
    by_id: dict[str, Hypothesis] = field(default_factory=dict[str, Hypothesis])
    by_term: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    by_source: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def put(self, one: Hypothesis, terms: Iterable[str]) -> None:
        self.by_id[one.id] = one
        for term in terms:
            self.by_term.setdefault(term, set()).add(one.id)
        for ref in one.source_refs:
            self.by_source.setdefault(ref.id, set()).add(one.id)

    def drop(self, hypothesis_id: str) -> None:
        if self.by_id.pop(hypothesis_id, None) is not None:
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
        if limit < 1:
            return ()
        at_hand = self._known.get(scope)
        if at_hand is not None and at_hand.revision == self._reached(scope):
            return self._ranked(at_hand, query, results)[: min(limit, MOST_RELATED)]
        try:
            visible = await self._storage.read(scope, lambda view: self._current(view, scope))
        except AgentcoreError as error:
            _log.warning("related_hypotheses_unread", extra={"scope": str(scope), "error": type(error).__name__})
            return ()
        return self._ranked(visible, query, results)[: min(limit, MOST_RELATED)]

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

    def _ranked(self, visible: _Visible, query: str, results: Collection[str]) -> tuple[RelatedHypothesis, ...]:
        rare = max(_LEAST_RARE, len(visible.by_id) // _RARE_SHARE)
        asked = {term: visible.by_term.get(term, ()) for term in self._tokenizer.query_tokens(query)}
        words: dict[str, float] = {}
        for holders in asked.values():
            if 0 < len(holders) <= rare:
                for name in holders:
                    words[name] = words.get(name, 0.0) + 1.0
        shared: dict[str, float] = {}
        for entry_id in results:
            for name in visible.by_source.get(entry_id, ()):
                shared[name] = shared.get(name, 0.0) + 1.0
        found = [
            RelatedHypothesis(one, round(self._score(one, shared.get(name, 0.0), words.get(name, 0.0)), 4))
            for name in {*words, *shared}
            if (one := visible.by_id.get(name)) is not None
        ]
        return tuple(sorted(found, key=lambda one: (-one.score, one.hypothesis.id)))

    @staticmethod
    def _score(one: Hypothesis, shared: float, words: float) -> float:
        part = shared / len(one.source_refs)
        ranks = (one.likelihood + one.confidence) / 2
        return _OF_SOURCES * part + _OF_WORDS * min(1.0, words / 2) + _OF_RANK * ranks
