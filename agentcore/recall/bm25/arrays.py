"""Holds the arrays an index is made of: documents and their postings, runs of equal numbers, and sums by slot."""

from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import islice, repeat
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Keys: TypeAlias = NDArray[np.int64]
"""Document keys, shape (documents,)."""

Slots: TypeAlias = NDArray[np.intp]
"""Places of documents in the lists, shape (documents,); a compaction renumbers them."""

Floats: TypeAlias = NDArray[np.float64]

PART_BITS: Final = 20
"""Bits of a key that number the parts of a record, where records are indexed in parts."""

SLOT_SHIFT: Final = 32
SHAPE_MASK: Final = (1 << SLOT_SHIFT) - 1


class TermIds(dict[str, int]):
    """The number of each term; a new one gets the next. Ask with `get` where nothing may be added."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


class LengthCountPairs:
    """The distinct pairs of a term's count and its document's length, numbered; there are few of them.

    All that a score needs of a posting is its pair, so what each pair is worth is computed once and looked up
    for a million postings.
    """

    __slots__ = ("_ids", "counts", "lengths")

    def __init__(self) -> None:
        self._ids: dict[tuple[int, int], int] = {}
        self.counts: array[int] = array("q")
        self.lengths: array[int] = array("q")

    def __len__(self) -> int:
        return len(self.counts)

    def of(self, count: int, length: int) -> int:
        """Return the number of a pair."""
        shape = self._ids.get((count, length))
        if shape is None:
            shape = self._ids[count, length] = len(self.counts)
            self.counts.append(count)
            self.lengths.append(length)
        return shape

    def renumber(self) -> None:
        """Take the numbers from the counts and lengths, after these were read from a file."""
        pairs = zip(self.counts, self.lengths, strict=True)
        self._ids = {pair: number for number, pair in enumerate(pairs)}


@dataclass(frozen=True, slots=True)
class Profile:
    """What bounds the postings of a term, tombstones included.

    Args:
        seen: How many postings were looked at, from the first on.
        repeats: Those of them with a count above one, packed as in `PostingArrays.postings`.
        count: The largest count.
        length: The least length of a document.
    """

    seen: int
    repeats: NDArray[np.int64]
    count: int
    length: int


_UNKNOWN: Final = Profile(seen=0, repeats=np.zeros(0, dtype=np.int64), count=1, length=1 << 62)


@dataclass(slots=True)
class PostingArrays:
    """What the index holds, by slot and by term; lives until a compaction makes it anew.

    Args:
        columns: Numbers beside each document, a list for each column.
        keys: The caller's key of each slot.
        lengths: Tokens of each slot.
        alive: 1 for a document, 0 for a tombstone.
        slot_of: The slot of each live key.
        term_ids: The number of each term.
        terms: The term of each number.
        postings: For each term its postings in the order of slots: slot << 32 | shape.
        frequencies: For each term its live documents.
        forward: The distinct terms of each slot, one slot after the other; of a term that stands beside its text alone,
            as those of a category, the complement (`~`) of its number.
        starts: Where each slot begins in `forward`, and where the next one will.
        shapes: Counts and lengths of the postings.
        total_length: Tokens of all live documents.
        profiles: What queries have learned of the postings of terms.
    """

    columns: "tuple[array[float], ...]" = ()
    keys: "array[int]" = field(default_factory=lambda: array("q"))
    lengths: "array[int]" = field(default_factory=lambda: array("i"))
    alive: bytearray = field(default_factory=bytearray)
    slot_of: dict[int, int] = field(default_factory=dict[int, int])
    term_ids: TermIds = field(default_factory=TermIds)
    terms: list[str] = field(default_factory=list[str])
    postings: "list[array[int]]" = field(default_factory=list["array[int]"])
    frequencies: "array[int]" = field(default_factory=lambda: array("i"))
    forward: "array[int]" = field(default_factory=lambda: array("i"))
    starts: "array[int]" = field(default_factory=lambda: array("q", [0]))
    shapes: LengthCountPairs = field(default_factory=LengthCountPairs)
    total_length: int = 0
    profiles: dict[int, Profile] = field(default_factory=dict[int, Profile])

    def append(self, key: int, tokens: list[str], values: tuple[float, ...], beside: int = 0) -> None:
        """Append a document under a key that is not present and fits 64 bits; the last *beside* tokens are no text."""
        slot = len(self.keys)
        length = len(tokens)
        self.keys.append(key)
        self.lengths.append(length)
        self.alive.append(1)
        for column, number in zip(self.columns, values, strict=True):
            column.append(number)
        self._append_postings(slot << SLOT_SHIFT, tokens, beside)
        self.starts.append(len(self.forward))
        self.slot_of[key] = slot
        self.total_length += length

    def _append_postings(self, base: int, tokens: list[str], beside: int) -> None:
        ids, postings, frequencies = self.term_ids, self.postings, self.frequencies
        shape = self.shapes.of
        length = len(tokens)
        once = base | shape(1, length)
        numbers = [ids[token] for token in tokens]
        filed = set(numbers[length - beside :]).difference(numbers[: length - beside]) if beside else ()
        counts: dict[int, int] | None = None
        distinct = set(numbers)
        if len(distinct) < length:
            counts = {}
            for number in numbers:
                counts[number] = counts.get(number, 0) + 1
            numbers = list(counts)
        if len(ids) > len(postings):
            self.make_room()
        for number in numbers:
            postings[number].append(once)
            frequencies[number] += 1
        if counts is not None:
            for number, count in counts.items():
                if count > 1:
                    postings[number][-1] = base | shape(count, length)
        self.forward.fromlist([~number if number in filed else number for number in numbers] if filed else numbers)

    def make_room(self) -> None:
        """Begin the lists of terms that were numbered since."""
        new = len(self.term_ids) - len(self.postings)
        self.terms += [*islice(reversed(self.term_ids), new)][::-1]
        self.postings += [array("q") for _ in range(new)]
        self.frequencies.extend(repeat(0, new))

    def tokens_at(self, slot: int) -> tuple[list[str], int]:
        """Return the terms of a document, each as often as it occurs, and how many at the end stand beside its text."""
        tokens: list[str] = []
        beside = 0
        for held in sorted(self.forward[self.starts[slot] : self.starts[slot + 1]], reverse=True):
            term = max(held, ~held)
            postings = self.postings[term]
            shape = postings[bisect_left(postings, slot << SLOT_SHIFT)] & SHAPE_MASK
            count = self.shapes.counts[shape]
            tokens += [self.terms[term]] * count
            beside += count if held < 0 else 0
        return tokens, beside

    def profile(self, term: int) -> Profile:
        """Return what bounds the postings of a term; they are only ever appended, so each is looked at once."""
        postings, known = self.postings[term], self.profiles.get(term, _UNKNOWN)
        if known.seen < len(postings):
            fresh = np.frombuffer(postings, dtype=np.int64)[known.seen :]
            counts = np.frombuffer(self.shapes.counts, dtype=np.int64).take(fresh & SHAPE_MASK)
            lengths = np.frombuffer(self.shapes.lengths, dtype=np.int64).take(fresh & SHAPE_MASK)
            repeats = fresh[counts > 1]
            known = self.profiles[term] = Profile(
                seen=len(postings),
                repeats=np.concatenate([known.repeats, repeats]) if len(repeats) else known.repeats,
                count=max(known.count, int(counts.max())),
                length=min(known.length, int(lengths.min())),
            )
        return known

    def bury(self, key: int) -> bool:
        """Make a document a tombstone; return whether there was one."""
        slot = self.slot_of.pop(key, None)
        if slot is None:
            return False
        frequencies = self.frequencies
        for held in self.forward[self.starts[slot] : self.starts[slot + 1]]:
            frequencies[max(held, ~held)] -= 1
        self.total_length -= self.lengths[slot]
        self.alive[slot] = 0
        return True


Numbers = NDArray[np.int64]


def runs(ascending: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct numbers of a sorted array, and how often each stands there.

    Example:
        >>> [part.tolist() for part in runs(np.array([3, 3, 7]))]
        [[3, 7], [2, 1]]
    """
    begins = np.flatnonzero(_is_new(ascending))
    return ascending[begins], np.diff(begins, append=len(ascending))


