"""Concepts are counted for as few entries as it takes, and the ranking is as if they had been counted for all."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given, strategies as st

from agentcore.domain import to_micros
from dream.domain import PhaseStanding, RecallColumns
from dream.options import PromotionOptions, ScorerName
from dream.passes.promotion import Scored, scored, settle

_NOW = datetime(2025, 6, 14, tzinfo=UTC)
_OPTIONS = PromotionOptions(
    scorer=ScorerName.OPENCLAW, min_recall_count=1, min_unique_queries=1, min_score=0.45, weights={"concepts": 0.3}
)
_WORDS = ["harbour", "mast", "sailing", "regatta", "lisbon", "compass"]


@dataclass
class Texts:
    """What a pass reads entries from; it counts how many were asked for."""

    tags: list[int]
    asked: list[str] = field(default_factory=list[str])
    options: Any = field(default_factory=lambda: SimpleNamespace(promotion=_OPTIONS))

    async def read(self, work: Callable[[Any], Any]) -> Any:
        return work(SimpleNamespace(entries=self))

    def get_many(self, ids: list[str]) -> list[Any]:
        self.asked += ids
        return [SimpleNamespace(id=one, content=" ".join(_WORDS[: self.tags[int(one)]])) for one in ids]


def _found(rows: list[tuple[int, float, int]]) -> Scored:
    columns = [np.array(column, np.int64) for column in zip(*((hits, 1) for hits, _, _ in rows), strict=True)]
    count, ones = columns
    recalls = RecallColumns(
        ids=tuple(f"{place:04d}" for place in range(len(rows))),
        count=count,
        total=np.array([relevance * hits for hits, relevance, _ in rows]),
        queries=ones,
        days=ones,
        span=ones * 0,
        last=ones * to_micros(_NOW),
    )
    return scored(recalls, {"0000": PhaseStanding(light=1, light_last=to_micros(_NOW))}, _OPTIONS, _NOW)


@given(
    rows=st.lists(
        st.tuples(st.integers(1, 12), st.sampled_from([0.1, 0.5, 0.55, 0.6, 1.0]), st.integers(0, 6)),
        min_size=1,
        max_size=30,
    ),
    limit=st.integers(1, 6),
)
def test_the_best_are_the_best_of_all_with_every_concept_counted(rows: list[tuple[int, float, int]], limit: int):
    tags = [count for _, _, count in rows]
    everything = np.ones(len(rows), np.bool_)
    whole = _found(rows)
    whole.count_tags(range(len(rows)), tags)
    found, texts = _found(rows), Texts(tags)
    rows_settled = asyncio.run(settle(texts, found, lambda: found.ranked(everything)[:limit]))  # pyright: ignore[reportArgumentType]
    assert list(rows_settled) == whole.ranked(everything)[:limit]
    assert [found.score[row] for row in rows_settled] == [whole.score[row] for row in rows_settled]
    asyncio.run(settle(texts, found, lambda: found.undecided(everything)))  # pyright: ignore[reportArgumentType]
    assert sorted(found.ranked(everything)) == sorted(whole.ranked(everything))
    assert len(texts.asked) == len(set(texts.asked))


def test_what_cannot_be_among_the_best_is_not_read():
    rows = [(12, 1.0, 6)] * 3 + [(1, 0.1, 6)] * 500
    found, texts = _found(rows), Texts([count for _, _, count in rows])
    everything = np.ones(len(rows), np.bool_)
    asyncio.run(settle(texts, found, lambda: found.ranked(everything)[:3]))  # pyright: ignore[reportArgumentType]
    assert sorted(texts.asked) == ["0000", "0001", "0002"]


def test_equal_scores_stand_by_hits_and_then_by_id():
    found = _found([(40, 1.0, 0), (60, 1.0, 0), (40, 1.0, 0), (60, 1.0, 0)])
    found.score[:] = 1.0
    assert found.ranked(np.ones(4, np.bool_)) == found.best(4) == [1, 3, 0, 2]
