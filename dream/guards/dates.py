"""Dates in a text, whatever their spelling: equal days are equal values.

Understood: `2025-05-01`, `2025/5/1`, `1 May 2025`, `May 1st, 2025`, `1. Mai 2025`, `1 de maio de 2025`,
`14.06.2025`, `3-5 May 2025`, `May 2025`, `2025-05`, `5月1日`, `2025年5月`, a month alone. A date in slashes
whose day and month could be exchanged (`01/05/2025`) is equal to itself alone: no reading of it is guessed.
"""

from collections.abc import Iterable
from datetime import date, timedelta
from functools import cache
from typing import Final, NamedTuple

import regex

from agentcore.lexicon.language import languages
from dream.guards.detail import DetailKind, TextScan
from dream.guards.folding import fold, folded_values, folded_words
from dream.guards.lazy_pattern import lazy_pattern
from dream.guards.text_cache import WORD_ROOM, TextCache

MONTHS: Final = folded_values(lambda one: one.months)
"""Number of each month by name. Portuguese `out`, `set` and `ago` are left out: they are words of other languages."""
AMBIGUOUS_MONTHS: Final = frozenset(folded_words(lambda one: one.ambiguous_months))
"""Names that are a month only where a preposition or a capital inside a sentence says so."""
WEEKDAYS: Final = folded_values(lambda one: one.weekdays)
"""Number of each weekday by name, Monday first."""
SHORT_WEEKDAYS: Final = frozenset(folded_words(lambda one: one.short_weekdays))
"""Names that are ordinary words at the start of a sentence."""
_PLACES: Final = folded_values(lambda one: one.places)
_NEXT_MONTH: Final = "|".join(folded_words(lambda one: one.next_month))
_THIS_MONTH: Final = "|".join(folded_words(lambda one: one.this_month))


@cache
def nth_weekday_pattern() -> "regex.Pattern[str]":
    """Return what finds such a day in text that `folded_in_place` or `fold` has gone over; compiled once."""
    days = "|".join(sorted((name for name in WEEKDAYS if name not in SHORT_WEEKDAYS), key=len, reverse=True))
    months = "|".join(sorted(MONTHS, key=len, reverse=True))
    return lazy_pattern(
        rf"(?<![\p{{L}}\d])(?:(?P<place>{'|'.join(_PLACES)})|(?P<number>[1-5])(?:st|nd|rd|th|er|eme|e|\.|º|ª|o|a)?)\s+"
        rf"(?P<weekday>{days})(?:\s+(?:of|in|im|des|de|du|do|del|di|van|op)|\s+d'|\s+d’)?(?:\s+(?:the|de|la|le))?\s*"
        r"(?:(?:monats?|month of|mois de|mes de|mese di|maand)\s+)?"
        rf"(?:(?P<month>{months})(?:,?\s+(?:de\s+|of\s+|del\s+)?(?P<year>\d{{4}}))?|(?P<next>{_NEXT_MONTH})|(?P<this>{_THIS_MONTH}))"
        r"(?![\p{L}\d])",
        regex.IGNORECASE,
    )


def folded_in_place(text: str) -> str:
    """Return text folded character by character: places stay the same."""
    if text.isascii():
        return text.casefold()
    return "".join(folded if len(folded := fold(character)) == 1 else character for character in text)


def month_of(match: "regex.Match[str]", said_on: date | None = None) -> tuple[int | None, int | None]:
    """Return the year and the month that a match tells, None for what it leaves open."""
    if match["month"]:
        return int(match["year"]) if match["year"] else None, MONTHS[match["month"]]
    if said_on is None:
        return None, None
    months = said_on.year * 12 + said_on.month - 1 + (1 if match["next"] else 0)
    return months // 12, months % 12 + 1


