"""The lists beneath the index: which document holds which term how often, and back."""

from array import array
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Keys: TypeAlias = NDArray[np.int64]
"""Document keys, shape (documents,)."""

Slots: TypeAlias = NDArray[np.intp]
"""Places of documents in the lists, shape (documents,); a compaction renumbers them."""

Floats: TypeAlias = NDArray[np.float64]

# Nearly every count is 1, so only the others are kept: by term, places in its list and the counts there.
_Repeats: TypeAlias = "dict[int, tuple[array[int], array[int]]]"

# Fitted to tracemalloc on 1k to 1M documents (see tests/bench/bench_index.py).
_BYTES_PER_POSTING: Final = 9
_BYTES_PER_DOCUMENT: Final = 127
_BYTES_PER_TERM: Final = 217


class Postings:
    """Inverted and forward lists of a changing set of documents; lives as long as the index above it.

    A document has a key (the caller's) and a slot (ours, dense). Removing one leaves a tombstone, which
    readers skip; `compact` drops tombstones and renumbers the slots.

    Every array handed out is a copy. An `array` refuses to grow while a NumPy view of it is alive, so no view
    may outlive the method that made it.

    Not thread-safe: one thread owns it.

    Args:
        columns: Numbers kept beside each document, such as its importance and when it was last seen.
    """

    __slots__ = (
        "_alive",
        "_columns",
        "_documents",
        "_forward",
        "_frequencies",
        "_keys",
        "_lengths",
        "_repeats",
        "_slot_of",
        "_starts",
        "_term_ids",
        "_terms",
        "revision",
        "total_length",
    )

    def __init__(self, columns: int = 0) -> None:
        self.revision = 0
        """Grows with every change of the documents."""
        self.total_length = 0
        """Tokens of all live documents."""
        self._slot_of: dict[int, int] = {}
        self._keys: array[int] = array("q")
        self._lengths: array[int] = array("i")
        self._alive = bytearray()
        self._columns = tuple(array("d") for _ in range(columns))
        self._term_ids: dict[str, int] = {}
        self._terms: list[str] = []
        self._documents: list[array[int]] = []
        self._repeats: _Repeats = {}
        self._frequencies: array[int] = array("i")
        self._forward: array[int] = array("i")
        self._starts: array[int] = array("q", [0])

    def __len__(self) -> int:
        return len(self._slot_of)

    def __contains__(self, key: object) -> bool:
        return key in self._slot_of

    @property
    def slot_count(self) -> int:
        """Slots in use, tombstones included."""
        return len(self._keys)

    @property
    def dead(self) -> int:
        """Tombstones."""
        return len(self._keys) - len(self._slot_of)

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate within a fifth, at no cost."""
        documents = self.slot_count * (_BYTES_PER_DOCUMENT + 8 * len(self._columns))
        return documents + len(self._forward) * _BYTES_PER_POSTING + len(self._terms) * _BYTES_PER_TERM

    def add(self, key: int, tokens: Iterable[str], values: Sequence[float], *, replace: bool = False) -> None:
        """Append a document; nothing has changed if this raises.

        Args:
            key: Below 2^63.
            tokens: Its terms, repeated as often as they occur.
            values: One number for each column.
            replace: Whether the key may be present; that document then becomes a tombstone.

        Raises:
            ValueError: If the key is present and may not be, or the values do not fit the columns.
            OverflowError: If the key does not fit 64 bits.
        """
        if key in self._slot_of and not replace:
            raise ValueError(f"Document {key} is indexed already: use update.")
        if len(values) != len(self._columns):
            raise ValueError(f"Give {len(self._columns)} values with document {key}, not {len(values)}.")
        counts: dict[str, int] = {}
        length = 0
        for token in tokens:
            counts[token] = counts.get(token, 0) + 1
            length += 1
        numbers = [float(value) for value in values]
        slot = len(self._keys)
        self._keys.append(key)
        if replace:
            self.remove(key)
        self._lengths.append(length)
        self._alive.append(1)
        for column, number in zip(self._columns, numbers, strict=True):
            column.append(number)
        self._append_postings(slot, counts)
        self._starts.append(len(self._forward))
        self._slot_of[key] = slot
        self.total_length += length
        self.revision += 1

    def _append_postings(self, slot: int, counts: dict[str, int]) -> None:
        ids, documents, frequencies = self._term_ids, self._documents, self._frequencies
        terms: list[int] = []
        for token, count in counts.items():
            term = ids.get(token)
            if term is None:
                term = ids[token] = len(documents)
                self._terms.append(token)
                documents.append(array("i"))
                frequencies.append(0)
            if count > 1:
                places, repeats = self._repeats.setdefault(term, (array("i"), array("i")))
                places.append(len(documents[term]))
                repeats.append(count)
            documents[term].append(slot)
            frequencies[term] += 1
            terms.append(term)
        self._forward.fromlist(terms)

    def remove(self, key: int) -> bool:
        """Make a document a tombstone.

        Returns:
            Whether there was one.
        """
        slot = self._slot_of.pop(key, None)
        if slot is None:
            return False
        frequencies = self._frequencies
        for term in self._forward[self._starts[slot] : self._starts[slot + 1]]:
            frequencies[term] -= 1
        self.total_length -= self._lengths[slot]
        self._alive[slot] = 0
        self.revision += 1
        return True

    def set_values(self, key: int, values: Sequence[float]) -> None:
        """Replace the numbers beside a document.

        Raises:
            KeyError: If no live document has the key.
            ValueError: If the values do not fit the columns.
        """
        slot = self._slot_of[key]
        for column, number in zip(self._columns, [float(value) for value in values], strict=True):
            column[slot] = number

    def slot_of(self, key: int) -> int:
        """The slot of a live document.

        Raises:
            KeyError: If no live document has the key.
        """
        return self._slot_of[key]

    def term_id(self, term: str) -> int | None:
        """The number of a term some document holds or held; None if none did."""
        return self._term_ids.get(term)

    def term(self, term_id: int) -> str:
        """The term of a number."""
        return self._terms[term_id]

    def document_frequency(self, term_id: int) -> int:
        """Live documents that hold a term."""
        return self._frequencies[term_id]

    def frequencies(self) -> NDArray[np.intc]:
        """Live documents of every term, by its number, zeros included."""
        return np.array(self._frequencies, dtype=np.intc)

    def frequencies_of(self, terms: Slots) -> NDArray[np.intc]:
        """Live documents of some terms."""
        return np.frombuffer(self._frequencies, dtype=np.intc).take(terms)

    def slots(self, term_id: int) -> Slots:
        """Slots that hold a term, ascending and distinct, tombstones included."""
        return np.frombuffer(self._documents[term_id], dtype=np.intc).astype(np.intp)

    def counts(self, term_id: int) -> Floats:
        """How often each of `slots(term_id)` holds the term."""
        counts = np.ones(len(self._documents[term_id]))
        if (repeats := self._repeats.get(term_id)) is not None:
            counts[np.frombuffer(repeats[0], dtype=np.intc)] = np.frombuffer(repeats[1], dtype=np.intc)
        return counts

    def lengths(self, slots: Slots) -> Floats:
        """Tokens of each document."""
        return np.frombuffer(self._lengths, dtype=np.intc).take(slots).astype(np.float64)

    def alive(self, slots: Slots) -> NDArray[np.bool_]:
        """Which of the slots are no tombstones."""
        return np.frombuffer(self._alive, dtype=np.bool_).take(slots)

    def keys(self, slots: Slots) -> Keys:
        """The keys of documents."""
        return np.frombuffer(self._keys, dtype=np.int64).take(slots)

    def values(self, slots: Slots) -> Floats:
        """The numbers beside documents, shape (columns, documents)."""
        if not self._columns:
            return np.empty((0, len(slots)))
        return np.stack([np.frombuffer(column).take(slots) for column in self._columns])

    def terms_at(self, slots: Slots) -> tuple[Slots, Slots]:
        """The distinct terms of documents, one document after the other.

        Returns:
            The terms' numbers, and how many of them each document has, shape (documents,).
        """
        starts = np.frombuffer(self._starts, dtype=np.int64)
        first = starts.take(slots)
        sizes = (starts.take(slots + 1) - first).astype(np.intp)
        ends = np.cumsum(sizes)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + sizes, sizes)
        return np.frombuffer(self._forward, dtype=np.intc).take(places).astype(np.intp), sizes

    def compact(self) -> int:
        """Drop the tombstones and the terms nobody holds; slots and term numbers change.

        Returns:
            How many tombstones there were.
        """
        dead = self.dead
        if dead == 0:
            return 0
        alive = np.array(self._alive, dtype=np.bool_)
        held = np.flatnonzero(self.frequencies())
        forward, starts = self._compacted_forward(alive, held)
        documents, repeats = self._compacted_inverted(alive, held)
        # Nothing of self has changed so far: an interruption up to here costs no more than the time.
        self._forward, self._starts = array("i", forward.tobytes()), array("q", starts.tobytes())
        self._documents, self._repeats = documents, repeats
        self._terms = [self._terms[term] for term in held.tolist()]
        self._term_ids = {term: number for number, term in enumerate(self._terms)}
        self._frequencies = array("i", map(len, documents))
        self._keys = array("q", np.array(self._keys, dtype=np.int64)[alive].tobytes())
        self._lengths = array("i", np.array(self._lengths, dtype=np.intc)[alive].tobytes())
        self._columns = tuple(array("d", np.array(column)[alive].tobytes()) for column in self._columns)
        self._alive = bytearray(b"\x01" * len(self._keys))
        self._slot_of = {key: slot for slot, key in enumerate(self._keys)}
        return dead

    def _compacted_forward(self, alive: NDArray[np.bool_], held: Slots) -> tuple[NDArray[np.intc], Keys]:
        number_now = np.zeros(len(self._terms), dtype=np.intc)
        number_now[held] = np.arange(len(held))
        sizes = np.diff(np.array(self._starts, dtype=np.int64))
        kept = np.array(self._forward, dtype=np.intc)[np.repeat(alive, sizes)]
        return number_now.take(kept), np.cumsum(np.append(0, sizes[alive]))

    def _compacted_inverted(self, alive: NDArray[np.bool_], held: Slots) -> tuple[list["array[int]"], "_Repeats"]:
        slot_now = np.cumsum(alive, dtype=np.intc) - np.intc(1)
        documents: list[array[int]] = []
        repeats: _Repeats = {}
        for number, term in enumerate(held.tolist()):
            slots = self.slots(term)
            live = alive.take(slots)
            documents.append(array("i", slot_now.take(slots[live]).tobytes()))
            if term in self._repeats:
                counts = self.counts(term)[live].astype(np.intc)
                if len(places := np.flatnonzero(counts > 1)):
                    repeats[number] = (array("i", places.tolist()), array("i", counts[places].tolist()))
        return documents, repeats
