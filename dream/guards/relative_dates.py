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
from agentcore.lexicon.language import Language, languages
from dream.guards import dates as calendar_dates
from dream.guards.dates import MONTHS, SHORT_WEEKDAYS, WEEKDAYS
from dream.guards.folding import fold, folded_values, folded_words, one_form
from dream.guards.languages import language_of
from dream.guards.number_words import WORDS

DateReading = PartialDate | Span
_COVER: Final = "\x1a"

_DAYS: Final = folded_values(lambda one: one.days_from_now)
"""Days from the day on which it was said."""
_SPOKEN_IN: Final = {fold(word): one.code for one in languages() for word in one.spoken_here_alone}
"""Words that mean something else in another language: read only in a text of their own."""
_UNITS: Final = folded_values(lambda one: one.stretches)
"""What a word for a stretch of the calendar stands for."""
_STRETCHES: Final = {word: unit for word, unit in _UNITS.items() if unit != "day"}
"""Those that can be the last or the next one: the last day of a journey is no yesterday."""
_WEEKDAY_NAMES: Final = {name: day for name, day in WEEKDAYS.items() if name not in SHORT_WEEKDAYS}
"""Weekdays that no text means otherwise, Monday first."""
_BEFORE: Final = folded_values(lambda one: one.before_stretch)
"""Where a stretch lies, by the word before it: the one before, this one, the one after."""
_AFTER: Final = folded_values(lambda one: one.after_stretch)
"""The same by the word behind it."""
_COUNTS: Final = {
    # Longer ones hardly stand before a stretch, and each costs time in the patterns.
    **{fold(word): value for words in WORDS.values() for word, value in words.items() if 0 < value <= 20},
    **{fold(word): value for words in WORDS.values() for word, value in words.items() if value in range(20, 101, 10)},
    **folded_values(lambda one: one.counts),
}
"""Numbers that stand before a stretch."""
_NEAR: Final = {
    word: (unit, int(count))
    for one in languages()
    for place, words in one.near_stretches.items()
    for count, unit in (place.split(),)
    for word in words
}
"""Words of Japanese and Chinese, which have no spaces around them, as a unit and how many of it."""
_EAST_ASIAN_AGO: Final = r"(?P<count>\d{1,3}|[一二三四五六七八九十])(?P<unit>日|天|週間|周|[ヶかカ]月|个月|年)(?:半)?前"
_EAST_ASIAN_UNITS: Final = {"日": "day", "天": "day", "週": "week", "周": "week", "年": "year"}


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
    folded, language = _in_whole_months(fold(one_form(text))), language_of(text, "")
    found: list[DateMention] = []
    for pattern, read in _readers():
        for match in pattern.finditer(folded):
            spoken_in = _SPOKEN_IN.get(match.group(), language)
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
    days = _DAYS[_spaced(match.group())]
    return DateMention(match.group(), (day_of(said_on + timedelta(days=days)),))


def _distance(sign: int, *, sure: bool = True) -> _Reader:
    def read(match: "regex.Match[str]", said_on: date) -> DateMention:
        count = int(match["count"]) if match["count"].isdecimal() else _COUNTS[_spaced(match["count"])]
        readings = tuple(_moved(said_on, _UNITS[_spaced(match["unit"])], sign * count))
        return DateMention(match.group(), readings, sure)

    return read


def _born(*, sure: bool) -> _Reader:
    def read(match: "regex.Match[str]", said_on: date) -> DateMention:
        age = int(match["count"]) if match["count"].isdecimal() else _COUNTS[_spaced(match["count"])]
        readings = [one for back in range(1 if sure else 2) for one in _moved(said_on, "year", -age - back)]
        return DateMention(match.group(), tuple(readings), sure=False, begins=True)

    return read


def _east_asian(match: "regex.Match[str]", said_on: date) -> DateMention:
    if match["count"] is None:
        unit, count = _NEAR[match.group()]
    else:
        said = match["count"]
        unit = _EAST_ASIAN_UNITS.get(match["unit"][0], "month")
        count = -(int(said) if said.isdecimal() else "一二三四五六七八九十".index(said) + 1)
    return DateMention(match.group(), tuple(_moved(said_on, unit, count)))


