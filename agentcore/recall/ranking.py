"""Ranking: keys and scores, best first."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ranking:
    """Matching records, best first.

    Args:
        keys: Their keys in the store.
        scores: What each scores, above 0.
    """

    keys: list[int]
    scores: list[float]
