"""Subject time: parsing, true bounds, compatibility and the laws of merging."""

import calendar
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta
from random import Random

import pytest
from hypothesis import example, given, strategies as st

from agentcore.domain import PartialDate, Precision, Span, SubjectTime, compatible
from agentcore.errors import InvalidSubjectTimeError

# Few years, so that generated dates often nest and touch, and both edges of the calendar.
_YEARS = st.sampled_from([1, 2, 2018, 2019, 2020, 9998, 9999])
_MOMENTS = st.builds(
    datetime.combine,
    st.builds(date, _YEARS, st.sampled_from([1, 2, 6, 12]), st.sampled_from([1, 14, 28])),
    st.builds(time, st.sampled_from([0, 9, 23]), st.sampled_from([0, 30, 59])),
)
_FIRST, _LAST = datetime.combine(date.min, time.min), datetime.combine(date.max, time.max)
_EDGES = st.sampled_from([_FIRST, _LAST, datetime.fromisoformat("2019-12-31T23:59")])
dates = st.builds(PartialDate, _MOMENTS | _EDGES, st.sampled_from(Precision))


@st.composite
def spans(draw: st.DrawFn) -> Span:
    start, end = draw(st.none() | dates), draw(st.none() | dates)
    if start is None and end is None:
        end = draw(dates)
    if start is not None and end is not None and start.begins >= end.ends:
        start, end = end, start
    return Span(start, end)


@st.composite
def times(draw: st.DrawFn) -> SubjectTime:
    points = tuple(draw(st.lists(dates, max_size=4)))
    span = draw(st.none() | spans()) if points else draw(spans())
    return SubjectTime(points, span)


def at(text: str) -> SubjectTime:
    return SubjectTime.parse(text)


def merged(*texts: str | None) -> str:
    return str(SubjectTime.merge([None if text is None else at(text) for text in texts]))


# --- partial dates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "precision", "begins", "ends"),
    [
        ("2019", Precision.YEAR, "2019-01-01", "2020-01-01"),
        ("2019-06", Precision.MONTH, "2019-06-01", "2019-07-01"),
        ("2019-12", Precision.MONTH, "2019-12-01", "2020-01-01"),
        ("2020-02-29", Precision.DAY, "2020-02-29", "2020-03-01"),
        ("2019-06-14T09:30", Precision.MINUTE, "2019-06-14T09:30", "2019-06-14T09:31"),
        ("2019-12-31T23:59", Precision.MINUTE, "2019-12-31T23:59", "2020-01-01"),
        ("0001", Precision.YEAR, "0001-01-01", "0002-01-01"),
    ],
)
def test_a_partial_date_has_its_true_bounds_and_gives_its_text_back(
    text: str, precision: Precision, begins: str, ends: str
) -> None:
    partial = PartialDate.parse(text)
    assert partial.precision is precision
    assert (partial.begins, partial.ends) == (datetime.fromisoformat(begins), datetime.fromisoformat(ends))
    assert str(partial) == text


@pytest.mark.parametrize("text", ["9999", "9999-12", "9999-12-31", "9999-12-31T23:59"])
def test_a_date_at_the_end_of_the_calendar_still_has_an_end(text: str) -> None:
    partial = PartialDate.parse(text)
    assert partial.begins < partial.ends == _LAST
    assert PartialDate.parse("9999").contains(partial)


@pytest.mark.parametrize("year", [1, 1900, 2000, 2019, 2024, 9998])
@pytest.mark.parametrize("month", range(1, 13))
def test_a_month_ends_after_its_last_day(year: int, month: int) -> None:
    partial = PartialDate(datetime.combine(date(year, month, 1), time.min), Precision.MONTH)
    assert partial.ends - partial.begins == timedelta(days=calendar.monthrange(year, month)[1])


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "0000",
        "0000-01",
        "19",
        "219",
        "12019",
        "-2019",
        "+2019",
        "2019-00",
        "2019-13",
        "2019-6",
        "2019-06-00",
        "2019-06-31",
        "2019-02-29",
        "1900-02-29",
        "2019-06-14T",
        "2019-06-14T09",
        "2019-06-14T24:00",
        "2019-06-14T09:60",
        "2019-06-14 09:30",
        "2019-06-14t09:30",
        "2019-06-14T09:30:00",
        "2019-06-14T09:30Z",
        "20190614",
        "2019/06/14",
        " 2019",
        "2019\n",
        "\u0662\u0660\u0661\u0669",
        "June 2019",
        "2019-06-14T09:30+02:00",
        "?",
        "2019\x00",
    ],
)
def test_anything_but_a_real_calendar_date_is_refused(text: str) -> None:
    with pytest.raises(InvalidSubjectTimeError, match="is not a subject time: write 2019"):
        PartialDate.parse(text)


