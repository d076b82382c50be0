"""Dates in a text, whatever their spelling: equal days are equal values.

Understood: `2025-05-01`, `2025/5/1`, `1 May 2025`, `May 1st, 2025`, `1. Mai 2025`, `1 de maio de 2025`,
`14.06.2025`, `3-5 May 2025`, `May 2025`, `2025-05`, `5月1日`, `2025年5月`, a month alone. A date in slashes
whose day and month could be exchanged (`01/05/2025`) is equal to itself alone: no reading of it is guessed.
"""

from datetime import date, timedelta
from functools import cache
from typing import Final, NamedTuple

import regex

from agentcore.lexicon.language import language, languages
from dream.guards.detail import DetailKind, TextScan
from dream.guards.folding import fold, folded_values, folded_words
from dream.guards.numbers import Quantity
from dream.guards.patterns import WORD_ROOM, TextCache, lazy_pattern

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


_HALF = r"(?P<half>[ap]\.?\s?m\b\.?)"
_BEFORE = r"(?:(?P<early>上午|早上|凌晨|午前|오전)|(?P<late>下午|晚上|午後|오후))?"
_EDGE = r"(?<![\d.,:])"
_PATTERNS: Final = tuple(
    lazy_pattern(pattern, regex.IGNORECASE)
    for pattern in (
        rf"{_EDGE}(?P<h>\d{{1,2}})(?:[:.h](?P<m>\d\d))?(?::(?P<s>\d\d))?\s?{_HALF}",
        rf"{_BEFORE}\s?(?<![\d.,:])(?P<h>\d{{1,2}}):(?P<m>\d\d)(?::(?P<s>\d\d))?(?![\d:])(?:\s?(?:Uhr|h)\b)?",
        rf"{_EDGE}(?P<h>\d{{1,2}})(?:\.(?P<m>\d\d))?\s?Uhr\b",
        rf"{_EDGE}(?P<h>\d{{1,2}})\s?h\s?(?P<m>\d\d)(?!\w)",
        rf"{_BEFORE}(?<!\d)(?P<h>\d{{1,2}})\s?[点點时時시](?!間|间)(?:\s?(?P<m>\d{{1,2}})\s?[分분]|(?P<thirty>半))?",
    )
)
_SHORT_HOUR = lazy_pattern(r"(?<![\d.,:])(?P<h>\d{1,2})h(?!\w)")
_SPOKEN: Final = {"noon": 720, "midday": 720, "midnight": 0, "meio-dia": 720, "mittag": 720, "mediodía": 720}
_SPOKEN_WORD = lazy_pattern(rf"(?<!\p{{L}})(?:{'|'.join(_SPOKEN)})(?!\p{{L}})", regex.IGNORECASE)
_WEEKDAY_WORD = lazy_pattern(r"\p{L}[\p{L}\p{M}]*(?:-feira)?")
_CHINESE_WEEKDAYS: Final = {sign: day for day, signs in language("zh").weekday_signs.items() for sign in signs}
_JAPANESE_WEEKDAYS: Final = {sign: day for day, signs in language("ja").weekday_signs.items() for sign in signs}
_CJK_WEEKDAY = lazy_pattern(r"(?:周|週|星期|礼拜)(?P<zh>[一二三四五六日天])|(?P<ja>[月火水木金土日])曜日?")


def read_times(scan: TextScan) -> None:
    """Find the times of day and the weekdays of a text and cover them."""
    patterns = _PATTERNS if scan.language in {"en", "nl"} else (*_PATTERNS, _SHORT_HOUR)
    for pattern in patterns if scan.has_digits else ():
        spans: list[tuple[int, int]] = []
        for match in pattern.finditer(scan.text):
            moment = _moment(match.groupdict())
            lasted = _lasted(match.groupdict()) if moment is None else None
            if moment is not None:
                scan.add(DetailKind.TIME, *match.span(), moment)
            elif lasted is not None:
                scan.add(DetailKind.NUMBER, *match.span(), lasted)
            if moment is not None or lasted is not None:
                spans.append(match.span())
        scan.cover(spans)
    scan.take(DetailKind.TIME, _SPOKEN_WORD, lambda match: _SPOKEN[match.group().casefold()] * 60)
    _read_weekdays(scan)


def _moment(part: dict[str, str | None]) -> int | None:
    """Seconds since midnight, or None for what no clock shows."""
    hour, minute, second = int(part["h"] or 0), int(part.get("m") or 0), int(part.get("s") or 0)
    half = (part.get("half") or "").casefold()[:1]
    if part.get("thirty"):
        minute = 30
    if half and not 1 <= hour <= 12:
        return None
    if half == "p" or part.get("late"):
        hour += 12 if hour < 12 else 0
    elif half == "a" or part.get("early"):
        hour %= 12
    return (hour % 24) * 3600 + minute * 60 + second if hour <= 24 and minute < 60 and second < 60 else None


def _lasted(part: dict[str, str | None]) -> Quantity | None:
    """Return how long `52:10` is, which no clock shows: in minutes and seconds, or in hours and minutes."""
    if part.get("half") or part.get("s") or not part.get("m") or int(part["m"] or 0) > 59:
        return None
    seconds = int(part["h"] or 0) * 60 + int(part["m"] or 0)
    return Quantity((str(seconds), str(seconds * 60)), "s")


def _read_weekdays(scan: TextScan) -> None:
    if not scan.text.isascii():
        scan.take(
            DetailKind.WEEKDAY,
            _CJK_WEEKDAY,
            lambda match: _CHINESE_WEEKDAYS[match["zh"]] if match["zh"] else _JAPANESE_WEEKDAYS[match["ja"]],
        )
    if any(map(_DAYS_OF_WEEK.__getitem__, _WEEKDAY_WORD.findall(scan.text))):
        scan.take(DetailKind.WEEKDAY, _WEEKDAY_WORD, lambda match: _weekday(scan, match.group(), match.start()))


def _weekday(scan: TextScan, word: str, start: int) -> int | None:
    number = _DAYS_OF_WEEK[word]
    if number is None:
        return None
    if fold(word) in SHORT_WEEKDAYS:
        before = scan.text[max(0, start - 2) : start].rstrip(" ")
        return number if word[0].isupper() and before[-1:].isalpha() else None
    return number


def _day(word: str) -> int | None:
    folded = fold(word)
    return WEEKDAYS.get(folded) or (WEEKDAYS.get(folded.removesuffix("s")) if len(folded) > len("thus") else None)


_DAYS_OF_WEEK: Final = TextCache(_day, room=WORD_ROOM)
