"""Days told by their place among the weekdays of a month: `the second Tuesday of April`, `il primo lunedì di mai`."""

from datetime import date, timedelta
from functools import cache
from typing import Final

import regex

from dream.guards.calendar_words import MONTHS, SHORT_WEEKDAYS, WEEKDAYS
from dream.guards.folding import fold
from dream.guards.late import late

_PLACES: Final = {
    word: place
    for place, words in {
        1: "first erste ersten erster premier premiere primer primero primeira primeiro primo prima eerste",
        2: "second zweite zweiten zweiter deuxieme seconde segundo segunda secondo seconda tweede",
        3: "third dritte dritten dritter troisieme tercer tercero terceira terceiro terzo terza derde",
        4: "fourth vierte vierten vierter quatrieme cuarto quarta quarto vierde",
        5: "fifth funfte funften funfter cinquieme quinto quinta vijfde",
        -1: "last letzte letzten letzter dernier derniere ultimo ultima laatste",
    }.items()
    for word in words.split()
}
_NEXT: Final = (
    "next month|nachsten monats|nachsten monat|mois prochain|proximo mes|mes que viene|mes que vem|mes proximo"
    "|prossimo mese|mese prossimo|volgende maand"
)
_THIS: Final = "this month|diesen monats|dieses monats|diesem monat|ce mois|este mes|deste mes|questo mese|deze maand"


@cache
def pattern() -> "regex.Pattern[str]":
    """Return what finds such a day in text that `folded_in_place` or `fold` has gone over; compiled once."""
    days = "|".join(sorted((name for name in WEEKDAYS if name not in SHORT_WEEKDAYS), key=len, reverse=True))
    months = "|".join(sorted(MONTHS, key=len, reverse=True))
    return late(
        rf"(?<![\p{{L}}\d])(?:(?P<place>{'|'.join(_PLACES)})|(?P<number>[1-5])(?:st|nd|rd|th|er|eme|e|\.|º|ª|o|a)?)\s+"
        rf"(?P<weekday>{days})(?:\s+(?:of|in|im|des|de|du|do|del|di|van|op)|\s+d'|\s+d’)?(?:\s+(?:the|de|la|le))?\s*"
        r"(?:(?:monats?|month of|mois de|mes de|mese di|maand)\s+)?"
        rf"(?:(?P<month>{months})(?:,?\s+(?:de\s+|of\s+|del\s+)?(?P<year>\d{{4}}))?|(?P<next>{_NEXT})|(?P<this>{_THIS}))"
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
        >>> day_in(pattern().search("the second tuesday of april"), 2026, 4)
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
