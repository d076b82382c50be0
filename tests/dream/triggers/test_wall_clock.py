"""Windows on the days on which clocks are changed, and what a day is then."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from deciding import DAY, MINUTE, at
from minutes import walls

from dream.triggers.calendars import cron_calendar, daily_calendar
from dream.triggers.walltime import end_of_quiet, next_midnight, zone_of

_ZONES = ("UTC", "America/New_York", "Europe/Lisbon", "Australia/Lord_Howe")
_SPANS = ((at("03-06"), 34 * 1440), (at("10-02"), 33 * 1440))
"""All of them change their clocks in these days, and nothing changes on most days of them."""

_CRONS = {
    "45 1 * * *": ({45}, {1}, set(range(7))),
    "15 2 * * 0": ({15}, {2}, {6}),
    "*/20 * * * *": ({0, 20, 40}, set(range(24)), set(range(7))),
    "10 0,23 * * mon-fri": ({10}, {0, 23}, {0, 1, 2, 3, 4}),
}


@pytest.mark.parametrize("zone", _ZONES)
def test_cron_fires_at_each_matching_minute_of_the_wall_once(zone: str):
    for begin, minutes in _SPANS:
        for expression, (of_hour, hours, weekdays) in _CRONS.items():
            calendar, expected = cron_calendar(expression), []
            seen: set[tuple[int, int]] = set()
            days, of_day = walls(zone, begin, minutes)
            for minute in range(1, minutes):
                day, wall = days[minute], of_day[minute]
                passed = range(of_day[minute - 1] + 1, wall + 1) if day == days[minute - 1] else range(wall + 1)
                fires = {
                    (day, one)
                    for one in passed or (wall,)
                    if one % 60 in of_hour and one // 60 in hours and (day - 1) % 7 in weekdays
                }
                if fires - seen:
                    expected.append(begin + minute * MINUTE)
                seen |= {(day, one) for one in passed or (wall,)}
            found, back = [], []
            window = begin
            while (window := calendar.at_or_after(window + MINUTE, ZoneInfo(zone))) < begin + minutes * MINUTE:
                found.append(window)
            window = begin + minutes * MINUTE
            while (window := calendar.at_or_before(window - MINUTE, ZoneInfo(zone))) > begin:
                back.append(window)
            assert found == expected
            assert back[::-1] == expected


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
    for begin, minutes in _SPANS:
        days, of_day = walls(zone, begin, minutes)
        assert days
        end, expected = minutes, [0] * minutes
        for minute in reversed(range(minutes)):
            wall = of_day[minute]
            end = end if 100 <= wall < 150 or wall >= 1380 or wall < 60 else minute
            expected[minute] = end
        for minute in range(0, minutes - 1440, 11):
            found = end_of_quiet(begin + minute * MINUTE, ZoneInfo(zone), ranges)
            assert found == begin + expected[minute] * MINUTE


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
