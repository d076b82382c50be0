"""Validity: until when what an entry says held, once another entry took its place."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from agentcore.domain import PartialDate, Status, SubjectTime, revived, superseded
from agentcore.domain.subject_time import overlaps
from agentcore.domain.validity import begin_of, day_of, time_held
from agentcore.testing.contracts.samples import DAY, START, an_entry

TIMES = ("2019", "2019-06", "2021-03-04", "1995..2003", "2020..?", "?..2022", "2018; 2020..2021")
times = st.none() | st.sampled_from(TIMES).map(SubjectTime.parse)
days = st.sampled_from(("1999", "2019-02", "2020-07-08", "2023")).map(PartialDate.parse)


def about(text: str | None) -> SubjectTime | None:
    return None if text is None else SubjectTime.parse(text)


@pytest.mark.parametrize(
    ("own", "of_successor", "until"),
    [
        (None, "2022-03", "2022-03"),
        (None, "2022-03..?", "2022-03"),
        (None, "2023; 2022-03..2024", "2022-03"),
        (None, None, "2025-06-14"),
        (None, "?..2022", "2025-06-14"),
        ("2019..2021", "2022-03", "2021"),
        ("2019..2023", "2022-03", "2022-03"),
    ],
)
def test_an_entry_held_until_its_successor_began_to(own: str | None, of_successor: str | None, until: str):
    old = an_entry("a", subject_time=about(own), created_at=START - DAY)
    new = an_entry("b", subject_time=about(of_successor))
    gone = superseded(old, by=new, reason="She moved.", at=START)
    assert (gone.status, gone.status_reason, gone.successor) == (Status.SUPERSEDED, "She moved.", "b")
    assert (gone.status_at, str(gone.valid_until)) == (START, until)


@pytest.mark.parametrize(("own", "of_successor"), [("2021-06", "2021-05"), ("2021-06", "2021-06"), (None, None)])
def test_a_correction_does_not_tell_that_what_it_corrects_ever_held(own: str | None, of_successor: str | None):
    old, new = an_entry("a", subject_time=about(own)), an_entry("b", subject_time=about(of_successor))
    assert superseded(old, by=new, reason="It was May.", at=START).valid_until is None


@given(times, times)
def test_what_is_revived_is_as_it_was_before_it_was_superseded(own: SubjectTime | None, other: SubjectTime | None):
    old, new = an_entry("a", subject_time=own), an_entry("b", subject_time=other)
    assert revived(superseded(old, by=new, reason="She moved.", at=START)) == old


@given(times, days, days | st.none())
def test_the_time_in_which_a_text_held_keeps_the_moments_it_is_about(
    own: SubjectTime | None, since: PartialDate, until: PartialDate | None
):
    held = time_held(own, since=since, until=until)
    assert SubjectTime.parse(str(held)) == held
    if own is not None:
        assert held.points == own.points
        assert own.span is None or own.span.end is None or held == own


def test_what_was_told_late_held_from_a_time_that_nobody_knows():
    assert str(time_held(None, since=PartialDate.parse("2025"), until=PartialDate.parse("2022-03"))) == "?..2022-03"


def test_a_text_that_took_a_place_holds_from_its_begin_on():
    held = time_held(SubjectTime.parse("2022-03"), since=PartialDate.parse("2022-05"), until=None)
    assert overlaps(held, SubjectTime.parse("2030"))
    assert not overlaps(held, SubjectTime.parse("2021"))


def test_a_day_is_the_day_in_utc():
    assert str(day_of(datetime(2025, 5, 1, 23, 30, tzinfo=UTC))) == "2025-05-01"
    assert begin_of(None) is None
