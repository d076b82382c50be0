"""Dates in a text, whatever their spelling: equal days are equal values.

Understood: `2025-05-01`, `2025/5/1`, `1 May 2025`, `May 1st, 2025`, `1. Mai 2025`, `1 de maio de 2025`,
`14.06.2025`, `3-5 May 2025`, `May 2025`, `2025-05`, `5月1日`, `2025年5月`, a month alone. A date in slashes
whose day and month could be exchanged (`01/05/2025`) is equal to itself alone: no reading of it is guessed.
"""

from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

import regex

from dream.guards import nth_weekdays
from dream.guards.calendar_words import AMBIGUOUS_MONTHS, MONTHS
from dream.guards.folding import fold
from dream.guards.late import late
from dream.guards.memo import WORDS, Memo
from dream.guards.specific import Kind, Page


class Day(NamedTuple):
    """A date as far as it was given; None is unknown. `raw` holds a date that has two readings, as written."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    raw: str = ""


# A month's name in any accent or case: longest first, so that `mar` does not cut `march` short.
_NAMES = "|".join(sorted({*MONTHS, "märz", "março", "février", "août", "décembre"}, key=len, reverse=True))
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
_LETTERS = late(r"\p{L}+")
_BEFORE_MONTH = late(
    r"(?<!\p{L})(?:in|since|until|till|by|from|of|to|before|after|during|through|last|next|this|every|late|early|mid"
    r"|em|de|desde|até|en|depuis|dès|avant|après|im|seit|bis|ab|vor|nach|mitte|anfang|ende|hasta|antes de|a|da|di|entro"
    r"|sinds|vanaf|tot)[\s-]+$",
    regex.IGNORECASE,
)


# These take longer to compile than a process that reads no text lives.
@cache
def _patterns() -> tuple["regex.Pattern[str]", ...]:
    return tuple(late(pattern, regex.IGNORECASE) for pattern in _DATES)


@cache
def _month() -> "regex.Pattern[str]":
    return late(_NAMES, regex.IGNORECASE)


@cache
def _alone() -> "regex.Pattern[str]":
    return late(rf"{_M}(?!\s*\d)", regex.IGNORECASE)


def read_dates(page: Page) -> None:
    """Find the dates of a page and cover them."""
    if page.has_digits:
        _nth_weekdays(page)
    for pattern in _patterns() if page.has_digits else ():
        spans: list[tuple[int, int]] = []
        for match in pattern.finditer(page.text):
            days = _days(match.groupdict())
            if days:
                spans.append(match.span())
            for day in days:
                page.add(Kind.DATE, *match.span(), day)
        page.cover(spans)
    _months_alone(page)


def _nth_weekdays(page: Page) -> None:
    """Find the days that are told by their place among the weekdays of a month of a year."""
    folded = nth_weekdays.folded_in_place(page.text)
    spans: list[tuple[int, int]] = []
    for match in nth_weekdays.pattern().finditer(folded):
        year, month = nth_weekdays.month_of(match)
        day = nth_weekdays.day_in(match, year, month) if year and month else None
        if day is not None:
            page.add(Kind.DATE, *match.span(), Day(day.year, day.month, day.day))
            spans.append(match.span())
    page.cover(spans)


def _is_month(letters: str) -> bool:
    return _month().fullmatch(letters) is not None


_IS_MONTH: Final = Memo(_is_month, room=WORDS)


def _months_alone(page: Page) -> None:
    if not any(map(_IS_MONTH.__getitem__, _LETTERS.findall(page.text))):
        return
    spans: list[tuple[int, int]] = []
    for match in _alone().finditer(page.text):
        name = match["m"]
        doubtful = fold(name) in AMBIGUOUS_MONTHS or len(name) <= 4
        if not doubtful or _BEFORE_MONTH.search(page.text[max(0, match.start() - 10) : match.start()]):
            page.add(Kind.DATE, *match.span(), Day(month=MONTHS[fold(name)]))
            spans.append(match.span())
    page.cover(spans)


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