def day_in(match: "regex.Match[str]", year: int, month: int) -> date | None:
    """Return the day that a match tells in a month; None if that has no fifth one.

    Example:
        >>> day_in(nth_weekday_pattern().search("the second tuesday of april"), 2026, 4)
        datetime.date(2026, 4, 14)
    """
    place = int(match["number"]) if match["number"] else _PLACES[match["place"]]
    weekday = WEEKDAYS[match["weekday"]]
    first = date(year, month, 1)
    if place > 0:
        day = first + timedelta(days=(weekday - first.isoweekday()) % 7 + 7 * (place - 1))
        return day if day.month == month else None
    after = date(year + month // 12, month % 12 + 1, 1)
    return after - timedelta(days=(after.isoweekday() - weekday - 1) % 7 + 1)


class Day(NamedTuple):
    """A date as far as it was given; None is unknown. `raw` holds a date that has two readings, as written."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    raw: str = ""


# A month's name in any accent or case: longest first, so that `mar` does not cut `march` short.
_SPELLED = (name for one in languages() for names in one.months.values() for name in names)
_NAMES = "|".join(sorted({*MONTHS, *_SPELLED}, key=len, reverse=True))
_M = rf"(?<![\p{{L}}\d])(?P<m>{_NAMES})(?!\p{{L}})\.?"
_ORDINAL = r"(?:st|nd|rd|th|er|º|ª|°|\.)?"
_LINK = r"(?:\s*(?:of|de|del|d')(?=\s))?"
_TO = r"\s*(?:-|–|to|a|bis|al|au|até|e|y|et|und|and)\s*"
_YEAR = r"(?P<y>\d{4})(?!\d)"
_NOT_DIGIT = r"(?<![\d.,:/-])"

_DAYS = rf"{_NOT_DIGIT}(?:(?P<d0>\d{{1,2}}){_ORDINAL}{_TO})?(?P<d>\d{{1,2}}){_ORDINAL}"
_DATES: Final = (
    rf"{_NOT_DIGIT}(?P<y>\d{{4}})(?P<cut>[-/.])(?P<mm>\d{{1,2}})(?P=cut)(?P<d>\d{{1,2}})(?!\d)",
    r"(?P<y>\d{4})\s?[年년]\s?(?P<mm>\d{1,2})\s?[月월](?:\s?(?P<d>\d{1,2})\s?[日号號일])?",
    r"(?<!\d)(?P<mm>\d{1,2})\s?[月월]\s?(?P<d>\d{1,2})\s?[日号號일]",
    rf"{_DAYS}{_LINK}\s*{_M}(?:{_LINK},?\s*{_YEAR})?",
    rf"{_M}\s+(?P<d>\d{{1,2}}){_ORDINAL}(?:\s*[-–]\s*(?P<d0>\d{{1,2}}){_ORDINAL})?(?![\d:])(?:,?\s+{_YEAR})?",
    rf"{_M}{_LINK},?\s*{_YEAR}",
    rf"{_NOT_DIGIT}(?P<a>\d{{1,2}})(?P<sep>[/.-])(?P<b>\d{{1,2}})(?P=sep){_YEAR}",
    rf"{_NOT_DIGIT}(?P<y>\d{{4}})-(?P<mm>0[1-9]|1[0-2])(?![\d-])",
    r"(?<=\b(?:am|vom|zum|bis|seit|ab|den|der|dem|von)\s)(?P<d>\d{1,2})\.(?P<mm>\d{1,2})\.(?!\d)",
)
_LETTERS = lazy_pattern(r"\p{L}+")
_BEFORE_MONTH = lazy_pattern(
    r"(?<!\p{L})(?:in|since|until|till|by|from|of|to|before|after|during|through|last|next|this|every|late|early|mid"
    r"|em|de|desde|até|en|depuis|dès|avant|après|im|seit|bis|ab|vor|nach|mitte|anfang|ende|hasta|antes de|a|da|di|entro"
    r"|sinds|vanaf|tot)[\s-]+$",
    regex.IGNORECASE,
)


# These take longer to compile than a process that reads no text lives.
@cache
def _patterns() -> tuple["regex.Pattern[str]", ...]:
    return tuple(lazy_pattern(pattern, regex.IGNORECASE) for pattern in _DATES)


@cache
def _month() -> "regex.Pattern[str]":
    return lazy_pattern(_NAMES, regex.IGNORECASE)


@cache
def _alone() -> "regex.Pattern[str]":
    return lazy_pattern(rf"{_M}(?!\s*\d)", regex.IGNORECASE)


def read_dates(scan: TextScan) -> None:
    """Find the dates of a text and cover them."""
    if scan.has_digits:
        _nth_weekdays(scan)
    for pattern in _patterns() if scan.has_digits else ():
        spans: list[tuple[int, int]] = []
        for match in pattern.finditer(scan.text):
            days = _days(match.groupdict())
            if days:
                spans.append(match.span())
            for day in days:
                scan.add(DetailKind.DATE, *match.span(), day)
        scan.cover(spans)
    _months_alone(scan)


def _nth_weekdays(scan: TextScan) -> None:
    """Find the days that are told by their place among the weekdays of a month of a year."""
    folded = folded_in_place(scan.text)
    spans: list[tuple[int, int]] = []
    for match in nth_weekday_pattern().finditer(folded):
        year, month = month_of(match)
        day = day_in(match, year, month) if year and month else None
        if day is not None:
            scan.add(DetailKind.DATE, *match.span(), Day(day.year, day.month, day.day))
            spans.append(match.span())
    scan.cover(spans)


def _is_month(letters: str) -> bool:
    return _month().fullmatch(letters) is not None


_IS_MONTH: Final = TextCache(_is_month, room=WORD_ROOM)


def _months_alone(scan: TextScan) -> None:
    if not any(map(_IS_MONTH.__getitem__, _LETTERS.findall(scan.text))):
        return
    spans: list[tuple[int, int]] = []
    for match in _alone().finditer(scan.text):
        name = match["m"]
        doubtful = fold(name) in AMBIGUOUS_MONTHS or len(name) <= 4
        if not doubtful or _BEFORE_MONTH.search(scan.text[max(0, match.start() - 10) : match.start()]):
            scan.add(DetailKind.DATE, *match.span(), Day(month=MONTHS[fold(name)]))
            spans.append(match.span())
    scan.cover(spans)


def _days(part: dict[str, str | None]) -> list[Day]:
    if part.get("a"):
        return _numeric(part)
    year, name, number = part.get("y"), part.get("m"), part.get("mm")
    month = MONTHS[fold(name)] if name else int(number or 0)
    days = [int(day) for day in (part.get("d0"), part.get("d")) if day] or [None]
    if not 1 <= month <= 12 or any(day is not None and not 1 <= day <= 31 for day in days):
        return []
    return [Day(int(year) if year else None, month, day) for day in days]


def _numeric(part: dict[str, str | None]) -> list[Day]:
    first, second, year = int(part["a"] or 0), int(part["b"] or 0), int(part["y"] or 0)
    if not (1 <= min(first, second) <= 12 and max(first, second) <= 31):
        return []
    # A full stop between the parts is the spelling of countries that write the day first.
    if second <= 12 and (part["sep"] == "." or first > 12 or first == second):
        return [Day(year, second, first)]
    return [Day(year, first, second)] if second > 12 else [Day(raw=f"{first}/{second}/{year}", year=year)]


class Days:
    """The dates of a text, ready to be asked for: as they are, less exactly, or in two parts.

    Args:
        given: Them.
        years: Numbers of the same text: `15 March` and `2024` together hold 15 March 2024.

    Example:
        >>> Day(2024, 3) in Days([Day(2024, 3, 15)]), Day(2024, 3, 15) in Days([Day(2024, 3)])
        (True, False)
        >>> Day(2024, 3, 15) in Days([Day(month=3, day=15)], years={"2024"})
        True
    """

    __slots__ = ("_held", "_without_year", "_years")

    def __init__(self, given: Iterable[Day], years: Iterable[str] = ()) -> None:
        days = frozenset(given)
        self._years = frozenset(years)
        self._held = {part for day in days for part in _coarser(day)}
        self._without_year = {part for day in days if day.year is None for part in _coarser(day)}

    def __contains__(self, wanted: Day) -> bool:
        """Tell whether a date stands here."""
        if wanted in self._held:
            return True
        return not wanted.raw and str(wanted.year) in self._years and wanted._replace(year=None) in self._without_year


def _coarser(day: Day) -> tuple[Day, ...]:
    """Return a date and what it says less exactly."""
    if day.raw:
        return (day,)
    month = day._replace(day=None)
    return (day, month, day._replace(year=None), month._replace(year=None))
