"""The scorers give the published figures, and grow with every signal."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dream.passes.promotion import MICROS_PER_DAY, NEXO, OPENCLAW, RecallSignals, Scorer

_NOW = 20_000 * MICROS_PER_DAY


def _signals(rows: list[dict[str, float]]) -> RecallSignals:
    usual = {"count": 1, "mean": 1.0, "age": 0, "queries": 1, "days": 1, "span": 0, "tags": 0, "half_life": 90.0}
    usual |= {"light": 0, "rem": 0, "phase_age": 0}
    full = [usual | row for row in rows]

    def whole(name: str) -> np.ndarray:
        return np.array([row[name] for row in full], dtype=np.int64)

    def ago(name: str) -> np.ndarray:
        return np.array([_NOW - round(row[name] * MICROS_PER_DAY) for row in full], dtype=np.int64)

    return RecallSignals(
        count=whole("count"),
        total=np.array([row.get("total", row["mean"] * row["count"]) for row in full], dtype=float),
        queries=whole("queries"),
        days=whole("days"),
        span=whole("span"),
        last=ago("age"),
        tags=whole("tags"),
        half_life=np.array([row["half_life"] for row in full], dtype=float),
        light=whole("light"),
        light_last=ago("phase_age"),
        rem=whole("rem"),
        rem_last=ago("phase_age"),
    )


@pytest.mark.parametrize(
    ("row", "score"),
    [
        ({"count": 3, "mean": 0.3333, "age": 0, "queries": 2, "days": 1}, 0.5010),
        ({"count": 3, "mean": 1, "age": 0, "queries": 2, "days": 1}, 0.7010),
        ({"count": 3, "mean": 0.1, "age": 60, "queries": 2, "days": 1}, 0.3755),
        ({"count": 5, "mean": 0.5, "age": 1, "queries": 3, "days": 3}, 0.6698),
        ({"count": 6, "mean": 1, "age": 0, "queries": 5, "days": 5}, 0.9400),
        ({"count": 50, "mean": 1, "age": 0, "queries": 1, "days": 1}, 0.7400),
        ({"count": 3, "mean": 1, "age": 0, "queries": 1, "days": 2}, 0.7210),
        ({"count": 2, "mean": 1, "age": 0, "queries": 2, "days": 2}, 0.6855),
    ],
)
def test_nexos_golden_vectors(row: dict[str, float], score: float):
    assert NEXO.score(_signals([row]), _NOW)[0] == pytest.approx(score, abs=5e-5)


@pytest.mark.parametrize(
    ("row", "score"),
    [
        ({"count": 3, "total": 2.7, "queries": 3, "days": 3, "span": 2, "tags": 6, "light": 3, "rem": 3}, 0.8660),
        ({"count": 3, "total": 2.7, "queries": 3, "days": 1, "tags": 4}, 0.7088),
        ({"count": 1, "total": 0.58, "queries": 1, "days": 1, "tags": 4, "light": 1}, 0.5047),
        ({"count": 3, "total": 1.86, "queries": 0, "days": 3, "span": 2, "tags": 4, "light": 3, "rem": 3}, 0.6720),
        ({"count": 2, "total": 1.8, "queries": 2, "days": 2, "span": 3, "tags": 6, "age": 14}, 0.6179),
    ],
)
def test_openclaws_golden_vectors(row: dict[str, float], score: float):
    assert OPENCLAW.score(_signals([row]), _NOW)[0] == pytest.approx(score, abs=5e-5)


_ROWS = st.fixed_dictionaries(
    {
        "count": st.integers(1, 60),
        "mean": st.floats(0, 1),
        "age": st.floats(-5, 400),
        "queries": st.integers(0, 9),
        "days": st.integers(1, 9),
        "span": st.integers(0, 30),
        "tags": st.integers(0, 9),
        "light": st.integers(0, 9),
        "rem": st.integers(0, 9),
        "half_life": st.sampled_from([0.0, 14.0, 90.0, 10_000.0]),
    }
)


@pytest.mark.parametrize("scorer", [NEXO, OPENCLAW], ids=lambda scorer: scorer.name)
@given(row=_ROWS, signal=st.sampled_from(["count", "mean", "queries", "days", "span", "tags", "light", "rem"]))
def test_no_signal_lowers_a_score(scorer: Scorer, row: dict[str, float], signal: str):
    more = row | {signal: min(1.0, row[signal] + 0.1) if signal == "mean" else row[signal] + 1}
    lower, higher = scorer.score(_signals([row, more]), _NOW)
    assert higher >= lower - 1e-12
    assert 0 <= lower <= higher + 1e-12 <= 1 + 1e-9


@pytest.mark.parametrize("scorer", [NEXO, OPENCLAW], ids=lambda scorer: scorer.name)
@given(rows=st.lists(_ROWS, min_size=1, max_size=6), days=st.floats(0, 100))
def test_time_lowers_a_score_and_nobody_elses_row_matters(scorer: Scorer, rows: list[dict[str, float]], days: float):
    together = scorer.score(_signals(rows), _NOW)
    alone = [scorer.score(_signals([row]), _NOW)[0] for row in rows]
    assert together.tolist() == alone
    later = scorer.score(_signals(rows), _NOW + round(days * MICROS_PER_DAY))
    assert (later <= together + 1e-12).all()


def test_weights_can_be_others():
    row = _signals([{"count": 6, "queries": 5, "days": 5}])
    assert NEXO.weighted({"relevance": 0.0}).score(row, _NOW)[0] == pytest.approx(0.64)


@pytest.mark.parametrize(
    ("scorer", "component", "row", "value"),
    [
        (NEXO, "frequency", {"count": 0}, 0.0),
        (NEXO, "frequency", {"count": 3}, 0.7124),  # ln 4 / ln 7
        (NEXO, "frequency", {"count": 6}, 1.0),
        (OPENCLAW, "frequency", {"count": 3}, 0.5781),  # ln 4 / ln 11
        (OPENCLAW, "frequency", {"count": 10}, 1.0),
        (NEXO, "relevance", {"count": 4, "total": 1.0}, 0.25),
        (NEXO, "recency", {"age": 90}, 0.5),
        (NEXO, "recency", {"age": 90, "half_life": 180.0}, 0.7071),
        (NEXO, "recency", {"age": 1, "half_life": 0.0}, 0.0),
        (NEXO, "recency", {"age": -3}, 1.0),  # a clock that was ahead
        (OPENCLAW, "recency", {"age": 14}, 0.5),
        (OPENCLAW, "recency", {"age": 28}, 0.25),
        (NEXO, "diversity", {"queries": 2, "days": 1}, 0.4),
        (NEXO, "diversity", {"queries": 1, "days": 4}, 0.8),
        (OPENCLAW, "diversity", {"queries": 1, "days": 4}, 0.2),
        (NEXO, "consolidation", {"days": 2}, 0.4),
        (OPENCLAW, "consolidation", {"days": 1, "span": 0}, 0.2),
        (OPENCLAW, "consolidation", {"days": 3, "span": 6}, 0.7611),  # .55 x ln 3 / ln 5 + .45 x 6 / 7
        (OPENCLAW, "concepts", {"tags": 3}, 0.5),
        (OPENCLAW, "boost", {"light": 6, "rem": 6}, 0.15),
        (OPENCLAW, "boost", {"light": 1}, 0.0214),  # .06 x ln 2 / ln 7
        (OPENCLAW, "boost", {"rem": 6, "phase_age": 28}, 0.0225),  # .09 / 4
    ],
)
def test_each_component_has_the_figure_of_its_formula(
    scorer: Scorer, component: str, row: dict[str, float], value: float
):
    assert scorer.parts(_signals([row]), _NOW)[component][0] == pytest.approx(value, abs=5e-5)
