"""Sums over few of many places."""

import numpy as np

from agentcore.recall.lists import Floats, Slots


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
