"""Windows on the days on which clocks are changed, and what a day is then."""

from bisect import bisect_left, bisect_right
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from deciding import DAY, MINUTE, at
from minutes import walls

from dream.triggers.local_time import cron_calendar, daily_calendar, end_of_quiet, next_midnight, zone_of

_ZONES = ("UTC", "America/New_York", "Europe/Lisbon", "Australia/Lord_Howe")
_CHANGES = ("03-07", "03-28", "04-04", "10-03", "10-24", "10-31")
"""The days before clocks are changed, in one of the zones at least."""
_SPAN = 3 * 1440

_CRONS = {
    "45 1 * * *": ({45}, {1}, set(range(7))),
    "15 2 * * 0": ({15}, {2}, {6}),
    "*/20 * * * *": ({0, 20, 40}, set(range(24)), set(range(7))),
    "10 0,23 * * mon-fri": ({10}, {0, 23}, {0, 1, 2, 3, 4}),
}


@pytest.mark.parametrize("zone", _ZONES)
@pytest.mark.parametrize("expression", _CRONS)
def test_cron_fires_at_each_matching_minute_of_the_wall_once(expression: str, zone: str):
    calendar, tz = cron_calendar(expression), ZoneInfo(zone)
    for day in _CHANGES:
        begin = at(day) - DAY
        expected = [begin + minute * MINUTE for minute in _firing(expression, walls(zone, begin, _SPAN + 1440))]
        for minute in range(1440, _SPAN, 6):
            now = begin + minute * MINUTE
            place = bisect_left(expected, now)
            if place < len(expected):
                assert calendar.at_or_after(now, tz) == expected[place]
            if bisect_right(expected, now):
                assert calendar.at_or_before(now, tz) == expected[bisect_right(expected, now) - 1]


def _firing(expression: str, wall: tuple[list[int], list[int]]) -> list[int]:
    """Return at which minutes a matching time is on the wall for the first time, or was just skipped."""
    of_hour, hours, weekdays = _CRONS[expression]
    days, of_day = wall
    seen: set[tuple[int, int]] = set()
    found: list[int] = []
    for minute in range(1, len(days)):
        day, now = days[minute], of_day[minute]
        before = of_day[minute - 1] if day == days[minute - 1] else -1
        shown = {(day, one) for one in range(before + 1, now + 1) or (now,)}
        fires = any(one % 60 in of_hour and one // 60 in hours and (day - 1) % 7 in weekdays for _, one in shown - seen)
        if fires:
            found.append(minute)
        seen |= shown
    return found


@pytest.mark.parametrize(
    ("zone", "time", "day", "expected"),
    [
        ("America/New_York", "02:30", "03-08", "03-08 07:00"),  # 02:00 to 03:00 is skipped
        ("America/New_York", "01:30", "11-01", "11-01 05:30"),  # 01:00 to 02:00 comes twice
        ("America/New_York", "03:00", "11-01", "11-01 08:00"),
        ("Europe/Lisbon", "01:30", "03-29", "03-29 01:00"),
        ("Europe/Lisbon", "01:30", "10-25", "10-25 00:30"),
        ("Australia/Lord_Howe", "02:15", "10-04", "10-03 15:30"),  # half an hour is skipped
        ("Australia/Lord_Howe", "01:45", "04-05", "04-04 14:45"),  # half an hour comes twice
        ("UTC", "02:30", "03-08", "03-08 02:30"),
    ],
)
def test_a_time_of_day_comes_once_on_the_day_clocks_change(zone: str, time: str, day: str, expected: str):
    calendar, tz = daily_calendar(time), ZoneInfo(zone)
    begins = at(day).replace(tzinfo=tz).astimezone(UTC)
    assert calendar.at_or_after(begins, tz) == at(expected)
    assert calendar.at_or_after(at(expected) + MINUTE, tz) > begins + 0.9 * DAY
    assert calendar.at_or_before(begins + DAY, tz) in (at(expected), at(expected) + DAY)


def test_the_name_of_a_schedule_is_cron_as_well():
    assert cron_calendar("@daily").at_or_after(at("03-08 07:00"), UTC) == at("03-09")


def test_a_rare_date_is_found_years_ahead():
    assert cron_calendar("0 0 29 2 *").at_or_after(at("01-01"), UTC) == datetime(2028, 2, 29, tzinfo=UTC)


@pytest.mark.parametrize("zone", _ZONES)
def test_quiet_hours_end_at_the_first_minute_that_is_not_in_them(zone: str):
    ranges = ((100, 150), (1380, 60))
    for day in _CHANGES:
        begin = at(day)
        _, of_day = walls(zone, begin, _SPAN)
        end = _SPAN
        for minute in reversed(range(_SPAN)):
            wall = of_day[minute]
            end = end if 100 <= wall < 150 or wall >= 1380 or wall < 60 else minute
            if minute % 7 == 0 and end < _SPAN:
                found = end_of_quiet(begin + minute * MINUTE, ZoneInfo(zone), ranges)
                assert found == begin + end * MINUTE


def test_a_second_within_the_last_quiet_minute_is_quiet():
    assert end_of_quiet(at("03-08 02:29:59.5"), UTC, ((100, 150),)) == at("03-08 02:30")


@pytest.mark.parametrize(
    ("zone", "after", "expected"),
    [
        ("America/New_York", "11-01 04:00", "11-02 05:00"),  # a day of 25 hours
        ("America/New_York", "03-08 05:00", "03-09 04:00"),  # a day of 23 hours
        ("UTC", "03-08 23:59", "03-09 00:00"),
    ],
)
def test_a_day_ends_at_local_midnight(zone: str, after: str, expected: str):
    assert next_midnight(at(after), ZoneInfo(zone)) == at(expected)


def test_a_zone_that_the_machine_does_not_know_any_more_is_utc():
    assert zone_of("Local", "Mars/Olympus") is UTC
    assert zone_of("Local", "Europe/Lisbon") == ZoneInfo("Europe/Lisbon")
