"""Instants: exact integers and RFC 3339 text."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from agentcore.domain import from_micros, from_text, to_micros, to_text
from agentcore.errors import InvalidContentError

_OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.datetimes(
    min_value=datetime.fromisoformat("0002-01-01"),
    max_value=datetime.fromisoformat("9998-12-31"),
    timezones=_OFFSETS,
)


@given(instants)
def test_an_instant_survives_integer_microseconds_exactly(instant: datetime) -> None:
    assert from_micros(to_micros(instant)) == instant
    assert from_micros(to_micros(instant)).tzinfo is UTC


@given(instants, instants)
def test_integers_sort_and_subtract_as_instants_do(one: datetime, other: datetime) -> None:
    assert (to_micros(one) < to_micros(other)) == (one < other)
    assert timedelta(microseconds=to_micros(one) - to_micros(other)) == one - other


@given(instants)
def test_an_instant_survives_its_text_exactly(instant: datetime) -> None:
    assert from_text(to_text(instant)) == instant
    assert from_text(instant.isoformat()) == instant
    assert from_text(to_text(instant)).tzinfo is UTC


@pytest.mark.parametrize("edge", [datetime.combine(date.min, time.min), datetime.combine(date.max, time.max)])
def test_the_edges_of_the_calendar_survive(edge: datetime) -> None:
    instant = edge.replace(tzinfo=UTC)
    assert from_micros(to_micros(instant)) == instant
    assert from_text(to_text(instant)) == instant


def test_integers_count_from_the_epoch() -> None:
    assert to_micros(datetime(1970, 1, 1, tzinfo=UTC)) == 0
    assert to_micros(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1
    assert to_micros(datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))) == 0


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (datetime(2025, 5, 1, 10, tzinfo=UTC), "2025-05-01T10:00:00Z"),
        (datetime(2025, 5, 1, 10, 0, 0, 5, tzinfo=UTC), "2025-05-01T10:00:00.000005Z"),
        (datetime(2025, 5, 1, 12, tzinfo=timezone(timedelta(hours=2))), "2025-05-01T10:00:00Z"),
        (datetime(33, 4, 3, tzinfo=UTC), "0033-04-03T00:00:00Z"),
    ],
)
def test_text_is_in_utc_with_microseconds_only_where_there_are_some(instant: datetime, text: str) -> None:
    assert to_text(instant) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-05-01", datetime(2025, 5, 1, tzinfo=UTC)),
        ("2025-05-01T12:00:00+02:00", datetime(2025, 5, 1, 10, tzinfo=UTC)),
        ("2025-05-01 12:00:00-03:30", datetime(2025, 5, 1, 15, 30, tzinfo=UTC)),
        ("2025-05-01t10:00:00z", datetime(2025, 5, 1, 10, tzinfo=UTC)),
        ("2025-05-01T10:00:00.5Z", datetime(2025, 5, 1, 10, 0, 0, 500_000, tzinfo=UTC)),
        ("2025-05-01T10:00:00.123456789Z", datetime(2025, 5, 1, 10, 0, 0, 123_456, tzinfo=UTC)),
    ],
)
def test_offsets_dates_and_fractions_are_read(text: str, expected: datetime) -> None:
    assert from_text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2025",
        "2025-05",
        "20250501",
        "2025-W18-4",
        "2025-05-01T10:00Z",
        "2025-02-30",
        "2025-05-01T24:00:00Z",
        "2025-05-01T10:00:60Z",
        "2025-05-01T10:00:00+25:00",
        "2025-05-01T10:00:00+02:60",
        "2025-05-01T10:00:00+0200",
        "2025-05-01Z",
        "0000-01-01",
        "0001-01-01T00:00:00+02:00",
        "9999-12-31T23:59:59-02:00",
        " 2025-05-01",
        "2025-05-01\n",
        "\u0662\u0660\u0662\u0665-\u0660\u0665-\u0660\u0661",
        "x" * 10_000,
    ],
)
def test_other_text_is_refused_with_an_example_of_what_to_write(text: str) -> None:
    with pytest.raises(InvalidContentError, match="write it like 2025-05-01T10:00:00Z") as caught:
        from_text(text)
    assert len(str(caught.value)) < 300


def test_a_time_without_a_zone_is_refused_as_such() -> None:
    with pytest.raises(InvalidContentError, match="has no time zone"):
        from_text("2025-05-01T10:00:00")


@pytest.mark.parametrize("convert", [to_micros, to_text])
def test_a_naive_instant_is_refused(convert: Callable[[datetime], object]) -> None:
    with pytest.raises(InvalidContentError, match="has no time zone"):
        convert(datetime.fromisoformat("2025-05-01"))


@pytest.mark.parametrize("micros", [-(2**56), 2**60, 10**30])
def test_an_integer_outside_the_calendar_is_refused(micros: int) -> None:
    with pytest.raises(InvalidContentError, match="outside the years"):
        from_micros(micros)


@pytest.mark.parametrize("convert", [to_micros, to_text])
def test_an_instant_that_utc_cannot_hold_is_refused(convert: Callable[[datetime], object]) -> None:
    instant = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))
    with pytest.raises(InvalidContentError, match="outside the years"):
        convert(instant)