def test_what_is_finer_than_the_precision_is_cut_off() -> None:
    moment = datetime.fromisoformat("2019-06-14T09:30:59.000123")
    assert [str(PartialDate(moment, precision)) for precision in Precision] == [
        "2019",
        "2019-06",
        "2019-06-14",
        "2019-06-14T09:30",
    ]
    assert PartialDate(moment, Precision.YEAR) == PartialDate.parse("2019")


def test_a_partial_date_in_a_time_zone_is_refused() -> None:
    with pytest.raises(InvalidSubjectTimeError):
        PartialDate(datetime(2019, 6, 14, tzinfo=UTC), Precision.DAY)


def test_dates_sort_by_begin_and_the_coarser_first() -> None:
    texts = ["2019-01-02", "2019-01", "2018-12-31T23:59", "2019", "2019-01-01T00:00", "2019-01-01"]
    assert [str(one) for one in sorted(map(PartialDate.parse, texts))] == [
        "2018-12-31T23:59",
        "2019",
        "2019-01",
        "2019-01-01",
        "2019-01-01T00:00",
        "2019-01-02",
    ]


@given(dates)
def test_every_partial_date_survives_its_text(partial: PartialDate) -> None:
    assert PartialDate.parse(str(partial)) == partial


@given(dates, dates)
def test_dates_are_compatible_exactly_if_they_share_an_instant(one: PartialDate, other: PartialDate) -> None:
    assert one.compatible(other) == (one.begins < other.ends and other.begins < one.ends)
    assert one.compatible(other) == other.compatible(one)


@given(dates, dates)
def test_containing_each_other_means_being_equal(one: PartialDate, other: PartialDate) -> None:
    assert (one.contains(other) and other.contains(one)) == (one == other)


# --- spans --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["1995..2003", "2020..?", "?..2003", "2019..2019", "2019-06..2019", "2019..2019-01"])
def test_a_span_gives_its_text_back(text: str) -> None:
    assert str(Span.parse(text)) == text
    assert Span.parse(str(Span.parse(text))) == Span.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "?..?",
        "2003..1995",
        "2019-07..2019-06",
        "2020..2019-12-31T23:59",
        "2019",
        "..",
        "2019..",
        "..2019",
        "1..2",
        "a..b",
    ],
)
def test_a_span_that_says_nothing_or_runs_backwards_is_refused(text: str) -> None:
    with pytest.raises(InvalidSubjectTimeError):
        Span.parse(text)


def test_an_open_span_reaches_to_the_edge_of_the_calendar() -> None:
    assert Span.parse("?..2003").begins == _FIRST
    assert Span.parse("2020..?").ends == _LAST


@pytest.mark.parametrize(
    ("given_text", "canonical"),
    [
        ("2020..9999", "2020..?"),
        ("2020..9999-12-31", "2020..?"),
        ("0001-01-01..2003", "?..2003"),
        ("0001-01..9999-12", "0001..9999"),
        ("?..9999", "0001..9999"),
    ],
)
def test_a_bound_at_the_edge_of_the_calendar_is_an_open_end(given_text: str, canonical: str) -> None:
    assert str(Span.parse(given_text)) == canonical
    assert Span.parse(canonical) == Span.parse(given_text)


# --- subject times ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "2019",
        "2019-06-14T09:30",
        "1995..2003",
        "2020..?",
        "?..2003",
        "2019-06; 1995..2003",
        "2019; 2021-03; ?..2003",
    ],
)
def test_a_subject_time_gives_its_text_back(text: str) -> None:
    assert str(at(text)) == text


def test_parsing_puts_a_subject_time_in_canonical_form() -> None:
    assert str(at(" 1995..2003;2021 ; 2019;2019-06 ")) == "2019-06; 2021; 1995..2003"


@pytest.mark.parametrize(
    "text", ["", ";", "2019;", "2019; ; 2020", "1995..2003; 2005..2006", "2019, 2020", "?..?", "?"]
)
def test_a_subject_time_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidSubjectTimeError):
        at(text)


def test_a_subject_time_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidSubjectTimeError):
        SubjectTime()


def test_a_refused_text_is_quoted_in_part_only() -> None:
    with pytest.raises(InvalidSubjectTimeError) as caught:
        at("x" * 10_000)
    assert len(str(caught.value)) < 300


@given(times())
@example(SubjectTime((), Span(PartialDate.parse("0001"), PartialDate.parse("9999"))))
def test_every_subject_time_survives_its_text(subject: SubjectTime) -> None:
    assert SubjectTime.parse(str(subject)) == subject


@given(times())
def test_no_point_contains_another(subject: SubjectTime) -> None:
    points = subject.points
    assert list(points) == sorted(points)
    assert not any(one.contains(other) for one in points for other in points if one != other)


