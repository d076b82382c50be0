"""Finds hypotheses that have to do with a query or its results: a lane beside recall, never part of its results."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from agentcore.domain.hypothesis import Hypothesis
from agentcore.domain.scope import Scope
from agentcore.errors import AgentcoreError
from agentcore.recall.bm25.arrays import Slots
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
_NONE: Final[Slots] = np.empty(0, dtype=np.int64)
_SPARSE: Final = 100
"""Empty slots that are never too many."""
_ROUNDED: Final = 1e-4
"""Scores that differ by less may be told as equal."""


class _Visible:
    """The hypotheses in sight of one scope, each in a slot, by the words and sources they hold.

    A slot is never used again: one that is empty ranks below everything.
    """

    def __init__(self) -> None:
        self.revision = -1
        self.slots: list[Hypothesis | None] = []
        self.slot_of: dict[str, int] = {}
        self._by_term: dict[str, list[int]] = {}
        self._by_source: dict[str, list[int]] = {}
        self._arrays: dict[int, Slots] = {}
        self.ranks = np.empty(0)
        """By slot, what likelihood and confidence give of a score."""
        self.parts = np.empty(0)
        """By slot, what one shared source gives."""

    @property
    def is_sparse(self) -> bool:
        """Whether most slots are empty."""
        return len(self.slots) > 2 * len(self.slot_of) + _SPARSE

    def put(self, one: Hypothesis, terms: Iterable[str]) -> None:
        slot = self.slot_of[one.id] = len(self.slots)
        self.slots.append(one)
        for term in terms:
            self._by_term.setdefault(term, []).append(slot)
        for ref in one.source_refs:
            self._by_source.setdefault(ref.id, []).append(slot)

    def drop(self, hypothesis_id: str) -> None:
        slot = self.slot_of.pop(hypothesis_id, None)
        if slot is not None:
            self.slots[slot] = None

    def reach(self, revision: int) -> None:
        """Note that all is as of this revision."""
        told = [
            (0.0, 0) if one is None else (one.likelihood + one.confidence, len(one.source_refs)) for one in self.slots
        ]
        self.ranks = np.array([_OF_RANK * ranks / 2 if refs else -np.inf for ranks, refs in told])
        self.parts = np.array([_OF_SOURCES / refs if refs else 0.0 for _, refs in told])
        self._arrays.clear()
        self.revision = revision

    def holding(self, term: str, most: int) -> Slots:
        """Return the slots of those that hold a word, none if more than *most* do."""
        held = self._by_term.get(term, ())
        return self._array(held) if len(held) <= most else _NONE

    def resting_on(self, source_id: str) -> Slots:
        """Return the slots of those that rest on a record."""
        return self._array(self._by_source.get(source_id, ()))

    def _array(self, slots: Sequence[int]) -> Slots:
        if not slots:
            return _NONE
        found = self._arrays.get(id(slots))
        if found is None:
            found = self._arrays[id(slots)] = np.array(slots, dtype=np.int64)
        return found


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
        # Nobody else finds it while it is brought up to date: whoever asks meanwhile makes one of their own.
        known = self._known.pop(scope, None)
        visible = _Visible() if known is None or known.is_sparse else known
        if visible.revision != view.revision:
            self._follow(view, visible)
        self._known[scope] = visible
        while len(self._known) > _SCOPES:
            self._known.popitem(last=False)
        return visible

    def _follow(self, view: ReadView, visible: _Visible) -> None:
        for one in view.hypotheses.changed_after(visible.revision):
            visible.drop(one.id)
            if one.is_visible:
                visible.put(one, self._terms(one))
        if len(visible.slot_of) != view.hypotheses.visible_count():
            # Some are gone for good, which leaves no row behind.
            there = view.hypotheses.existing(list(visible.slot_of))
            for gone in visible.slot_of.keys() - there:
                visible.drop(gone)
        visible.reach(view.revision)

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
        rare = max(_LEAST_RARE, len(visible.slot_of) // _RARE_SHARE)
        words = [visible.holding(term, rare) for term in set(self._tokenizer.query_tokens(query))]
        sources = [visible.resting_on(one) for one in results]
        said, shared = (np.bincount(_joined(held), minlength=len(visible.slots)) for held in (words, sources))
        slots = np.flatnonzero(said + shared)
        if not len(slots):
            return ()
        of_words = _OF_WORDS * np.minimum(1.0, said[slots] / 2)
        scores = visible.ranks[slots] + of_words + visible.parts[slots] * shared[slots]
        # Hundreds may hold a word, and few are told: only those near the last of them are put in order.
        last = max(0, len(slots) - limit)
        near = np.flatnonzero(scores >= np.partition(scores, last)[last] - _ROUNDED)
        told: list[tuple[int, float]] = list(zip(slots[near].tolist(), scores[near].tolist(), strict=True))
        there = ((visible.slots[slot], score) for slot, score in told)
        found = [RelatedHypothesis(one, round(score, 4)) for one, score in there if one is not None]
        return tuple(sorted(found, key=lambda one: (-one.score, one.hypothesis.id))[:limit])


def _joined(held: Sequence[Slots]) -> Slots:
    return np.concatenate([_NONE, *held])
