"""Which numbers an array holds. `numpy.unique` tells as much, but its first call imports `numpy.ma`: 10 to 20 ms."""

import numpy as np
from numpy.typing import NDArray

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
