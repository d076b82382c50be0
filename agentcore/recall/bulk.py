"""Many documents at once: sorting replaces a step of Python for each posting."""

from collections.abc import Sequence
from itertools import chain
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from agentcore.recall.distinct import numbered, runs
from agentcore.recall.lists import SLOT_SHIFT, Floats, Lists

AT_ONCE: Final = 1 << 13
"""Documents sorted together: more are hardly sooner done and leave the memory in pieces."""

_SLOT_BITS: Final = 16
"""A document's number among these and a term's fit one machine word."""
_SLOT_MASK: Final = (1 << _SLOT_BITS) - 1


def extend(lists: Lists, keys: Sequence[int], documents: Sequence[list[str]], values: Floats) -> None:
    """Append documents under keys that are distinct and not present.

    Args:
        lists: Where to append.
        keys: One for each document, below 2^63.
        documents: Their terms; at most `AT_ONCE` of them.
        values: The numbers beside them, shape (columns, documents).
    """
    first = len(lists.keys)
    sizes = np.fromiter(map(len, documents), np.int64, len(documents))
    flat = np.fromiter(map(lists.term_ids.__getitem__, chain.from_iterable(documents)), np.int64, int(sizes.sum()))
    lists.make_room()
    places = np.repeat(np.arange(len(documents)), sizes)
    items = (flat << _SLOT_BITS) | places
    items.sort()
    pairs, counts = runs(items)
    terms, places = pairs >> _SLOT_BITS, pairs & _SLOT_MASK
    packed = ((places + first) << SLOT_SHIFT) | _shapes(lists, counts, sizes.take(places))
    _append_postings(lists, terms, packed)
    by_document = np.argsort(places.astype(np.uint16), kind="stable")
    starts = np.cumsum(np.bincount(places, minlength=len(documents))) + len(lists.forward)
    lists.forward.frombytes(terms.take(by_document).astype(np.intc).tobytes())
    lists.starts.frombytes(starts.astype(np.int64).tobytes())
    lists.keys.extend(keys)
    lists.lengths.frombytes(sizes.astype(np.intc).tobytes())
    lists.alive.extend(b"\x01" * len(documents))
    for column, numbers in zip(lists.columns, values, strict=True):
        column.frombytes(np.ascontiguousarray(numbers).tobytes())
    lists.slot_of.update(zip(keys, range(first, first + len(documents)), strict=True))
    lists.total_length += int(sizes.sum())


def _shapes(lists: Lists, counts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
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


def _append_postings(lists: Lists, terms: NDArray[np.int64], packed: NDArray[np.int64]) -> None:
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
