"""Sums in columns what recall tells of entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallColumns:
    """How often needs recalled entries; one row for each entry, by id.

    Args:
        ids: The entries.
        count: How many hits each was.
        total: The sum of their relevances: 1 for the best place in an answer, 1/2 for the second, and so on.
        queries: By how many different queries.
        days: On how many days of the zone.
        span: Days from the first of these to the last.
        last: The latest hit, in microseconds since 1970.
    """

    ids: tuple[str, ...]
    count: NDArray[np.int64]
    total: NDArray[np.float64]
    queries: NDArray[np.int64]
    days: NDArray[np.int64]
    span: NDArray[np.int64]
    last: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)
