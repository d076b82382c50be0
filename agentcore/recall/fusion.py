"""Fusion: the scores of words and of vectors in one."""

from dataclasses import dataclass

import numpy as np

from agentcore.recall.dense_index import Similarities
from agentcore.recall.lists import Floats, Keys


@dataclass(frozen=True, slots=True)
class Fused:
    """Relevance out of two parts, one number for each of the keys asked about.

    Args:
        words: Share of the words, 0 to 1 - weight.
        dense: Share of the vectors, 0 to weight.
        cosines: Similarity with the query; NaN without a vector.
        scale: What a BM25 score is multiplied with for its share.
    """

    words: Floats
    dense: Floats
    cosines: Floats
    scale: float

    @property
    def relevance(self) -> Floats:
        """Both shares together, 0..1."""
        return self.words + self.dense


def fuse(keys: Keys, matches: tuple[Keys, Floats], similarities: Similarities, weight: float) -> Fused:
    """Add up both kinds of score, each put on a scale from 0 for its worst to 1 for its best.

    That is CombSUM with min-max normalisation (Fox and Shaw, "Combination of Multiple Searches", TREC-2, 1994). Unlike
    ranks, it keeps how far the first is ahead, so a weak partner moves little. The worst score of words is 0, that of
    an entry which shares none; the worst of vectors is the least cosine in the scope.

    Args:
        keys: What to score, ascending.
        matches: Keys and BM25 scores of the entries that share a word with the query, in any order.
        similarities: Cosines of the entries that have a vector.
        weight: Share of the vectors, 0..1.

    Example:
        >>> near = Similarities(np.array([1, 2, 3]), np.array([0.1, 0.9, 0.5]))
        >>> fuse(np.array([1, 2, 3]), (np.array([1]), np.array([7.5])), near, 0.4).relevance.round(2).tolist()
        [0.6, 0.4, 0.2]
    """
    found, scores = matches
    best = float(scores.max()) if len(scores) else 0.0
    scale = (1.0 - weight) / best if best > 0.0 else 0.0
    words = np.zeros(len(keys))
    places, known = _places(keys, found)
    words[places] = scores[known] * scale
    cosines = np.full(len(keys), np.nan)
    places, known = _places(keys, similarities.keys)
    cosines[places] = similarities.cosines[known]
    dense = np.zeros(len(keys))
    low, high = _ends(similarities.cosines)
    if high > low:
        dense[places] = weight * (similarities.cosines[known] - low) / (high - low)
    return Fused(words, dense, cosines, scale)


def _ends(cosines: Floats) -> tuple[float, float]:
    return (float(cosines.min()), float(cosines.max())) if len(cosines) else (0.0, 0.0)


def _places(keys: Keys, found: Keys) -> tuple[Keys, Keys]:
    """Return where those of *found* that are among *keys* stand there, and where in *found*."""
    if not len(keys):
        return keys[:0], keys[:0]
    places = np.minimum(np.searchsorted(keys, found), len(keys) - 1)
    known = np.flatnonzero(keys[places] == found)
    return places[known], known
