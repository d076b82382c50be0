"""Holds one scope's entries as vectors, and joins their similarities with the scores of words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agentcore.domain.text import content_hash
from agentcore.recall.bm25.arrays import Floats, Keys
from agentcore.stores.values import FILING_MARK, FeedPosition, IndexRow

_NUMBER: Final = np.dtype("<f4")
_BYTES_PER_ENTRY: Final = 300
_FIRST_ROOM: Final = 64


@dataclass(frozen=True, slots=True)
class Similarities:
    """How near the texts of entries are to a query.

    Args:
        keys: Entries that have a vector, ascending.
        cosines: The cosine of each with the query, -1..1.
    """

    keys: Keys
    cosines: Floats


class DenseIndex:
    """The vectors of one scope's live entries; lives until `Recall` makes room for another.

    An entry comes in without a vector; `unlooked` tells which to look for in the store, `attach` takes what was found,
    and `wanting` tells which the model has to be asked for.

    Not thread-safe: the recall thread owns it.

    Example:
        >>> index = DenseIndex()
        >>> index.take([IndexRow(7, "tea", 0.5, 0, True), IndexRow(8, "coffee", 0.5, 0, True)])
        >>> index.expect(2)
        >>> index.attach({content_hash("tea"): pack([[3.0, 4.0]])[0]})
        >>> found = index.similarities([1.0, 0.0])
        >>> found.keys.tolist(), found.cosines.round(2).tolist()
        ([7], [0.6])
    """

    def __init__(self) -> None:
        self.position = FeedPosition()
        """How far the change feed has been taken over."""
        self._length = 0
        self._clear()

    def _clear(self) -> None:
        self._hash_of: dict[int, str] = {}
        self._unlooked: dict[int, None] = {}
        self._wanting: dict[int, None] = {}
        self._slot_of: dict[int, int] = {}
        self._keys: list[int] = []
        self._rows = np.zeros((0, self._length), _NUMBER)

    def restart(self) -> None:
        """Forget everything and begin the feed anew."""
        self.position = FeedPosition()
        self._clear()

    def drop(self, keys: Iterable[int]) -> None:
        """Leave out entries that are gone; unknown ones change nothing."""
        for key in keys:
            self._hash_of.pop(key, None)
            self._unlooked.pop(key, None)
            self._wanting.pop(key, None)
            self._detach(key)

    def take(self, rows: Iterable[IndexRow]) -> None:
        """Take over entries as they are now; those that readers may not see leave."""
        for row in rows:
            if not row.live:
                self.drop([row.key])
                continue
            content, mark, _ = row.text.rpartition(FILING_MARK)
            digest = content_hash(content if mark else row.text)
            if self._hash_of.get(row.key) != digest:
                self.drop([row.key])
                self._hash_of[row.key] = digest
                self._unlooked[row.key] = None

    def reach(self, position: FeedPosition) -> None:
        """Note that everything up to *position* has been taken over."""
        self.position = position

    def tidy(self) -> bool:
        """Nothing is left behind."""
        return False

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate."""
        return self._rows.nbytes + _BYTES_PER_ENTRY * len(self._hash_of)

    def expect(self, length: int) -> None:
        """Note how many numbers a vector has; with another number than before, all vectors are looked for anew."""
        if length != self._length:
            self._length = length
            self._unlooked = dict.fromkeys(self._hash_of)
            self._wanting = {}
            self._slot_of, self._keys = {}, []
            self._rows = np.zeros((0, length), _NUMBER)

    def unlooked(self, limit: int) -> dict[int, str]:
        """Return entries whose vector has not been looked for in the store, with the hash of their text."""
        return {key: self._hash_of[key] for key in islice(self._unlooked, limit)}

    def wanting(self, limit: int) -> dict[int, str]:
        """Return entries that the store has no vector of, with the hash of their text."""
        return {key: self._hash_of[key] for key in islice(self._wanting, limit)}

    def looked(self, keys: Iterable[int]) -> None:
        """Note that the store was asked for the vectors of *keys*: those without one want one."""
        for key in keys:
            if key in self._unlooked:
                del self._unlooked[key]
                self._wanting[key] = None

    def set_aside(self, keys: Iterable[int]) -> None:
        """Want no vector for *keys* any more: there is none to be had for what they say."""
        for key in keys:
            self._wanting.pop(key, None)

    def attach(self, vectors: Mapping[str, bytes]) -> None:
        """Take the vectors of texts, by the hash of each; those of another length than expected are left."""
        size = self._length * _NUMBER.itemsize
        for waiting in (self._unlooked, self._wanting):
            for key in [key for key in waiting if len(vectors.get(self._hash_of[key], b"")) == size]:
                del waiting[key]
                self._put(key, vectors[self._hash_of[key]])

    def similarities(self, query: Sequence[float]) -> Similarities:
        """Return how near each entry that has a vector is to a query's vector of the expected length."""
        keys = np.array(self._keys, np.int64)
        cosines = (self._rows[: len(keys)] @ _unit(np.asarray([query], np.float64))[0]).astype(np.float64)
        order = np.argsort(keys)
        return Similarities(keys[order], np.clip(cosines[order], -1.0, 1.0))

    def _put(self, key: int, vector: bytes) -> None:
        slot = len(self._keys)
        if slot == len(self._rows):
            grown = np.zeros((max(_FIRST_ROOM, slot * 3 // 2), self._length), _NUMBER)
            grown[:slot] = self._rows[:slot]
            self._rows = grown
        self._rows[slot] = np.frombuffer(vector, _NUMBER)
        self._keys.append(key)
        self._slot_of[key] = slot

    def _detach(self, key: int) -> None:
        """Take a vector out, the last one filling its place."""
        slot = self._slot_of.pop(key, None)
        if slot is None:
            return
        last = self._keys.pop()
        if last != key:
            self._rows[slot] = self._rows[len(self._keys)]
            self._keys[slot] = last
            self._slot_of[last] = slot


def pack(vectors: Sequence[Sequence[float]]) -> list[bytes]:
    """Return vectors at length 1, as the store keeps them.

    Raises:
        ValueError: they are of different lengths, or hold what is no finite number.

    Example:
        >>> len(pack([[3.0, 4.0]])[0])
        8
    """
    rows = np.asarray(vectors, np.float64)
    if rows.ndim != 2 or not rows.shape[1] or not np.isfinite(rows).all():
        raise ValueError("Give vectors of one length and of finite numbers.")
    return [row.tobytes() for row in _unit(rows)]


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    # The largest number first: the square of a huge one is infinite.
    scaled = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return (scaled / np.where(lengths > 0.0, lengths, 1.0)).astype(_NUMBER)


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
