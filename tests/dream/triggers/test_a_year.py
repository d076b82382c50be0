"""A year of each preset, in four time zones, against an oracle that looks at every minute."""

from collections.abc import Mapping
from datetime import datetime
from random import Random

import pytest
from deciding import BEGIN, MINUTE, Scheduled
from minutes import daily_minutes, walls, yearly_runs

from dream.options import DreamOptions

_ZONES = ("UTC", "America/New_York", "Europe/Lisbon", "Australia/Lord_Howe")
_YEAR = 365 * 24 * 60
_QUIET = "00:40-02:10"

_NUMBERS: dict[str, Mapping[str, int]] = {
    "timed": {"every": 240, "delay": 5},
    "peer": {"new": 50, "cooldown": 480, "idle": 60},
    "reviewed": {},
    "promotion": {"beat_every": 1440},
    "idle": {"after": 120, "cap": 3},
}
"""The documented defaults, in minutes, as the systems' own documents give them."""


def _activity() -> dict[int, int]:
    """Return a year's conversations: minutes and new entries; some days are full of them, on others nobody comes."""
    chance = Random(20260101)
    found: dict[int, int] = {}
    for day in range(365):
        for _ in range(chance.choice((0, 0, 0, 1, 2, 4))):
            minute = day * 1440 + chance.randrange(1440)
            for turn in range(chance.randrange(1, 4)):
                found[minute + turn * chance.randrange(1, 50)] = chance.randrange(30)
    return {minute: new for minute, new in found.items() if minute < _YEAR}


_ACTIVITY = _activity()
_DATES = [day * 1440 + 720 for day in range(20, 365, 31)]


@pytest.mark.parametrize("zone", _ZONES)
@pytest.mark.parametrize("preset", _NUMBERS)
def test_each_run_of_a_year_is_where_the_oracle_has_it(preset: str, zone: str):
    schedule = DreamOptions.preset(preset).schedule.replace(zone=zone)
    # Half of them with quiet hours, over the very hours in which clocks are changed.
    is_quiet = (len(preset) + len(zone)) % 2 == 0
    quiet = (40, 130) if is_quiet else (0, 0)
    scheduled = Scheduled(schedule.replace(quiet_hours=(_QUIET,) if is_quiet else ()))
    scheduled.live([(_instant(one), new) for one, new in _ACTIVITY.items()], [*map(_instant, _DATES)], _instant(_YEAR))

    windows = daily_minutes(zone, BEGIN, _YEAR, 180) if preset == "reviewed" else ()
    expected = yearly_runs(_NUMBERS[preset], windows, _ACTIVITY, _DATES, walls(zone, BEGIN, _YEAR), quiet=quiet)
    assert scheduled.runs == [_instant(minute) for minute in expected]
    assert len(scheduled.runs) > 50


def _instant(minute: int) -> datetime:
    return BEGIN + minute * MINUTE
