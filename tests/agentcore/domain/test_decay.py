"""Decay: the closed form of calendar time, whatever happens in between."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from agentcore.domain import Decay, DecayTally, MemoryEntry, Scope, absorb, merged_fields, to_micros
from agentcore.errors import InvalidOptionsError

START = datetime(2025, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
bases = st.floats(0.0, 1.0)
ages = st.timedeltas(timedelta(days=-400), timedelta(days=4000))
decays = st.builds(
    Decay,
    grace=st.timedeltas(timedelta(0), timedelta(days=400)),
    half_life=st.timedeltas(timedelta(days=-1), timedelta(days=400)),
    floor=st.floats(0.0, 1.0),
)


def after(days: float, base: float = 0.8, decay: Decay | None = None) -> float:
    return (decay or Decay()).value(base, START, START + timedelta(days=days))


def near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-12


def columns(decay: Decay, cases: list[tuple[float, timedelta]]) -> NDArray[np.float64]:
    base = np.array([base for base, _ in cases], dtype=np.float64)
    seen = np.array([to_micros(START - age) for _, age in cases], dtype=np.int64)
    return decay.values(base, seen, to_micros(START))


def entry(entry_id: str = "a", base: float = 0.8, seen: datetime = START) -> MemoryEntry:
    return MemoryEntry(
        id=entry_id,
        scope=Scope.default(),
        content="Ana likes tea",
        base=base,
        created_at=START,
        recorded_at=START,
        last_seen_at=seen,
    )


# --- the numbers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("days", [0, 5, 29.999, 30])
def test_within_the_grace_nothing_fades(days: float) -> None:
    assert after(days) == 0.8


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (30.5, 0.8 * 0.5 ** (0.5 / 45)),
        (31, 0.8 * 0.5 ** (1 / 45)),
        (75, 0.4),
        (120, 0.2),
        (165, 0.1),
    ],
)
def test_past_the_grace_only_the_time_past_it_counts(days: float, expected: float) -> None:
    assert near(after(days), expected)


def test_a_half_life_of_thirty_days_fades_by_its_daily_factor() -> None:
    assert near(after(31, decay=Decay(half_life=30 * DAY)), 0.8 * 0.5 ** (1 / 30))


def test_a_custom_grace_and_half_life_override_the_defaults() -> None:
    assert near(after(17, decay=Decay(grace=7 * DAY, half_life=10 * DAY)), 0.4)


@pytest.mark.parametrize(("base", "days"), [(0.95, 176.2), (0.50, 134.5), (0.30, 101.3)])
def test_the_floor_is_reached_when_the_formula_says(base: float, days: float) -> None:
    assert abs(30 + 45 * math.log2(base / 0.10) - days) < 0.1
    assert after(days - 1, base) > 0.10
    assert after(days + 1, base) == 0.10


def test_a_core_fact_is_at_the_floor_after_six_silent_months() -> None:
    assert after(180, 0.95) == 0.10


def test_the_true_value_on_day_120_is_what_the_formula_says() -> None:
    assert near(after(120, 0.95), 0.2375)


@pytest.mark.parametrize("base", [0.0, 0.05, 0.10])
def test_what_is_not_above_the_floor_is_left_alone(base: float) -> None:
    assert after(10_000, base) == base


def test_a_reinforced_entry_reads_its_base_again() -> None:
    now = START + 100 * DAY
    assert Decay().value(0.8, now - 5 * DAY, now) == 0.8


def test_an_entry_seen_in_the_future_has_not_faded() -> None:
    assert after(-50) == 0.8


@pytest.mark.parametrize("half_life", [timedelta(0), -DAY])
def test_a_half_life_of_zero_or_less_switches_decay_off(half_life: timedelta) -> None:
    decay = Decay(half_life=half_life)
    assert not decay.enabled
    assert after(10_000, decay=decay) == 0.8
    assert columns(decay, [(0.8, 10_000 * DAY)]).tolist() == [0.8]


def test_changing_the_half_life_re_values_history() -> None:
    assert near(after(75, decay=Decay(half_life=90 * DAY)), 0.8 * 0.5**0.5)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"floor": -0.01}, "floor"),
        ({"floor": 1.01}, "floor"),
        ({"floor": math.nan}, "floor"),
        ({"grace": -DAY}, "grace"),
    ],
)
def test_options_without_a_meaning_are_refused_by_name(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidOptionsError, match=f"Option {field} = "):
        Decay(**options)


# --- the laws -----------------------------------------------------------------------------------------------


@given(decays, bases, ages, ages)
def test_importance_never_rises_with_time(decay: Decay, base: float, age: timedelta, later: timedelta) -> None:
    first, last = sorted([age, later])
    assert decay.value(base, START, START + last) <= decay.value(base, START, START + first)


@given(decays, bases, ages)
def test_importance_stays_between_the_floor_and_the_base(decay: Decay, base: float, age: timedelta) -> None:
    value = decay.value(base, START, START + age)
    assert min(base, decay.floor) <= value <= base


@given(decays, bases, bases, ages)
def test_a_larger_base_never_reads_less(decay: Decay, base: float, other: float, age: timedelta) -> None:
    if min(base, other) > decay.floor:
        low, high = sorted([base, other])
        assert decay.value(low, START, START + age) <= decay.value(high, START, START + age)


@given(decays, st.lists(st.tuples(bases, ages), max_size=20))
def test_columns_equal_the_scalar(decay: Decay, cases: list[tuple[float, timedelta]]) -> None:
    expected = [decay.value(base, START - age, START) for base, age in cases]
    assert all(map(near, columns(decay, cases).tolist(), expected))


@given(st.lists(st.tuples(bases, ages), max_size=20))
def test_columns_are_read_and_never_written(cases: list[tuple[float, timedelta]]) -> None:
    base = np.array([base for base, _ in cases], dtype=np.float64)
    seen = np.array([to_micros(START - age) for _, age in cases], dtype=np.int64)
    base.setflags(write=False)
    seen.setflags(write=False)
    Decay().values(base, seen, to_micros(START))
    Decay(half_life=timedelta(0)).values(base, seen, to_micros(START))[:] = 0.5


@pytest.mark.parametrize(
    "decay",
    [
        Decay(grace=timedelta.max),
        Decay(half_life=timedelta.max),
        Decay(grace=timedelta(0), half_life=timedelta(microseconds=1)),
        Decay(grace=timedelta(0), half_life=timedelta(microseconds=1), floor=0.0),
    ],
)
@pytest.mark.parametrize("seen", [datetime.min.replace(tzinfo=UTC), START, datetime.max.replace(tzinfo=UTC)])
@pytest.mark.parametrize("now", [datetime.min.replace(tzinfo=UTC), START, datetime.max.replace(tzinfo=UTC)])
def test_extreme_durations_and_instants_are_read_alike(decay: Decay, seen: datetime, now: datetime) -> None:
    column = decay.values(np.array([0.8]), np.array([to_micros(seen)]), to_micros(now))
    assert near(column[0], decay.value(0.8, seen, now))


_EVENTS = st.lists(
    st.tuples(
        st.timedeltas(timedelta(0), timedelta(days=40)),
        st.sampled_from(["read", "rewrite", "reinforce", "fold", "merge"]),
        bases,
        st.timedeltas(timedelta(0), timedelta(days=200)),
    ),
    max_size=30,
)


@given(decays, bases, _EVENTS, st.timedeltas(timedelta(0), timedelta(days=400)))
def test_any_history_of_dreams_reads_the_closed_form_of_calendar_time(
    decay: Decay, base: float, events: list[tuple[timedelta, str, float, timedelta]], silence: timedelta
) -> None:
    known, now = entry(base=base), START
    largest, latest = base, START  # what a historian without a store would remember
    for number, (pause, event, other_base, other_age) in enumerate(events):
        now += pause
        other = entry(f"e{number}", other_base, now - other_age)
        if event == "read":
            known = replace(known, importance=decay.value(known.base, known.last_seen_at, now))
        elif event == "rewrite":
            known = replace(known, content=f"wording {number}", updated_at=now, version=known.version + 1)
        elif event == "reinforce":
            known, latest = replace(known, last_seen_at=now, own_count=known.own_count + 1), now
        else:
            known = absorb(known, [other]) if event == "fold" else into_new(f"m{number}", known, other)
            largest, latest = max(largest, other_base), max(latest, now - other_age)
    now += silence
    assert near(decay.value(known.base, known.last_seen_at, now), closed_form(decay, largest, now - latest))


def into_new(entry_id: str, *sources: MemoryEntry) -> MemoryEntry:
    fields = merged_fields(sources)
    return replace(entry(entry_id, fields.base, fields.last_seen_at), absorbed=fields.absorbed)


def closed_form(decay: Decay, base: float, silence: timedelta) -> float:
    half_lives = (silence - decay.grace).total_seconds() / (decay.half_life.total_seconds() or 1.0)
    if base <= decay.floor or decay.half_life <= timedelta(0) or half_lives <= 0:
        return base
    return max(decay.floor, base * 0.5**half_lives)


@given(bases, st.lists(st.timedeltas(timedelta(minutes=1), timedelta(days=40)), max_size=50))
def test_how_often_it_is_read_changes_nothing(base: float, cadence: list[timedelta]) -> None:
    decay, now, known = Decay(), START, entry(base=base)
    for pause in cadence:
        now += pause
        known = replace(known, importance=decay.value(known.base, known.last_seen_at, now))
    assert decay.value(known.base, known.last_seen_at, now) == decay.value(base, START, now)


# --- the tally ----------------------------------------------------------------------------------------------


def test_the_tally_counts_what_faded_and_what_reached_the_floor() -> None:
    base = np.array([0.8, 0.8, 0.8, 0.10, 0.05, 0.8])
    age = [5, 60, 1000, 1000, 1000, -5]
    seen = np.array([to_micros(START - days * DAY) for days in age])
    assert Decay().tally(base, seen, to_micros(START)) == DecayTally(entries=6, faded=2, at_floor=1)


def test_the_tally_of_nothing_is_zero() -> None:
    assert Decay().tally(np.empty(0), np.empty(0, dtype=np.int64), 0) == DecayTally()


@given(decays, st.lists(st.tuples(bases, ages), max_size=20), st.integers(0, 20))
def test_tallies_of_blocks_add_up_to_the_tally_of_all(
    decay: Decay, cases: list[tuple[float, timedelta]], cut: int
) -> None:
    base = np.array([base for base, _ in cases], dtype=np.float64)
    seen = np.array([to_micros(START - age) for _, age in cases], dtype=np.int64)
    now = to_micros(START)
    whole = decay.tally(base, seen, now)
    assert decay.tally(base[:cut], seen[:cut], now) + decay.tally(base[cut:], seen[cut:], now) == whole
    values = columns(decay, cases).tolist()
    assert whole.entries == len(cases)
    assert whole.faded == sum(value < one for value, (one, _) in zip(values, cases, strict=True))
    assert whole.at_floor <= whole.faded
