"""Holds which document has which term how often, and back."""

from array import array
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from agentcore.recall.bm25.arrays import (
    PART_BITS,
    SHAPE_MASK,
    SLOT_SHIFT,
    Floats,
    Keys,
    PostingArrays,
    Slots,
    numbered,
    runs,
)
from agentcore.recall.bm25.compaction import Compaction

AT_ONCE: Final = 1 << 13
"""Documents sorted together: more are hardly sooner done and leave the memory in pieces."""

_SLOT_BITS: Final = 16
"""A document's number among these, with a bit for what stands beside its text, and a term's fit one machine word."""
_SLOT_MASK: Final = (1 << (_SLOT_BITS - 1)) - 1


def extend(
    lists: PostingArrays,
    keys: Sequence[int],
    documents: Sequence[list[str]],
    values: Floats,
    besides: Sequence[int] = (),
) -> None:
    """Append documents under keys that are distinct and not present.

    Args:
        lists: Where to append.
        keys: One for each document, below 2^63.
        documents: Their terms; at most `AT_ONCE` of them.
        values: The numbers beside them, shape (columns, documents).
        besides: How many of the last terms of each stand beside its text; none by default.
    """
    first = len(lists.keys)
    sizes = np.fromiter(map(len, documents), np.int64, len(documents))
    flat = np.fromiter(map(lists.term_ids.__getitem__, chain.from_iterable(documents)), np.int64, int(sizes.sum()))
    lists.make_room()
    places = np.repeat(np.arange(len(documents)), sizes)
    items = (flat << _SLOT_BITS) | places << 1
    if any(besides):
        filed = np.fromiter(besides, np.int64, len(documents))
        items |= np.arange(len(flat)) >= np.repeat(np.cumsum(sizes) - filed, sizes)
    items.sort()
    pairs, counts = runs(items >> 1)
    # Of equal terms those of the text come first.
    beside = items[np.cumsum(counts) - counts] & 1
    terms, places = pairs >> (_SLOT_BITS - 1), pairs & _SLOT_MASK
    packed = ((places + first) << SLOT_SHIFT) | _shapes(lists, counts, sizes.take(places))
    _append_postings(lists, terms, packed)
    by_document = np.argsort(places.astype(np.uint16), kind="stable")
    starts = np.cumsum(np.bincount(places, minlength=len(documents))) + len(lists.forward)
    lists.forward.frombytes((terms ^ -beside).take(by_document).astype(np.intc).tobytes())
    lists.starts.frombytes(starts.astype(np.int64).tobytes())
    lists.keys.extend(keys)
    lists.lengths.frombytes(sizes.astype(np.intc).tobytes())
    lists.alive.extend(b"\x01" * len(documents))
    for column, numbers in zip(lists.columns, values, strict=True):
        column.frombytes(np.ascontiguousarray(numbers).tobytes())
    lists.slot_of.update(zip(keys, range(first, first + len(documents)), strict=True))
    lists.total_length += int(sizes.sum())


