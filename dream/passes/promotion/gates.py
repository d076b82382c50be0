"""From recalls to scores and gates, over all candidates at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agentcore.domain.temporal import to_micros
from dream.domain.phases import PhaseStanding
from dream.domain.recalls import RecallColumns
from dream.options import PromotionOptions
from dream.passes.promotion.scoring import CONCEPTS, MICROS_PER_DAY, MOST_TAGS, SCORERS, Floats, RecallSignals, Scorer

GATES: Final = ("min_recall_count", "min_unique_queries", "min_unique_days", "min_score")
"""The options that an entry has to meet, in the order in which they are told."""


@dataclass(slots=True, kw_only=True)
class Scored:
    """All candidates of a sweep; one row for each.

    Where a scorer counts concepts, texts would have to be read for each candidate. So a row begins with as many as can
    count, which is the most that it can score, and `count_tags` is told the truth for those rows that it matters for.

    Args:
        recalls: What recall tells of them.
        signals: That and what else is counted.
        scorer: How scores are made.
        at: As of when, in microseconds since 1970.
        options: What the gates ask for.
        is_open: Of which rows the concepts are not counted.
        parts: Each component of the score, and the boost if there is one.
        score: The score; of open rows the most that it can be.
    """

    recalls: RecallColumns
    signals: RecallSignals
    scorer: Scorer
    at: int
    options: PromotionOptions
    is_open: NDArray[np.bool_]
    parts: Mapping[str, Floats]
    score: Floats

    @property
    def gates(self) -> dict[str, NDArray[np.bool_]]:
        """Who meets which gate, open rows by the most that they can score."""
        return {
            "min_recall_count": self.recalls.count >= self.options.min_recall_count,
            "min_unique_queries": self.recalls.queries >= self.options.min_unique_queries,
            "min_unique_days": self.recalls.days >= self.options.min_unique_days,
            "min_score": self.score >= self.options.min_score,
        }

    def count_tags(self, rows: Sequence[int], tags: Sequence[int]) -> None:
        """Score rows by the concepts that they have."""
        self.signals.tags[rows] = tags
        some = self.signals.of(rows)
        for name, part in self.scorer.parts(some, self.at).items():
            self.parts[name][rows] = part
        self.score[rows] = self.scorer.score(some, self.at)
        self.is_open[rows] = False

    def ranked(self, among: NDArray[np.bool_]) -> list[int]:
        """Return those of *among* that meet every gate: the highest score first, then the most hits, then by id."""
        passing = np.flatnonzero(np.logical_and.reduce([among, *self.gates.values()]))
        # Ids are in order, and the sort is stable.
        order = np.lexsort((-self.recalls.count[passing], -self.score[passing]))
        return passing[order].tolist()

    def best(self, limit: int) -> list[int]:
        """Return the rows with the highest scores, gates or not."""
        return np.lexsort((-self.recalls.count, -self.score))[:limit].tolist()

    def undecided(self, among: NDArray[np.bool_]) -> list[int]:
        """Return the open rows of *among* that meet every gate or not by the concepts they have."""
        least = self.score - self.scorer.weights.get(CONCEPTS, 0.0)
        return [row for row in self.ranked(among & self.is_open) if least[row] < self.options.min_score]

    def row(self, entry_id: str) -> int | None:
        """Return an entry's row, None if it was never recalled."""
        return self.recalls.ids.index(entry_id) if entry_id in self.recalls.ids else None


def scored(
    recalls: RecallColumns, phases: Mapping[str, PhaseStanding], options: PromotionOptions, now: datetime
) -> Scored:
    """Score every candidate as of *now*, as if it had as many concepts as can count."""
    scorer, at = SCORERS[options.scorer.value].weighted(options.weights), to_micros(now)
    signals = _signals(recalls, phases, options)
    return Scored(
        recalls=recalls,
        signals=signals,
        scorer=scorer,
        at=at,
        options=options,
        is_open=np.full(len(recalls), scorer.weights.get(CONCEPTS, 0.0) > 0),
        parts=scorer.parts(signals, at),
        score=scorer.score(signals, at),
    )


def _signals(recalls: RecallColumns, phases: Mapping[str, PhaseStanding], options: PromotionOptions) -> RecallSignals:
    met = {row: phases[one] for row, one in enumerate(recalls.ids) if one in phases} if phases else {}

    def of_phases(count: Callable[[PhaseStanding], int]) -> NDArray[np.int64]:
        column = np.zeros(len(recalls), np.int64)
        if met:
            column[list(met)] = [count(standing) for standing in met.values()]
        return column

    return RecallSignals(
        count=recalls.count,
        total=recalls.total,
        queries=recalls.queries,
        days=recalls.days,
        span=recalls.span,
        last=recalls.last,
        tags=np.full(len(recalls), MOST_TAGS, np.int64),
        half_life=np.full(len(recalls), options.half_life.total_seconds() * 1e6 / MICROS_PER_DAY),
        light=of_phases(lambda one: one.light),
        light_last=of_phases(lambda one: one.light_last),
        rem=of_phases(lambda one: one.rem),
        rem_last=of_phases(lambda one: one.rem_last),
    )