def numbered(items: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct numbers, ascending, and for each item the place of its number among these.

    Example:
        >>> [part.tolist() for part in numbered(np.array([7, 3, 7]))]
        [[3, 7], [1, 0, 1]]
    """
    order = np.argsort(items, kind="stable")
    ranked = items[order]
    is_new = _is_new(ranked)
    places = np.empty(len(items), dtype=np.int64)
    places[order] = np.cumsum(is_new) - 1
    return ranked[is_new], places


def first_places(items: Numbers) -> Numbers:
    """Return where each distinct number stands first, in the order of the numbers.

    Example:
        >>> first_places(np.array([7, 3, 7])).tolist()
        [1, 0]
    """
    order = np.argsort(items, kind="stable")
    return order[_is_new(items[order])]


def _is_new(ascending: Numbers) -> NDArray[np.bool_]:
    """Tell of each number whether it differs from the one before."""
    is_new = np.ones(len(ascending), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_new[1:])
    return is_new


class SparseSums:
    """A long vector, nearly all zero, to be added to and emptied again; lives as long as its index.

    It knows which places were touched, so no step costs the vector's length: searching or partitioning a
    million zeros takes longer than the query that left them. Where so many are touched that noting them takes longer,
    they may be added to unnoted.

    Example:
        >>> sums = SparseSums()
        >>> sums.begin(1_000)
        >>> sums.add(np.array([7, 900]), 0.5).tolist()
        [0.5, 0.5]
        >>> sums.add(np.array([900]), np.array([2.0])).tolist()
        [2.5]
        >>> [part.tolist() for part in sums.drain()]
        [[7, 900], [0.5, 2.5]]
    """

    __slots__ = ("_size", "_sums", "_touched", "_unnoted")

    def __init__(self) -> None:
        self._sums: Floats = np.zeros(0)
        self._size = 0
        self._touched: list[Slots] = []
        self._unnoted = False

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return self._sums.nbytes

    def begin(self, size: int) -> None:
        """Make room for places below `size`, all zero."""
        if self._touched or self._unnoted:
            # An earlier caller was interrupted half-way.
            self.clear()
        if size > len(self._sums):
            self._sums = np.zeros(size + size // 8)
        self._size = size

    def add(self, slots: Slots, amounts: Floats | float) -> Floats:
        """Add to places, each named once; return their sums."""
        if not self._touched:
            sums = np.zeros(len(slots))
            self._touched.append(slots)
        else:
            sums = self._sums.take(slots)
            self._touched.append(slots[sums == 0.0])
        sums += amounts
        self._sums[slots] = sums
        return sums

    def add_unnoted(self, slots: Slots, amounts: Floats) -> None:
        """Add to places, each named once, without knowing later which they were; *amounts* become the sums."""
        self._unnoted = True
        amounts += self._sums.take(slots)
        self._sums[slots] = amounts

    def everywhere(self) -> Floats:
        """The sums of all places, to be read before the next call."""
        return self._sums[: self._size]

    def clear(self) -> None:
        """Make every place zero, noted or not."""
        self._sums.fill(0.0)
        self._touched.clear()
        self._unnoted = False

    def add_repeatedly(self, slots: Slots, amounts: Floats) -> None:
        """Add to places that may be named more than once; `drain_from` takes them out."""
        np.add.at(self._sums, slots, amounts)
        self._touched.append(slots)

    def raise_to(self, slots: Slots, amounts: Floats) -> None:
        """Have places, which may be named more than once, hold the greatest of their amounts."""
        np.maximum.at(self._sums, slots, amounts)
        self._touched.append(slots)

    def at(self, slots: Slots) -> Floats:
        """The sums of places, touched or not."""
        return self._sums.take(slots)

    def touched(self) -> Slots:
        """The places touched; one whose sum was zero when it was added to again stands there twice."""
        if len(self._touched) != 1:
            self._touched = [np.concatenate(self._touched)] if self._touched else []
        return self._touched[0] if self._touched else np.zeros(0, dtype=np.intp)

    def drain(self) -> tuple[Slots, Floats]:
        """Take out the places touched and their sums.

        Returns:
            Places, as `touched` gives them, and sums, shape (touched,).
        """
        slots = self.touched()
        sums = self._sums.take(slots)
        self._sums[slots] = 0.0
        self._touched.clear()
        return slots, sums

    def drain_from(self, least: float) -> tuple[Slots, Floats]:
        """Take out all places, and return those whose sum is *least* or more, each once and in no order.

        Returns:
            Places and sums, shape (so many,).
        """
        slots, sums = self.drain()
        enough = sums >= least
        slots, sums = slots[enough], sums[enough]
        # Where a place is named more than once, the number that is written last stays.
        numbers = np.arange(len(slots), dtype=np.float64)
        self._sums[slots] = numbers
        last = self._sums.take(slots) == numbers
        self._sums[slots] = 0.0
        return slots[last], sums[last]