def _shapes(lists: PostingArrays, counts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the shape of each posting; nearly all have a count of one, so only the others are sorted."""
    if len(lengths) == 0:
        return lengths
    held = np.flatnonzero(np.bincount(lengths))
    once = np.zeros(int(held[-1]) + 1, dtype=np.int64)
    once[held] = [lists.shapes.of(1, length) for length in held.tolist()]
    shapes = once.take(lengths)
    repeated = np.flatnonzero(counts > 1)
    codes, which = numbered((counts[repeated] << SLOT_SHIFT) | lengths[repeated])
    of_code = [lists.shapes.of(code >> SLOT_SHIFT, code & ((1 << SLOT_SHIFT) - 1)) for code in codes.tolist()]
    shapes[repeated] = np.array(of_code, dtype=np.int64).take(which)
    return shapes


def _append_postings(lists: PostingArrays, terms: NDArray[np.int64], packed: NDArray[np.int64]) -> None:
    distinct, sizes = runs(terms)
    content = packed.tobytes()
    frequencies, postings = lists.frequencies, lists.postings
    start = 0
    numbers: list[int] = distinct.tolist()
    for term, size in zip(numbers, cast("list[int]", sizes.tolist()), strict=True):
        end = start + 8 * size
        postings[term].frombytes(content[start:end])
        frequencies[term] += size
        start = end


# Fitted to tracemalloc on 1k to 1M documents (see tests/bench/recall).
_BYTES_PER_POSTING: Final = 13
_BYTES_PER_DOCUMENT: Final = 127
_BYTES_PER_TERM: Final = 250


class Postings:
    """Inverted and forward lists of a changing set of documents; lives as long as the index above it.

    A document has a key (the caller's) and a slot (ours, dense). Removing one leaves a tombstone, which
    readers skip; a compaction drops tombstones and renumbers the slots.

    Every array handed out is a copy. An `array` refuses to grow while a NumPy view of it is alive, so no view
    may outlive the method that made it.

    Not thread-safe: one thread owns it.

    Args:
        columns: Numbers kept beside each document, such as its importance and when it was last seen.
    """

    __slots__ = ("_compaction", "_lists", "revision")

    def __init__(self, columns: int = 0) -> None:
        self.revision = 0
        """Grows with every change of the documents."""
        self._lists = PostingArrays(columns=tuple(array("d") for _ in range(columns)))
        self._compaction: Compaction | None = None

    def __len__(self) -> int:
        return len(self._lists.slot_of)

    def __contains__(self, key: object) -> bool:
        return key in self._lists.slot_of

    @property
    def lists(self) -> PostingArrays:
        """The raw lists, to be kept in a file."""
        return self._lists

    @lists.setter
    def lists(self, lists: PostingArrays) -> None:
        self._lists = lists
        self._compaction = None
        self.revision += 1

    @property
    def slot_count(self) -> int:
        """Slots in use, tombstones included."""
        return len(self._lists.keys)

    @property
    def dead(self) -> int:
        """Tombstones."""
        return len(self._lists.keys) - len(self._lists.slot_of)

    @property
    def term_count(self) -> int:
        """Terms that some document holds or held."""
        return len(self._lists.frequencies)

    @property
    def total_length(self) -> int:
        """Tokens of all live documents."""
        return self._lists.total_length

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate within a fifth, at no cost."""
        lists = self._lists
        documents = self.slot_count * (_BYTES_PER_DOCUMENT + 8 * len(lists.columns))
        return documents + len(lists.forward) * _BYTES_PER_POSTING + len(lists.terms) * _BYTES_PER_TERM

    def add(
        self, key: int, tokens: Iterable[str], values: Sequence[float], *, beside: int = 0, replace: bool = False
    ) -> None:
        """Append a document; nothing has changed if this raises.

        Args:
            key: Below 2^63.
            tokens: Its terms, repeated as often as they occur.
            values: One number for each column.
            beside: How many of the last tokens stand beside its text.
            replace: Whether the key may be present; that document then becomes a tombstone.

        Raises:
            ValueError: If the key is present and may not be, or the values do not fit the columns.
            OverflowError: If the key does not fit 64 bits.
        """
        lists = self._lists
        if key in lists.slot_of:
            if not replace:
                raise ValueError(f"Document {key} is indexed already: use update.")
        elif not -(1 << 63) <= key < 1 << 63:
            raise OverflowError(f"Document {key} needs a key below 2^63.")
        if len(values) != len(lists.columns):
            raise ValueError(f"Give {len(lists.columns)} values with document {key}, not {len(values)}.")
        terms = list(tokens)
        numbers = tuple([float(value) for value in values])
        if replace:
            lists.bury(key)
        lists.append(key, terms, numbers, beside)
        self.revision += 1

    def add_many(
        self,
        keys: Sequence[int],
        documents: Iterable[list[str]],
        values: Sequence[Sequence[float]],
        besides: Sequence[int] = (),
    ) -> None:
        """Append many documents at a fraction of the cost; those of present keys become tombstones.

        Args:
            keys: Distinct, each below 2^63.
            documents: The terms of each.
            values: For each document one number for each column; none where there are no columns.
            besides: How many of the last terms of each stand beside its text; none by default.

        Raises:
            ValueError: If a key stands there twice, or the shapes do not fit; nothing has changed.
            OverflowError: If a key does not fit 64 bits; nothing has changed.
        """
        if not keys:
            return
        columns = len(self._lists.columns)
        numbers = np.array(values, dtype=np.float64).T if columns else np.empty((0, len(keys)))
        if numbers.shape != (columns, len(keys)):
            raise ValueError(f"Give {columns} values with each of {len(keys)} documents.")
        if len(runs(np.sort(np.array(keys, dtype=np.int64)))[0]) != len(keys):
            raise ValueError("Give each key once.")
        remaining = iter(documents)
        for start in range(0, len(keys), AT_ONCE):
            some = keys[start : start + AT_ONCE]
            terms = list(islice(remaining, len(some)))
            if len(terms) != len(some):
                raise ValueError(f"Give {len(keys)} documents, one for each key.")
            for key in self._lists.slot_of.keys() & some:
                self._lists.bury(key)
            end = start + AT_ONCE
            extend(self._lists, some, terms, numbers[:, start:end], besides[start:end])
            self.revision += 1

    def remove(self, key: int) -> bool:
        """Make a document a tombstone; return whether there was one."""
        was_there = self._lists.bury(key)
        self.revision += was_there
        return was_there

    def set_values(self, key: int, values: Sequence[float]) -> None:
        """Replace the numbers beside a document.

        Raises:
            KeyError: If no live document has the key.
            ValueError: If the values do not fit the columns.
        """
        slot = self._lists.slot_of[key]
        for column, number in zip(self._lists.columns, [float(value) for value in values], strict=True):
            column[slot] = number

    def slot_of(self, key: int) -> int:
        """The slot of a live document.

        Raises:
            KeyError: If no live document has the key.
        """
        return self._lists.slot_of[key]

    def term_id(self, term: str) -> int | None:
        """The number of a term some document holds or held; None if none did."""
        return self._lists.term_ids.get(term)

    def term(self, term_id: int) -> str:
        """The term of a number."""
        return self._lists.terms[term_id]

    def document_frequency(self, term_id: int) -> int:
        """Live documents that hold a term."""
        return self._lists.frequencies[term_id]

    def posting_count(self, term_id: int) -> int:
        """Documents that hold a term, tombstones included."""
        return len(self._lists.postings[term_id])

    def frequencies(self) -> NDArray[np.intc]:
        """Live documents of every term, by its number, zeros included."""
        return np.array(self._lists.frequencies, dtype=np.intc)

    def frequencies_of(self, terms: Slots) -> NDArray[np.intc]:
        """Live documents of some terms."""
        return np.frombuffer(self._lists.frequencies, dtype=np.intc).take(terms)

    def slots(self, term_id: int) -> Slots:
        """Slots that hold a term, ascending and distinct, tombstones included."""
        return np.frombuffer(self._lists.postings[term_id], dtype=np.int64) >> SLOT_SHIFT

    def slots_of(self, terms: Sequence[int]) -> Slots:
        """Slots that hold each of some terms, tombstones included, one term after the other."""
        packed = np.concatenate([np.frombuffer(self._lists.postings[term], dtype=np.int64) for term in terms])
        return packed >> SLOT_SHIFT

    def counts(self, term_id: int) -> Floats:
        """How often each of `slots(term_id)` holds the term."""
        return self.shapes()[0].take(self.postings(term_id)[1])

    def postings(self, term_id: int) -> tuple[Slots, Slots]:
        """Slots that hold a term, ascending and distinct, tombstones included, and the shape of each posting."""
        packed = np.frombuffer(self._lists.postings[term_id], dtype=np.int64)
        return packed >> SLOT_SHIFT, packed & SHAPE_MASK

    def bounds(self, term_id: int) -> tuple[int, int]:
        """The largest count of a term and the least length of a document that holds it, tombstones included."""
        profile = self._lists.profile(term_id)
        return profile.count, profile.length

    def repeats(self, term_id: int) -> tuple[Slots, Slots]:
        """Slots that hold a term more than once, and shapes, as `postings` gives them for all."""
        packed = self._lists.profile(term_id).repeats
        return packed >> SLOT_SHIFT, packed & SHAPE_MASK

    def found(self, term_id: int, slots: Slots) -> tuple[Slots, Slots]:
        """Look some slots up in the postings of a term.

        Args:
            term_id: Which term.
            slots: Which slots, ascending or not.

        Returns:
            Which of the slots hold the term, by place, and the shape of each one's posting.
        """
        packed = np.frombuffer(self._lists.postings[term_id], dtype=np.int64)
        near = packed.take(packed.searchsorted(slots << SLOT_SHIFT), mode="clip")
        held = np.flatnonzero(near >> SLOT_SHIFT == slots)
        return held, near.take(held) & SHAPE_MASK

    def found_in_parts(self, term_id: int, heads: Slots) -> Slots:
        """Which records of those whose first parts are given hold a term in some part, by place."""
        slots = self.slots(term_id)
        near = slots.take(slots.searchsorted(heads), mode="clip")
        return np.flatnonzero(self.heads(near) == heads)

    def shapes(self) -> tuple[Floats, Floats]:
        """For each shape the count of the term and the length of the document."""
        shapes = self._lists.shapes
        counts = np.frombuffer(shapes.counts, dtype=np.int64).astype(np.float64)
        return counts, np.frombuffer(shapes.lengths, dtype=np.int64).astype(np.float64)

    def lengths(self, slots: Slots) -> Floats:
        """Tokens of each document."""
        return np.frombuffer(self._lists.lengths, dtype=np.intc).take(slots).astype(np.float64)

    def alive(self, slots: Slots) -> NDArray[np.bool_]:
        """Which of the slots are no tombstones."""
        return np.frombuffer(self._lists.alive, dtype=np.bool_).take(slots)

    def keys(self, slots: Slots) -> Keys:
        """The keys of documents."""
        return np.frombuffer(self._lists.keys, dtype=np.int64).take(slots)

    def values(self, slots: Slots) -> Floats:
        """The numbers beside documents, shape (columns, documents)."""
        columns = self._lists.columns
        if not columns:
            return np.empty((0, len(slots)))
        found = np.empty((len(columns), len(slots)))
        for row, column in zip(found, columns, strict=True):
            # Clipping never happens; without it NumPy fills a copy first.
            np.frombuffer(column).take(slots, out=row, mode="clip")
        return found

    def column(self, number: int, slots: Slots) -> Floats:
        """The same of one column, shape (documents,)."""
        return np.frombuffer(self._lists.columns[number]).take(slots)

    def terms_of(self, slot: int) -> Slots:
        """The distinct terms of one document, by their numbers."""
        starts = self._lists.starts
        held = np.array(self._lists.forward[starts[slot] : starts[slot + 1]], dtype=np.intp)
        return np.maximum(held, ~held)

    def heads(self, slots: Slots) -> Slots:
        """The slots of the first parts of the records that parts are of, where records are indexed in parts."""
        return slots - (self.keys(slots) & ((1 << PART_BITS) - 1))

    def parts(self, heads: Slots) -> tuple[Slots, Slots]:
        """The slots of the parts of records by their first ones, one record after the other, and how many each has."""
        keys = np.frombuffer(self._lists.keys, dtype=np.int64)
        sizes, ahead = np.ones(len(heads), dtype=np.intp), np.arange(len(heads))
        while len(ahead):
            following = heads[ahead] + sizes[ahead]
            there = following < len(keys)
            ahead, following = ahead[there], following[there]
            ahead = ahead[keys.take(following) == keys.take(heads[ahead]) + sizes[ahead]]
            sizes[ahead] += 1
        ends = np.cumsum(sizes)
        return np.arange(ends[-1] if len(ends) else 0) + np.repeat(heads - ends + sizes, sizes), sizes

    def terms_at(self, slots: Slots, *, text_alone: bool = False) -> tuple[Slots, Slots]:
        """The numbers of the distinct terms of documents, one document after the other, and how many each has.

        Args:
            slots: Which documents.
            text_alone: Whether terms that stand beside a text alone are left out.
        """
        starts = np.frombuffer(self._lists.starts, dtype=np.int64)
        first = starts.take(slots)
        sizes = (starts.take(slots + 1) - first).astype(np.intp)
        ends = np.cumsum(sizes)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + sizes, sizes)
        held = np.frombuffer(self._lists.forward, dtype=np.intc).take(places)
        if not text_alone:
            return np.maximum(held, ~held).astype(np.intp), sizes
        in_text = held >= 0
        owners = np.repeat(np.arange(len(slots)), sizes)[in_text]
        return held[in_text].astype(np.intp), np.bincount(owners, minlength=len(slots))

    def compact(self) -> int:
        """Drop the tombstones and the terms nobody holds, so that numbers change; return how many tombstones."""
        dead = self.dead
        if dead:
            while self.compact_further():
                pass
        return dead

    @property
    def is_compacting(self) -> bool:
        """Whether a compaction has begun."""
        return self._compaction is not None

    def compact_further(self) -> bool:
        """Do a few milliseconds of a compaction and tell whether there is more; anything may come between two steps."""
        if self._compaction is None:
            self._compaction = Compaction(self._lists)
        compacted = self._compaction.step()
        if compacted is None:
            return True
        self._lists, self._compaction = compacted, None
        return False
