"""What recall tells of entries, in columns."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

MICROS_PER_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSignals:
    """How often entries were recalled, how well, by how many queries and when; one row for each entry.

    Attributes:
        count: How many hits it was.
        total: The sum of their relevances, each from 0 to 1.
        queries: By how many different queries, compared in their normal form.
        days: On how many days of the scope's zone.
        span: Days from the first of these to the last.
        last: The latest hit, in microseconds since 1970.
        tags: How many concepts the entry is tagged with.
        half_life: Days in which its recency halves; zero or less lets recency count nothing.
        light: In how many sweeps it was a candidate.
        light_last: The latest of these, in microseconds since 1970.
        rem: In how many thematic summaries it stood.
        rem_last: The latest of these, in microseconds since 1970.
    """

    count: Integers
    total: Floats
    queries: Integers
    days: Integers
    span: Integers
    last: Integers
    tags: Integers
    half_life: Floats
    light: Integers
    light_last: Integers
    rem: Integers
    rem_last: Integers

    def __len__(self) -> int:
        return len(self.count)

    def of(self, rows: Sequence[int]) -> "RecallSignals":
        """Return those of some rows."""
        return RecallSignals(**{one.name: getattr(self, one.name)[rows] for one in fields(self)})