# --- merging ------------------------------------------------------------------------------------------------


def test_no_sources_and_no_subject_times_merge_to_none() -> None:
    assert SubjectTime.merge([]) is None
    assert SubjectTime.merge([None, None]) is None


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["2019", None], "2019"),
        (["2019", "2019-06"], "2019-06"),
        (["2019-06-14", "2019", "2019-06"], "2019-06-14"),
        (["2019-06", "2020-01"], "2019-06; 2020-01"),
        (["2019-06", "2019-07", "2019"], "2019-06; 2019-07"),
        (["1995..2003", "1990..2000"], "1990..2003"),
        (["1995..2003", "1996-05..2001"], "1995..2003"),
        (["2001..2019", "2001..2019-06"], "2001..2019"),
        (["2001..2019-12-31", "2001-01..2019-12"], "2001..2019-12"),
        (["2001..2019", "2003..?"], "2001..?"),
        (["?..2019", "2003..2021"], "?..2021"),
        (["2019-06", "1995..2003"], "2019-06; 1995..2003"),
        (["2000", "1995..2003"], "2000; 1995..2003"),
        (["?..2003", "2020..?"], "0001..9999"),
        (["?..2003", "2020..?", "1995..2003"], "0001..9999"),
    ],
)
def test_merging_prefers_precise_points_keeps_conflicts_and_widens_spans(
    texts: list[str | None], expected: str
) -> None:
    assert merged(*texts) == expected
    assert merged(*reversed(texts)) == expected


@given(st.lists(st.none() | times(), max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_a_merge_changes_nothing(given_times: list[SubjectTime | None], random: Random) -> None:
    shuffled = list(given_times)
    random.shuffle(shuffled)
    assert SubjectTime.merge(shuffled) == SubjectTime.merge(given_times)


@given(st.none() | times(), st.none() | times(), st.none() | times())
def test_the_grouping_of_a_merge_changes_nothing(
    one: SubjectTime | None, two: SubjectTime | None, three: SubjectTime | None
) -> None:
    flat = SubjectTime.merge([one, two, three])
    assert SubjectTime.merge([SubjectTime.merge([one, two]), three]) == flat
    assert SubjectTime.merge([one, SubjectTime.merge([two, three])]) == flat


@given(times(), times())
def test_merging_again_changes_nothing(one: SubjectTime, other: SubjectTime) -> None:
    assert SubjectTime.merge([one, one]) == one
    both = SubjectTime.merge([one, other])
    assert SubjectTime.merge([both, one, other]) == both


@given(times(), times())
def test_a_merged_span_covers_every_source_and_no_point_is_lost(one: SubjectTime, other: SubjectTime) -> None:
    both = SubjectTime.merge([one, other])
    assert both is not None
    for source in (one, other):
        if source.span is not None:
            assert both.span is not None
            assert both.span.begins <= source.span.begins
            assert source.span.ends <= both.span.ends
        assert all(any(point.contains(kept) for kept in both.points) for point in source.points)


# --- compatibility ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (None, None, True),
        (None, "2019", True),
        ("2019", "2019-06", True),
        ("2019-06", "2019-07", False),
        ("2019; 2021", "2019; 2021", True),
        ("2019; 2021", "2019", False),
        ("2019-06; 2021", "2019; 2021-03", True),
        ("1995..2003", "2003..2010", True),
        ("1995..2003", "2004..2010", False),
        ("?..2003", "2003-12-31..?", True),
        ("2000", "1995..2003", True),
        ("2003-12-31", "1995..2003", True),
        ("2004", "1995..2003", False),
        ("2019; 1995..2003", "2019; 1995..2003", True),
        ("2019; 1995..2003", "2019", False),
        ("2000; 1995..2003", "2000", True),
        ("2000; 1995..2003", "2001; 1995..2003", False),
        ("2000; 1995..2003", "1999..2001", True),
    ],
)
def test_times_are_compatible_if_they_can_be_the_same(one: str | None, other: str | None, *, expected: bool) -> None:
    first, second = (None if text is None else at(text) for text in (one, other))
    assert compatible(first, second) is expected
    assert compatible(second, first) is expected


@given(times(), times())
def test_compatibility_is_symmetric_and_reflexive(one: SubjectTime, other: SubjectTime) -> None:
    assert compatible(one, other) == compatible(other, one)
    assert compatible(one, one)


@given(times())
def test_what_is_merged_stays_compatible_with_nothing_known(subject: SubjectTime) -> None:
    assert compatible(subject, None)
    assert compatible(None, subject)


def test_subject_times_decay_and_merging_load_without_numpy() -> None:
    program = (
        "import sys, agentcore.domain.temporal, agentcore.domain.decay, agentcore.domain.temporal;"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
