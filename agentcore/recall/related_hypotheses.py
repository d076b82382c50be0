"""Finds hypotheses that have to do with a query or its results: a lane beside recall, never part of its results."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from agentcore.domain.scope import Scope
from agentcore.errors import AgentcoreError
from agentcore.recall.results import RelatedHypothesis
from agentcore.stores.storage import ReadView, Storage

if TYPE_CHECKING:
    from agentcore.recall.hypothesis_index import HypothesisIndex

_log: Final = logging.getLogger(__name__)
MOST_RELATED: Final = 20
"""Hypotheses beside one answer at most."""
_SCOPES: Final = 64


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
        self._known: OrderedDict[Scope, HypothesisIndex] = OrderedDict()

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
            return at_hand.ranked(query, results, limit)
        try:
            visible = await self._storage.read(scope, lambda view: self._current(view, scope))
        except AgentcoreError as error:
            _log.warning("related_hypotheses_unread", extra={"scope": str(scope), "error": type(error).__name__})
            return ()
        return visible.ranked(query, results, limit)

    def _current(self, view: ReadView, scope: Scope) -> "HypothesisIndex":
        # Nobody else finds it while it is brought up to date: whoever asks meanwhile makes one of their own.
        # Who never asks for hypotheses waits for no tokenizer.
        from agentcore.recall import hypothesis_index  # noqa: PLC0415

        visible = self._known.pop(scope, None) or hypothesis_index.HypothesisIndex()
        if visible.revision != view.revision:
            self._follow(view, visible)
        self._known[scope] = visible
        while len(self._known) > _SCOPES:
            self._known.popitem(last=False)
        return visible

    def _follow(self, view: ReadView, visible: "HypothesisIndex") -> None:
        for one in view.hypotheses.changed_after(visible.revision):
            visible.drop(one.id)
            if one.is_visible:
                visible.put(one)
        if len(visible.ids) != view.hypotheses.visible_count():
            # Some are gone for good, which leaves no row behind.
            there = view.hypotheses.existing(list(visible.ids))
            for gone in set(visible.ids) - there:
                visible.drop(gone)
        visible.revision = view.revision
