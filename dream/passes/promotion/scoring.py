"""Scores recalled entries from their recall signals, by one of two formulas."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final, TypeAlias

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


Component = Callable[[RecallSignals, int], Floats]

CONCEPTS: Final = "concepts"
"""The component that takes a look at texts."""
MOST_TAGS: Final = 6
"""Concepts of an entry with which that component is full."""

_LIGHT_BOOST: Final = 0.06
_REM_BOOST: Final = 0.09
_BOOST_HALF_LIFE: Final = 14.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """How a score is made of components.

    Attributes:
        name: What options call it.
        components: What each component is.
        weights: What each counts; they need not add up to 1.
        boost: What is added for earlier phases.
    """

    name: str
    components: Mapping[str, Component]
    weights: Mapping[str, float]
    boost: Component | None = None

    def weighted(self, weights: Mapping[str, float]) -> "Scorer":
        """Return the scorer with other weights for the components that *weights* names."""
        return Scorer(name=self.name, components=self.components, weights={**self.weights, **weights}, boost=self.boost)

    def parts(self, signals: RecallSignals, now: int) -> dict[str, Floats]:
        """Return each component of each row, from 0 to 1, and the boost if there is one."""
        parts = {name: component(signals, now) for name, component in self.components.items()}
        return parts if self.boost is None else {**parts, "boost": self.boost(signals, now)}

    def score(self, signals: RecallSignals, now: int) -> Floats:
        """Return the score of each row as of *now*, in microseconds since 1970; from 0 to 1.

        Example:
            >>> import numpy as np
            >>> one, zero = np.array([1]), np.array([0])
            >>> twice = RecallSignals(
            ...     count=one + 2, total=np.array([1.0]), queries=one + 1, days=one, span=zero, last=zero, tags=zero,
            ...     half_life=np.array([90.0]), light=zero, light_last=zero, rem=zero, rem_last=zero,
            ... )
            >>> NEXO.score(twice, 0).round(4).tolist()
            [0.501]
        """
        parts = self.parts(signals, now)
        total = sum((parts[name] * weight for name, weight in self.weights.items()), np.zeros(len(signals)))
        return np.clip(total + parts.get("boost", 0.0), 0.0, 1.0)


def _saturating(hits: int) -> Component:
    return lambda signals, _: np.minimum(1.0, np.log1p(signals.count) / np.log1p(hits))


def _relevance(signals: RecallSignals, _: int) -> Floats:
    return np.clip(signals.total / np.maximum(signals.count, 1), 0.0, 1.0)


def _faded(last: Integers, half_life: Floats | float, now: int) -> Floats:
    """Return `2^(-age/half-life)` with the age in days, no less than 0."""
    age = np.maximum(0, now - last) / MICROS_PER_DAY
    halved = np.where(np.asarray(half_life) > 0, half_life, 1.0)
    return np.where(np.asarray(half_life) > 0, np.exp2(-age / halved), 0.0)


def _recency(signals: RecallSignals, now: int) -> Floats:
    return _faded(signals.last, signals.half_life, now)


def _recency_of_two_weeks(signals: RecallSignals, now: int) -> Floats:
    return _faded(signals.last, _BOOST_HALF_LIFE, now)


def _diversity(signals: RecallSignals, _: int) -> Floats:
    return np.minimum(1.0, np.maximum(signals.queries, signals.days) / 5)


def _diversity_of_queries(signals: RecallSignals, _: int) -> Floats:
    return np.minimum(1.0, signals.queries / 5)


def _days_of_five(signals: RecallSignals, _: int) -> Floats:
    return np.minimum(1.0, signals.days / 5)


def _spacing(signals: RecallSignals, _: int) -> Floats:
    spread = 0.55 * np.clip(np.log(np.maximum(signals.days, 1)) / np.log(5), 0, 1)
    spaced = spread + 0.45 * np.clip(signals.span / 7, 0, 1)
    # `ln(1 + (n - 1))` is `ln n`: the notes' formula for two days and more.
    return np.select([signals.days <= 0, signals.days == 1], [0.0, 0.2], spaced)


def _concepts(signals: RecallSignals, _: int) -> Floats:
    return np.minimum(1.0, signals.tags / MOST_TAGS)


def _phase_boost(signals: RecallSignals, now: int) -> Floats:
    def of(times: Integers, last: Integers) -> Floats:
        return np.clip(np.log1p(times) / np.log(7), 0, 1) * _faded(last, _BOOST_HALF_LIFE, now)

    return _LIGHT_BOOST * of(signals.light, signals.light_last) + _REM_BOOST * of(signals.rem, signals.rem_last)


NEXO: Final = Scorer(
    name="nexo",
    components={
        "frequency": _saturating(6),
        "relevance": _relevance,
        "recency": _recency,
        "diversity": _diversity,
        "consolidation": _days_of_five,
    },
    weights={"frequency": 0.24, "relevance": 0.30, "recency": 0.15, "diversity": 0.15, "consolidation": 0.10},
)
"""The scorer of nexo-rs."""

OPENCLAW: Final = Scorer(
    name="openclaw",
    components={
        "frequency": _saturating(10),
        "relevance": _relevance,
        "diversity": _diversity_of_queries,
        "recency": _recency_of_two_weeks,
        "consolidation": _spacing,
        CONCEPTS: _concepts,
    },
    weights={
        "frequency": 0.24,
        "relevance": 0.30,
        "diversity": 0.15,
        "recency": 0.15,
        "consolidation": 0.10,
        CONCEPTS: 0.06,
    },
    boost=_phase_boost,
)
"""The scorer of OpenClaw's memory-core, whose design nexo-rs took over."""

SCORERS: Final = {scorer.name: scorer for scorer in (NEXO, OPENCLAW)}
"""The scorers by name."""
