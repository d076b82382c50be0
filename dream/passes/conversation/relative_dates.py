"""Relative dates: what `last Tuesday` or `vor zwei Wochen` says, given the day on which it was said.

Read in English, German, French, Spanish, Portuguese, Italian and Dutch. Where people disagree about a wording (`next
Friday` on a Monday), it has several readings; where it says no more than a week, a month or a year, so does its
reading.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Final

import regex

from agentcore.domain.subject_time import PartialDate, Precision, Span
from dream.guards import dates as calendar_dates
from dream.guards.calendar_words import MONTHS
from dream.guards.folding import fold, one_form
from dream.guards.languages import language_of
from dream.passes.conversation.date_words import (
    ABOUT,
    AFTER,
    AGES,
    AGO,
    AHEAD,
    BEFORE,
    COUNTS,
    DAYS,
    EAST_ASIAN,
    EAST_ASIAN_AGO,
    EAST_ASIAN_UNITS,
    FOR_HOW_LONG,
    NOT_BEHIND,
    ORDINAL,
    SPOKEN_IN,
    STRETCHES,
    UNITS,
    WEEKDAY_NAMES,
    in_whole_months,
)

DateReading = PartialDate | Span
_COVER: Final = "\x1a"


@dataclass(frozen=True, slots=True)
class DateMention:
    """A relative date in a text.

    Args:
        phrase: As it stands there, folded.
        readings: What it can mean, the usual meaning first.
        sure: Whether the first is what nearly everybody means.
        begins: Whether it says since when something is so, as `for three months now` does.
    """

    phrase: str
    readings: tuple[DateReading, ...]
    sure: bool = True
    begins: bool = False


def relative_dates(text: str, said_on: date) -> tuple[DateMention, ...]:
    """Return the relative dates of a text, in no particular order.

    Args:
        text: What was said.
        said_on: The day on which it was said.

    Example:
        >>> [str(one.readings[0]) for one in relative_dates("I saw Rui last Tuesday.", date(2025, 6, 14))]
        ['2025-06-10']
    """
    folded, language = in_whole_months(fold(one_form(text))), language_of(text, "")
    found: list[DateMention] = []
    for pattern, read in _readers():
        for match in pattern.finditer(folded):
            spoken_in = SPOKEN_IN.get(match.group(), language)
            mention = _read(read, match, said_on) if language in {spoken_in, ""} else None
            if mention is not None and mention.readings:
                found.append(mention if language == spoken_in else replace(mention, sure=False))
        folded = pattern.sub(lambda match: _COVER * len(match.group()), folded)
    return tuple(found)


def day_of(day: date) -> PartialDate:
    """Return a day as a partial date."""
    return PartialDate(datetime.combine(day, time.min), Precision.DAY)


def nearest_years(month: int, day: int | None, said_on: date) -> tuple[PartialDate, ...]:
    """Return what a date without a year can mean: in the year it was said, and nearest to that day.

    Example:
        >>> [str(one) for one in nearest_years(12, 20, date(2025, 1, 10))]
        ['2025-12-20', '2024-12-20']
    """
    precision = Precision.MONTH if day is None else Precision.DAY
    years = sorted((said_on.year - 1, said_on.year, said_on.year + 1), key=lambda year: year != said_on.year)
    dates = [one for year in years if (one := _real(year, month, day or 1)) is not None]
    if not dates:
        return ()
    nearest = min(dates, key=lambda one: abs(one - said_on))
    return tuple(PartialDate(datetime.combine(one, time.min), precision) for one in dict.fromkeys((dates[0], nearest)))


def _real(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


_Reader = Callable[["regex.Match[str]", date], DateMention]


def _read(read: _Reader, match: "regex.Match[str]", said_on: date) -> DateMention | None:
    try:
        return read(match, said_on)
    except (OverflowError, ValueError):  # beyond the calendar
        return None


def _by_word(match: "regex.Match[str]", said_on: date) -> DateMention:
    days = DAYS[_spaced(match.group())]
    return DateMention(match.group(), (day_of(said_on + timedelta(days=days)),))


def _distance(sign: int, *, sure: bool = True) -> _Reader:
    def read(match: "regex.Match[str]", said_on: date) -> DateMention:
        count = int(match["count"]) if match["count"].isdecimal() else COUNTS[_spaced(match["count"])]
        readings = tuple(_moved(said_on, UNITS[_spaced(match["unit"])], sign * count))
        return DateMention(match.group(), readings, sure)

    return read


def _born(*, sure: bool) -> _Reader:
    def read(match: "regex.Match[str]", said_on: date) -> DateMention:
        age = int(match["count"]) if match["count"].isdecimal() else COUNTS[_spaced(match["count"])]
        readings = [one for back in range(1 if sure else 2) for one in _moved(said_on, "year", -age - back)]
        return DateMention(match.group(), tuple(readings), sure=False, begins=True)

    return read


def _east_asian(match: "regex.Match[str]", said_on: date) -> DateMention:
    if match["count"] is None:
        unit, count = EAST_ASIAN[match.group()]
    else:
        said = match["count"]
        unit = EAST_ASIAN_UNITS.get(match["unit"][0], "month")
        count = -(int(said) if said.isdecimal() else "一二三四五六七八九十".index(said) + 1)
    return DateMention(match.group(), tuple(_moved(said_on, unit, count)))


def _begin(match: "regex.Match[str]", said_on: date) -> DateMention:
    """Return since when something is so that has been so for a while; nobody counts the days exactly."""
    found = _distance(-1)(match, said_on)
    months = int(match["count"]) if match["count"].isdecimal() else COUNTS[_spaced(match["count"])]
    unit = UNITS[_spaced(match["unit"])]
    exact: list[DateReading] = []
    if unit in {"month", "year"}:
        months *= 12 if unit == "year" else 1
        month = _month(said_on.year * 12 + said_on.month - 1 - months)
        day = _real(month.begins.year, month.begins.month, said_on.day)
        exact = [month, *([day_of(day)] if day is not None and unit == "month" else [])]
    return replace(found, readings=(*found.readings, *exact), sure=False, begins=True)


def _nth_weekday(match: "regex.Match[str]", said_on: date) -> DateMention:
    year, month = calendar_dates.month_of(match, said_on)
    if month is None:
        return DateMention(match.group(), ())
    years = [year] if year else sorted(range(said_on.year - 1, said_on.year + 2), key=lambda one: one != said_on.year)
    days = [day for one in years if (day := calendar_dates.day_in(match, one, month)) is not None]
    if not days:
        return DateMention(match.group(), ())
    nearest = min(days, key=lambda one: abs(one - said_on))
    return DateMention(
        match.group(), tuple(day_of(day) for day in dict.fromkeys((days[0], nearest))), sure=len(days) == 1
    )


def _moved(said_on: date, unit: str, count: int) -> Iterator[DateReading]:
    if unit == "day":
        yield day_of(said_on + timedelta(days=count))
    elif unit == "fortnight":
        yield day_of(said_on + timedelta(weeks=2 * count))
    elif unit in {"week", "weekend"}:
        yield _week(said_on, count) if unit == "week" else _weekend(said_on, count)
        yield day_of(said_on + timedelta(weeks=count))
    elif unit == "month":
        yield _month(said_on.year * 12 + said_on.month - 1 + count)
    else:
        yield PartialDate(datetime(said_on.year + count, 1, 1), Precision.YEAR)  # noqa: DTZ001 - a date, no instant


def _stretch(match: "regex.Match[str]", said_on: date) -> DateMention:
    place = BEFORE[match["before"]] if match["before"] else AFTER[_spaced(match["after"])]
    name = _spaced(match["name"] or match["name_"])
    if name in WEEKDAY_NAMES:
        return _weekday(match.group(), place, WEEKDAY_NAMES[name], said_on)
    if name in UNITS:
        return DateMention(match.group(), tuple(_moved(said_on, UNITS[name], place))[:1])
    return _named_month(match.group(), place, MONTHS[name], said_on)


def _weekday(phrase: str, place: int, number: int, said_on: date) -> DateMention:
    monday = _monday(said_on)
    here = monday + timedelta(days=number - 1)
    week = timedelta(weeks=1)
    if place < 0:
        latest = here if here < said_on else here - week
        other = () if latest < monday else (day_of(latest - week),)
        return DateMention(phrase, (day_of(latest), *other))
    coming = here if here > said_on else here + week
    if place > 0:
        other = () if coming >= monday + week else (day_of(coming + week),)
        return DateMention(phrase, (day_of(coming), *other), sure=not other)
    if here >= said_on:
        return DateMention(phrase, (day_of(here),))
    return DateMention(phrase, (day_of(here + week), day_of(here)), sure=False)


def _named_month(phrase: str, place: int, month: int, said_on: date) -> DateMention:
    year = said_on.year
    if place < 0:
        year -= 0 if month < said_on.month else 1
    elif place > 0:
        year += 0 if month > said_on.month else 1
    first = _month(year * 12 + month - 1)
    other = _month((year + place) * 12 + month - 1)
    return DateMention(
        phrase, (first, other) if place and year == said_on.year else (first,), sure=year != said_on.year
    )


def _alone(match: "regex.Match[str]", said_on: date) -> DateMention:
    here = _monday(said_on) + timedelta(days=WEEKDAY_NAMES[match.group()] - 1)
    week = timedelta(weeks=1)
    past, coming = (here, here) if here == said_on else (here, here + week) if here < said_on else (here - week, here)
    return DateMention(match.group(), tuple(day_of(day) for day in dict.fromkeys((past, coming))), sure=False)


def _day_of_month(match: "regex.Match[str]", said_on: date) -> DateMention:
    number, months = int(match["day"]), said_on.year * 12 + said_on.month - 1
    # The month it was said in comes first, then the one after, in which most of what is planned lies.
    days = [_real(month // 12, month % 12 + 1, number) for month in (months, months + 1, months - 1)]
    return DateMention(match.group(), tuple(day_of(day) for day in days if day is not None), sure=False)


def _monday(day: date) -> date:
    return day - timedelta(days=day.isoweekday() - 1)


def _week(said_on: date, count: int) -> Span:
    monday = _monday(said_on) + timedelta(weeks=count)
    return Span(day_of(monday), day_of(monday + timedelta(days=6)))


def _weekend(said_on: date, count: int) -> Span:
    saturday = _monday(said_on) + timedelta(weeks=count, days=5)
    return Span(day_of(saturday), day_of(saturday + timedelta(days=1)))


def _month(months: int) -> PartialDate:
    return PartialDate(datetime(months // 12, months % 12 + 1, 1), Precision.MONTH)  # noqa: DTZ001 - a date, no instant


def _spaced(words: str) -> str:
    return " ".join(words.split())


def _any(*tables: Iterable[str]) -> str:
    """Return an alternative of words, the longest first."""
    names = sorted({name for table in tables for name in table}, key=lambda name: (-len(name), name))
    return "|".join(regex.escape(name) for name in names)


def _whole(pattern: str) -> "regex.Pattern[str]":
    spaced = regex.sub(r"\\? ", r"\\s+", pattern)
    return regex.compile(rf"(?<![\p{{L}}\p{{N}}]){spaced}(?![\p{{L}}\p{{N}}])")


_COUNT: Final = rf"(?P<count>\d{{1,3}}|{_any(COUNTS)})"
_UNIT: Final = rf"(?P<unit>{_any(UNITS)})"
_NAME: Final = _any(STRETCHES, WEEKDAY_NAMES, MONTHS)
_STRETCH: Final = rf"(?:(?P<before>{_any(BEFORE)}) (?P<name>{_NAME})|(?P<name_>{_NAME}) (?P<after>{_any(AFTER)}))"


@cache
def _readers() -> tuple[tuple["regex.Pattern[str]", _Reader], ...]:
    # Compiled at the first text that is read: a process that reads none would hardly live as long.
    return (
        (calendar_dates.nth_weekday_pattern(), _nth_weekday),
        (regex.compile(rf"{EAST_ASIAN_AGO}|{_any(EAST_ASIAN)}"), _east_asian),
        *((_whole(way.format(count=_COUNT)), _born(sure=place == 0)) for place, way in enumerate(AGES)),
        *((_whole(way.format(count=_COUNT, unit=_UNIT, about=ABOUT)), _begin) for way in FOR_HOW_LONG),
        (_whole(rf"(?<!\b(?:{'|'.join(NOT_BEHIND.split())}) )(?:{_any(DAYS)})"), _by_word),
        *((_whole(way.format(count=_COUNT, unit=_UNIT, about=ABOUT)), _distance(-1)) for way in AGO),
        *(
            (_whole(way.format(count=_COUNT, unit=_UNIT)), _distance(1, sure=place == 0))
            for place, way in enumerate(AHEAD)
        ),
        (_whole(_STRETCH), _stretch),
        (_whole(rf"(?:{_any(WEEKDAY_NAMES)})"), _alone),
        (_whole(ORDINAL), _day_of_month),
    )
