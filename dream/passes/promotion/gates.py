"""From recalls to scores and gates, over all candidates at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agentcore.domain.instants import to_micros
from dream.domain.recalls import RecallColumns
from dream.options.promotion import PromotionOptions
from dream.passes.promotion.scoring import SCORERS, Scorer
from dream.passes.promotion.signals import MICROS_PER_DAY, Floats, RecallSignals

GATES: Final = ("min_recall_count", "min_unique_queries", "min_unique_days", "min_score")
"""The options that an entry has to meet, in the order in which they are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """All candidates of a sweep; one row for each.

    Args:
        recalls: What recall tells of them.
        parts: Each component of the score, and the boost if there is one.
        score: The score.
        gates: Who meets which gate.
    """

    recalls: RecallColumns
    parts: Mapping[str, Floats]
    score: Floats
    gates: Mapping[str, NDArray[np.bool_]]

    def ranked(self) -> list[int]:
        """Return the rows that meet every gate: the highest score first, then the most hits, then by id."""
        passing = np.flatnonzero(np.logical_and.reduce([self.gates[name] for name in GATES]))
        # Ids are in order, and the sort is stable.
        order = np.lexsort((-self.recalls.count[passing], -self.score[passing]))
        return [int(row) for row in passing[order]]

    def row(self, entry_id: str) -> int | None:
        """Return an entry's row, None if it was never recalled."""
        return self.recalls.ids.index(entry_id) if entry_id in self.recalls.ids else None


def scorer_of(options: PromotionOptions) -> Scorer:
    """Return how scores are made."""
    return SCORERS[options.scorer.value].weighted(options.weights)


def scored(recalls: RecallColumns, options: PromotionOptions, now: datetime) -> Scored:
    """Score every candidate as of *now* and hold it against the gates."""
    zeros = np.zeros(len(recalls), np.int64)
    signals = RecallSignals(
        count=recalls.count,
        total=recalls.total,
        queries=recalls.queries,
        days=recalls.days,
        span=recalls.span,
        last=recalls.last,
        tags=zeros,
        half_life=np.full(len(recalls), options.half_life.total_seconds() * 1e6 / MICROS_PER_DAY),
        light=zeros,
        light_last=zeros,
        rem=zeros,
        rem_last=zeros,
    )
    scorer, at = scorer_of(options), to_micros(now)
    score = scorer.score(signals, at)
    return Scored(
        recalls=recalls,
        parts=scorer.parts(signals, at),
        score=score,
        gates={
            "min_recall_count": recalls.count >= options.min_recall_count,
            "min_unique_queries": recalls.queries >= options.min_unique_queries,
            "min_unique_days": recalls.days >= options.min_unique_days,
            "min_score": score >= options.min_score,
        },
    )
