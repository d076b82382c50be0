"""Ranks the hypotheses in sight of one scope for a query, by the words and sources they hold."""

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from agentcore.domain.hypothesis import Hypothesis
from agentcore.recall.bm25.arrays import Slots
from agentcore.recall.results import RelatedHypothesis
from agentcore.recall.tokenizer import Tokenizer

_LEAST_RARE: Final = 3
_RARE_SHARE: Final = 40
"""A word is rare that at most this part of the hypotheses hold."""
_OF_SOURCES: Final = 0.4
_OF_WORDS: Final = 0.3
_OF_RANK: Final = 0.2
_ROUNDED: Final = 1e-4
"""Scores that differ by less may be told as equal."""
_NONE: Final[Slots] = np.empty(0, dtype=np.int64)
_SPARSE: Final = 100
"""Empty slots that are never too many."""


class HypothesisIndex:
    """The hypotheses in sight of one scope, each in a slot, by the words and sources they hold.

    A slot is never used again: one that is empty ranks below everything.
    """

    def __init__(self) -> None:
        self.revision = -1
        self._tokenizer = Tokenizer()
        self.slots: list[Hypothesis | None] = []
        self.slot_of: dict[str, int] = {}
        self._by_term: dict[str, list[int]] = {}
        self._by_source: dict[str, list[int]] = {}
        self._arrays: dict[int, Slots] = {}
        self._ranks = np.empty(0)
        """By slot, what likelihood and confidence give of a score."""
        self._parts = np.empty(0)
        """By slot, what one shared source gives."""

    @property
    def is_sparse(self) -> bool:
        """Whether most slots are empty."""
        return len(self.slots) > 2 * len(self.slot_of) + _SPARSE

    def put(self, one: Hypothesis) -> None:
        """Take a hypothesis over."""
        slot = self.slot_of[one.id] = len(self.slots)
        self.slots.append(one)
        for term in set(self._tokenizer.tokens(f"{one.hypothesis} {one.what_if}")):
            self._by_term.setdefault(term, []).append(slot)
        for ref in one.source_refs:
            self._by_source.setdefault(ref.id, []).append(slot)

    def drop(self, hypothesis_id: str) -> None:
        """Leave a hypothesis out; an unknown one changes nothing."""
        slot = self.slot_of.pop(hypothesis_id, None)
        if slot is not None:
            self.slots[slot] = None

    def reach(self, revision: int) -> None:
        """Note that all is as of this revision."""
        told = [
            (0.0, 0) if one is None else (one.likelihood + one.confidence, len(one.source_refs)) for one in self.slots
        ]
        self._ranks = np.array([_OF_RANK * ranks / 2 if refs else -np.inf for ranks, refs in told])
        self._parts = np.array([_OF_SOURCES / refs if refs else 0.0 for _, refs in told])
        self._arrays.clear()
        self.revision = revision

    def _holding(self, term: str, most: int) -> Slots:
        """Return the slots of those that hold a word, none if more than *most* do."""
        held = self._by_term.get(term, ())
        return self._array(held) if len(held) <= most else _NONE

    def _resting_on(self, source_id: str) -> Slots:
        """Return the slots of those that rest on a record."""
        return self._array(self._by_source.get(source_id, ()))

    def _array(self, slots: Sequence[int]) -> Slots:
        if not slots:
            return _NONE
        found = self._arrays.get(id(slots))
        if found is None:
            found = self._arrays[id(slots)] = np.array(slots, dtype=np.int64)
        return found

    def ranked(self, query: str, results: Collection[str], limit: int) -> tuple[RelatedHypothesis, ...]:
        """Return the best for a query and the entries that answer it, best first."""
        rare = max(_LEAST_RARE, len(self.slot_of) // _RARE_SHARE)
        words = [self._holding(term, rare) for term in set(self._tokenizer.query_tokens(query))]
        sources = [self._resting_on(one) for one in results]
        said, shared = (np.bincount(_joined(held), minlength=len(self.slots)) for held in (words, sources))
        slots = np.flatnonzero(said + shared)
        if not len(slots):
            return ()
        of_words = _OF_WORDS * np.minimum(1.0, said[slots] / 2)
        scores = self._ranks[slots] + of_words + self._parts[slots] * shared[slots]
        # Hundreds may hold a word, and few are told: only those near the last of them are put in order.
        last = max(0, len(slots) - limit)
        near = np.flatnonzero(scores >= np.partition(scores, last)[last] - _ROUNDED)
        told: list[tuple[int, float]] = list(zip(slots[near].tolist(), scores[near].tolist(), strict=True))
        there = ((self.slots[slot], score) for slot, score in told)
        found = [RelatedHypothesis(one, round(score, 4)) for one, score in there if one is not None]
        return tuple(sorted(found, key=lambda one: (-one.score, one.hypothesis.id))[:limit])


def _joined(held: Sequence[Slots]) -> Slots:
    return np.concatenate([_NONE, *held])
