"""Defines how recall ranks, and how much of it stays open."""

import math
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from agentcore.errors import InvalidOptionsError

_LEAST_PASSAGE: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOptions:
    """How recall ranks turns; immutable, checked when made.

    The defaults were chosen on four sets of talks, leaving out one after the other (see `docs/explanation/recall.md`).

    Raises:
        InvalidOptionsError: a number is out of range.

    Example:
        >>> TurnOptions(session_weight=0.0).session_weight
        0.0
    """

    k1: float = 1.2
    """How soon repetitions of a word in one passage of a turn stop counting; 0 or more."""
    b: float = 0.0
    """How much long passages are held back, 0..1."""
    next_weight: float = 0.3
    """Share of the score of the turn before and the turn after that a turn gets; 0 or more."""
    second_weight: float = 0.25
    """The same of the turns two away; 0 or more."""
    session_weight: float = 1.2
    """Share of its session's score, taken as one document, that a turn gets; 0 or more."""
    session_k1: float = 1.2
    """How soon repetitions of a word in one session stop counting; 0 or more."""
    session_b: float = 0.75
    """How much long sessions are held back, 0..1."""
    passage_tokens: int = 80
    """Size of the passages that long turns are cut into, in tokens of four bytes; 16 or more."""
    length_weight: float = 0.35
    """How much the length of a turn of many passages takes of its score (see `share_of_length`); 0 or more."""

    def __post_init__(self) -> None:
        """Refuse values that have no meaning."""
        for name in ("k1", "next_weight", "second_weight", "session_weight", "session_k1", "length_weight"):
            _require_finite(name, getattr(self, name))
        _require_size("passage_tokens", self.passage_tokens)
        for name in ("b", "session_b"):
            _require_share(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallOptions:
    """Options of `Recall`; immutable, checked when made.

    Raises:
        InvalidOptionsError: a number is out of range.

    Example:
        >>> RecallOptions(importance_weight=0.0).importance_weight
        0.0
    """

    k1: float = 1.2
    """How soon repetitions of a word stop counting; 0 or more."""
    b: float = 0.25
    """How much long entries are held back, 0..1; of one that is cut into passages, how much long passages are."""
    passage_tokens: int = 80
    """Size of the passages that long entries are cut into, in tokens of four bytes; 16 or more."""
    length_weight: float = 0.35
    """How much the length of an entry of many passages takes of its score (see `share_of_length`); 0 or more."""
    importance_weight: float = 0.5
    """Share w of a score that importance decides: score = bm25 * (1 - w + w * importance); from 0 to below 1, so
    that whatever matches can be found."""
    recency_weight: float = 0.0
    """Share of a score that recency decides, as importance does; from 0 to below 1. Importance fades with time already,
    so nothing is added by default."""
    recency_half_life: timedelta = timedelta(days=30)
    """Time since an entry was last seen in which its recency halves; above 0."""
    phrase_weight: float = 0.0
    """How much higher an entry scores in which all neighbouring words of the query stand next to each other:
    score * (1 + w * share of the pairs); 0 or more. Candidates have to be read for it."""
    turns: TurnOptions = field(default_factory=TurnOptions)
    """How turns are ranked."""
    max_index_bytes: int = 1 << 30
    """Memory that the indexes of all scopes may take; the one unused for longest makes room, and is built again when
    asked."""
    snapshot_min_entries: int | None = 20_000
    """Entries, or turns, from which a scope's index of them is kept in a file beside the database, so that the next
    start need not cut every text into words again; None keeps none."""

    def __post_init__(self) -> None:
        """Refuse values that have no meaning."""
        _require_finite("k1", self.k1)
        _require_share("b", self.b)
        _require_finite("phrase_weight", self.phrase_weight)
        _require_finite("length_weight", self.length_weight)
        _require_size("passage_tokens", self.passage_tokens)
        for name in ("importance_weight", "recency_weight"):
            if not 0.0 <= getattr(self, name) < 1.0:
                allowed = "give a number from 0 to below 1"
                raise InvalidOptionsError(field=name, value=getattr(self, name), allowed=allowed)
        if self.recency_half_life <= timedelta(0):
            half_life = self.recency_half_life
            raise InvalidOptionsError(field="recency_half_life", value=half_life, allowed="give a time above 0")
        if self.max_index_bytes < 1:
            raise InvalidOptionsError(field="max_index_bytes", value=self.max_index_bytes, allowed="give 1 or more")
        if self.snapshot_min_entries is not None and self.snapshot_min_entries < 1:
            allowed = "give 1 or more, or None"
            raise InvalidOptionsError(field="snapshot_min_entries", value=self.snapshot_min_entries, allowed=allowed)


def _require_finite(field: str, value: float) -> None:
    if not 0.0 <= value < math.inf:
        raise InvalidOptionsError(field=field, value=value, allowed="give a finite number of 0 or more")


def _require_size(field: str, value: float) -> None:
    # So many passages as a text of the greatest size can have are numbered.
    if value < _LEAST_PASSAGE:
        raise InvalidOptionsError(field=field, value=value, allowed=f"give {_LEAST_PASSAGE} or more")


def _require_share(field: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise InvalidOptionsError(field=field, value=value, allowed="give a number from 0 to 1")