def _begin(match: "regex.Match[str]", said_on: date) -> DateMention:
    """Return since when something is so that has been so for a while; nobody counts the days exactly."""
    found = _distance(-1)(match, said_on)
    months = int(match["count"]) if match["count"].isdecimal() else _COUNTS[_spaced(match["count"])]
    unit = _UNITS[_spaced(match["unit"])]
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
    place = _BEFORE[match["before"]] if match["before"] else _AFTER[_spaced(match["after"])]
    name = _spaced(match["name"] or match["name_"])
    if name in _WEEKDAY_NAMES:
        return _weekday(match.group(), place, _WEEKDAY_NAMES[name], said_on)
    if name in _UNITS:
        return DateMention(match.group(), tuple(_moved(said_on, _UNITS[name], place))[:1])
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
    here = _monday(said_on) + timedelta(days=_WEEKDAY_NAMES[match.group()] - 1)
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


def _in_whole_months(folded: str) -> str:
    """Return folded text with half years told in months, which can be counted back."""
    for months, pattern in _half_years().items():
        folded = pattern.sub(f"{months} months", folded)
    return folded


@cache
def _half_years() -> dict[int, "regex.Pattern[str]"]:
    by_months = {months: _alternatives(lambda one, months=months: one.half_years.get(months, ())) for months in (6, 18)}
    return {months: regex.compile(rf"\b(?:{words})\b") for months, words in by_months.items()}


def _alternatives(read: Callable[[Language], Iterable[str]]) -> str:
    return "|".join(folded_words(read))


def _patterns_of_stretches() -> Iterator[tuple["regex.Pattern[str]", _Reader]]:
    """Return how people say since when something has been so, and how far from the day something was or will be."""
    count = rf"(?P<count>\d{{1,3}}|{_any(_COUNTS)})"
    stretch = rf"{count} (?P<unit>{_any(_UNITS)})"
    about = f"(?:(?:{_alternatives(lambda one: one.about)}) )?"
    unit = stretch.removeprefix(f"{count} ")
    turning, of_age = _alternatives(lambda one: one.turning_age), _alternatives(lambda one: one.years_of_age)
    yield _whole(rf"(?:{turning}) {count}(?: (?:{of_age}))?"), _born(sure=True)
    yield _whole(rf"{count} (?:{_alternatives(lambda one: one.years_old)})"), _born(sure=False)
    for way in (way for one in languages() for way in one.for_how_long):
        yield _whole(way.format(count=count, unit=unit, about=about)), _begin
    yield _whole(rf"(?:{_alternatives(lambda one: one.since)}) {about}{stretch}"), _begin
    so_long = (_alternatives(lambda one: one.so_long_before), _alternatives(lambda one: one.so_long_behind))
    yield _whole(rf"(?:{so_long[0]}) {about}{stretch} (?:{so_long[1]})"), _begin
    not_behind = _alternatives(lambda one: one.not_before_tomorrow)
    yield _whole(rf"(?<!\b(?:{not_behind}) )(?:{_any(_DAYS)})"), _by_word
    yield _whole(rf"{stretch} (?:{_alternatives(lambda one: one.ago_behind)})"), _distance(-1)
    yield _whole(rf"(?:{_alternatives(lambda one: one.ago_before)}) {about}{stretch}"), _distance(-1)
    yield _whole(rf"{stretch} (?:{_alternatives(lambda one: one.ahead_behind)})"), _distance(1)
    # It can also say how long something took.
    yield _whole(rf"(?:{_alternatives(lambda one: one.ahead_before)}) {stretch}"), _distance(1, sure=False)


@cache
def _readers() -> tuple[tuple["regex.Pattern[str]", _Reader], ...]:
    # Compiled at the first text that is read: a process that reads none would hardly live as long.
    name = _any(_STRETCHES, _WEEKDAY_NAMES, MONTHS)
    stretch = rf"(?P<before>{_any(_BEFORE)}) (?P<name>{name})|(?P<name_>{name}) (?P<after>{_any(_AFTER)})"
    number = _alternatives(lambda one: one.day_of_month_before)
    return (
        (calendar_dates.nth_weekday_pattern(), _nth_weekday),
        (regex.compile(rf"{_EAST_ASIAN_AGO}|{_any(_NEAR)}"), _east_asian),
        *_patterns_of_stretches(),
        (_whole(rf"(?:{stretch})"), _stretch),
        (_whole(rf"(?:{_any(_WEEKDAY_NAMES)})"), _alone),
        (
            _whole(
                r"(?:(?P<day>\d{1,2})(?:st|nd|rd|th)"
                rf"|(?:{number}) (?P<day>\d{{1,2}})(?!\d|[.:,/-]\d| (?:uhr|h)\b))"
            ),
            _day_of_month,
        ),
    )
