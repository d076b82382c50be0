"""Lays the dreams of a month out as a calendar: those that were and those to come, day by day."""

from calendar import monthrange
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from dream.interfaces.page.api_calls import ApiCalls

_SHOWN: Final = 3
"""Dreams that a day shows of its own; how many more there are, it says."""


async def month(api: ApiCalls, wanted: str, now: datetime) -> Mapping[str, Any]:
    """Return what the calendar of a month shows.

    Args:
        api: The calls of who looks.
        wanted: The month, as in 2026-03; the present one if it is none.
        now: This instant.
    """
    first = first_day(wanted) or now.date().replace(day=1)
    after = first + timedelta(days=monthrange(first.year, first.month)[1])
    found = await api.get("/schedule/timeline", since=f"{first}T00:00:00Z", until=f"{after}T00:00:00Z")
    past, coming = _by_day(found["past"], "started_at"), _by_day(found["coming"], "at")
    days = [(first + timedelta(days=number)).isoformat() for number in range((after - first).days)]
    told = [_day(day, past.get(day, [])[::-1], coming.get(day, []), today=now.date().isoformat()) for day in days]
    return {
        "title": f"{first:%B %Y}",
        "starts": first.weekday(),
        "days": told,
        "before": _named(first - timedelta(days=1)),
        "after": _named(after),
    }


def first_day(wanted: str) -> date | None:
    """Return the first day of a month that an address names; None if it names none.

    Example:
        >>> first_day("2026-03"), first_day("2026-3x"), first_day("0001-01")
        (datetime.date(2026, 3, 1), None, None)
    """
    try:
        first = datetime.strptime(wanted, "%Y-%m").replace(tzinfo=UTC).date()
    except ValueError:
        return None
    return first if 1970 <= first.year < 9999 else None


def _named(day: date) -> str:
    return f"{day:%Y-%m}" if day.year >= 1970 else ""


def _by_day(dreams: list[Any], name: str) -> dict[str, list[Any]]:
    days: dict[str, list[Any]] = {}
    for one in dreams:
        days.setdefault(one[name][:10], []).append(one)
    return days


def _day(day: str, past: list[Any], coming: list[Any], *, today: str) -> dict[str, Any]:
    room = max(0, _SHOWN - len(past))
    return {
        "day": day,
        "name": f"{date.fromisoformat(day):%a %d}",
        "is_today": day == today,
        "past": past[-_SHOWN:],
        "coming": coming[:room],
        "more": len(past) - len(past[-_SHOWN:]) + len(coming[room:]),
    }
