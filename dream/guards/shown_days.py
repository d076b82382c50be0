"""The days that texts tell or yield: dates, relative dates from the day on which they were said, and durations."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, timedelta
from functools import cached_property
from typing import Final, NamedTuple

from agentcore.domain.subject_time import PartialDate, Precision, Span
from agentcore.lexicon.language import languages
from dream.guards.dates import Day
from dream.guards.folding import fold
from dream.guards.languages import OTHER_MARKS, language_of
from dream.guards.numbers import Quantity
from dream.guards.patterns import TEXT_ROOM, TextCache, lazy_pattern
from dream.guards.relative_dates import DateReading, relative_dates

_EDGES: Final = frozenset({1, 28, 29, 30, 31})
"""Days at the begin and the end of a month."""
_NEAR: Final = timedelta(days=45)
_YEAR: Final = timedelta(days=400)
_UNIT_DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}
_LETTERS = lazy_pattern(r"\p{L}+")
_ANY_DAY: Final = date(2001, 1, 1)
_TIME_WORDS: Final = frozenset(
    fold(word) for one in languages() for words in one.stretches.values() for word in words
) | {"terca", "quarta", "quinta", "sexta", "segunda"}
"""Words for a day, a week, a month, a year, and Portuguese weekdays as people say them."""


class DatedText(NamedTuple):
    """A text with what it tells of time.

    Args:
        text: It.
        said_on: When it was said.
        in_talk: Whether somebody said it; it is an entry if not.
        days: Dates that stand there.
        counts: All that it can be read to count.
    """

    text: str
    said_on: date | None
    in_talk: bool
    days: tuple[Day, ...]
    counts: Collection[float]


Stretch = tuple[date, date]
"""The first and the last of some days."""


class ShownDays:
    """All days that texts give; lives as long as a judgement.

    Args:
        texts: Them.
        lasting: Quantities that stand there.
        numbers: All that the texts can be read to count.

    Example:
        >>> said = DatedText("I was there yesterday.", date(2025, 6, 14), False, (), ())
        >>> days = ShownDays([said], [], ())
        >>> days.gives(Day(2025, 6, 13)), days.gives(Day(2023, 6, 13))
        (True, False)
    """

    def __init__(self, texts: Sequence[DatedText], lasting: Iterable[Quantity], numbers: Collection[float]) -> None:
        self._texts = texts
        self._lasting = [one for one in lasting if one.unit in _UNIT_DAYS]
        self._numbers = numbers

    def gives(self, wanted: Day) -> bool:
        """Tell whether a date, as far as it is told, stands here or can be worked out."""
        return any(self._gives(one) for one in both_ways(wanted))

    def counts(self, value: float) -> bool:
        """Tell whether a number is the day of a month, or the year, of a day that is told or near."""
        return value in self._counted

    def _gives(self, wanted: Day) -> bool:
        return (
            any(self._agrees(wanted, told) for told in self._told)
            or any(_overlaps(wanted, one) for one in self._stretches)
            or any(_overlaps(wanted, one) for one in self._possible(wanted))
        )

    @cached_property
    def _told(self) -> list[Day]:
        return [one for text in self._texts for day in text.days for one in both_ways(day)]

    @cached_property
    def _counted(self) -> frozenset[float]:
        days = {float(one) for stretch in self._stretches for day in stretch for one in (day.day, day.year)}
        unread = (one.said_on.year for one in self._texts if one.said_on and not _IS_READ[one.text])
        return frozenset(days | {float(year + step) for year in unread for step in (-1, 0, 1)})

    @cached_property
    def _stretches(self) -> list[Stretch]:
        """Days on which something was said, what relative dates can mean, and what lies a stated time from these."""
        said = [(one.said_on, one.said_on) for one in self._texts if one.said_on]
        dated = (f"{one.said_on}{one.text}" for one in self._texts if one.said_on)
        relative = [stretch for one in dated for stretch in _RELATIVE[one]]
        full = [(day, day) for one in self._told if (day := _as_date(one)) is not None]
        bases = {day for stretch in (*said, *relative, *full) for day in stretch}
        moved = (
            stretch
            for lasting in self._lasting
            for value in lasting.values
            for base in bases
            for sign in (1, -1)
            for stretch in _moved(base, str(lasting.unit), sign * float(value))
        )
        return [*said, *relative, *full, *moved]

    def _agrees(self, wanted: Day, told: Day) -> bool:
        if wanted.month and told.month and wanted.month != told.month:
            return False
        # "Saturday 5 to Saturday 12 August", "at the end of August".
        is_counted = wanted.day in self._numbers or (told.day is None and wanted.day in _EDGES)
        if wanted.day and wanted.day != told.day and not is_counted:
            return False
        if not wanted.year or not told.year:
            return not wanted.year or self._is_near_year(wanted.year)
        return wanted.year == told.year

    def _is_near_year(self, year: int) -> bool:
        return year in self._numbers or any(one.said_on and abs(year - one.said_on.year) <= 1 for one in self._texts)

    def _possible(self, wanted: Day) -> Iterator[Stretch]:
        """Yield the days on which something may lie that somebody worked out: near the one on which it was said.

        A date that differs from one of the same text in its day or month alone is that one, misread.
        """
        around = _YEAR if wanted.day is None else _NEAR
        for one in self._texts:
            if one.said_on is not None and (wanted.day in one.counts or self._may_tell(wanted, one)):
                yield one.said_on - around, one.said_on + around

    def _may_tell(self, wanted: Day, one: DatedText) -> bool:
        if not one.in_talk and not _IS_RELATIVE[one.text]:
            return False
        return all(
            not _resembles(wanted, told) or self._is_counted_between(wanted, told)
            for day in one.days
            for told in both_ways(day)
        )

    def _is_counted_between(self, wanted: Day, told: Day) -> bool:
        """Tell whether the days between two dates of a month are a number that was told."""
        return wanted.month == told.month and abs((wanted.day or 0) - (told.day or 0)) in self._numbers


def both_ways(day: Day) -> tuple[Day, ...]:
    """Return what a date in slashes can mean.

    Example:
        >>> [one.month for one in both_ways(Day(raw="3/5/2025", year=2025))]
        [3, 5]
    """
    if not day.raw:
        return (day,)
    first, second, year = map(int, day.raw.split("/"))
    return (Day(year, first, second), Day(year, second, first))


def _is_read(text: str) -> bool:
    return language_of(text, "") != "" and OTHER_MARKS.search(text.casefold()) is None


def _is_relative(text: str) -> bool:
    """Tell whether a text may tell a date that has to be worked out."""
    return (
        not _IS_READ[text]
        or not _TIME_WORDS.isdisjoint(_LETTERS.findall(fold(text)))
        or bool(relative_dates(text, _ANY_DAY))
    )


def _relative(dated: str) -> list[Stretch]:
    """Return what the relative dates can mean of a text with its day before it."""
    day, text = date.fromisoformat(dated[: len("2001-01-01")]), dated[len("2001-01-01") :]
    return [_stretch(reading) for mention in relative_dates(text, day) for reading in mention.readings]


_RELATIVE: Final = TextCache(_relative, room=TEXT_ROOM)
_IS_READ: Final = TextCache(_is_read, room=TEXT_ROOM)
_IS_RELATIVE: Final = TextCache(_is_relative, room=TEXT_ROOM)


def _resembles(wanted: Day, told: Day) -> bool:
    if wanted.day is None or told.day is None:
        return wanted.day is None and told.day is None
    return (wanted.month == told.month) != (wanted.day == told.day)


def _stretch(reading: DateReading) -> Stretch:
    first = reading.begins.date()
    if isinstance(reading, Span):
        return first, reading.ends.date()
    return first, _last(reading, first)


def _last(reading: PartialDate, first: date) -> date:
    if reading.precision is Precision.YEAR:
        return date(first.year, 12, 31)
    return _month_end(first) if reading.precision is Precision.MONTH else first


def _month_end(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, 1) - timedelta(days=1)


def _as_date(day: Day) -> date | None:
    try:
        return date(day.year, day.month, day.day) if day.year and day.month and day.day else None
    except ValueError:  # a day that no calendar has
        return None


def _moved(base: date, unit: str, count: float) -> Iterator[Stretch]:
    try:
        if unit in {"day", "week"}:
            day = base + timedelta(days=count * _UNIT_DAYS[unit])
            yield day, day
            return
        months = base.year * 12 + base.month - 1 + round(count * (12 if unit == "year" else 1))
        first = date(months // 12, months % 12 + 1, 1)
        yield first, _month_end(first)
        if unit == "year":
            yield date(first.year, 1, 1), date(first.year, 12, 31)
    except (OverflowError, ValueError):  # beyond the calendar
        return


def _overlaps(wanted: Day, stretch: Stretch) -> bool:
    """Tell whether a date, as far as it is told, can lie among some days."""
    first, last = stretch
    return any(
        begin <= last and first <= end
        for year in ({wanted.year} if wanted.year else {first.year, last.year})
        for begin, end in _bounds(wanted, year)
    )


def _bounds(day: Day, year: int) -> Iterator[Stretch]:
    try:
        first = date(year, day.month or 1, day.day or 1)
        yield first, (first if day.day else _month_end(first) if day.month else date(year, 12, 31))
    except (OverflowError, ValueError):  # a day that no calendar has
        return
