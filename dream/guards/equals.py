"""Other forms of what a text says: of `14 h` the time 14:00, of `3:58` 238 minutes, of `half an hour` 30 minutes.

They back another text that has them, and are demanded of none.
"""

from datetime import date
from typing import Final, NamedTuple, cast

import regex

from dream.guards.dates import Day
from dream.guards.folding import fold
from dream.guards.late import late
from dream.guards.number_words import ONES, UNITS, WORDS
from dream.guards.numerals import CLOCK, Quantity, unit_named
from dream.guards.specific import Kind, Page, Specific

_NEXT: Final = {"h": "min", "hour": "min", "min": "s"}
_CLOCK = late(r"(?P<h>\d{1,2}):(?P<m>\d\d)(?::(?P<s>\d\d))?(?:\s?h)?")
_DIGITS = late(r"[1-9]\d?")
_FRENCH_CLOCK = late(r"(?P<h>\d{1,2})\s?h\s?(?P<m>\d\d)")
_AT: Final = (
    "before|after|at|by|until|till|from|around|to|past|vor|nach|um|ab|bis|gegen|von|avant|après|à|dès|vers|jusqu'à|de"
    "|las|às|as|das|les|alle|dalle|delle|le|voor|na|om|tot|vanaf|rond|hasta|até"
)
_HOUR = late(rf"(?<!\p{{L}})(?:{_AT})\s(?P<h>\d{{1,2}}|\p{{L}}+)(?![\p{{L}}\d]|[.,:/-]\d|\s?[:%°])", regex.IGNORECASE)
_FROM_TO = late(
    r"(?<![\d.,:/-])(?P<h>\d{1,2})\s?(?:to|till|until|-|–|bis|à|a|às|tot)\s?(?P<to>\d{1,2})(?!\d|[.,:/-]\d|\s?[%°])"
)
_PARTS: Final = {
    **dict.fromkeys(("quarter", "viertel", "kwart", "cuarto", "quarto", "quart"), 15),
    **dict.fromkeys(("half", "media", "meia", "mezza", "mezzo", "demie"), 30),
}
"""Minutes by what they are of an hour."""
_PAST = late(
    r"(?<!\p{L})"
    r"(?:(?P<m>\d{1,2}|\p{L}+)\s(?:minute[sn]?\s)?(?:past|nach|over|(?P<to>to|vor|voor))|(?P<to>halb|half))"
    r"\s(?P<h>\d{1,2}|\p{L}+)(?![\p{L}\d])"
    r"|(?<!\p{L})(?P<h>\d{1,2}|\p{L}+)\s(?:heures?\s|horas?\s|ore\s)?(?:y|e|et|(?P<to>menos|meno|moins))\s(?:le\s|un\s|um\s)?"
    r"(?P<m>\d{1,2}|\p{L}+)(?![\p{L}\d])",
    regex.IGNORECASE,
)
_EVENING = late(
    r"(?<!\p{L})(?:evening|night|tonight|afternoon|abends?|nachmittags?|nachts|(?:de|por) la (?:noche|tarde)|anoche"
    r"|du soir|de l'après-midi|da (?:noite|tarde)|di sera|del pomeriggio|'s avonds|'s middags|avond|middag)(?!\p{L})",
    regex.IGNORECASE,
)
_SET = late(rf"(?<!\p{{L}})(?:{_AT})\s$", regex.IGNORECASE)
_UNIT = "|".join(sorted((unit for unit in UNITS if unit.isalpha() and len(unit) > 2), key=len, reverse=True))
_HALF = r"(?:a half|half|demie?|medi[ao]|mei[ao]|mezz[ao])"
_AND = r"(?:and|und|et|y|e|en)"
_ONE = late(
    rf"(?<!\p{{L}}|half |of )(?:an?|one|eine[rn]?|einem|ein|une?|uma?|una|uno|un'|een|één)\s?"
    rf"(?P<unit>{_UNIT}|an)(?!\p{{L}})(?!\s{_AND}\s{_HALF})",
    regex.IGNORECASE,
)
_ONCE = late(
    r"(?<!\p{L})(?:one|once|first|einmal|erste[nrms]?|une fois|premi[eè]re?|una vez|primer[oa]?|uma vez|primeir[oa]"
    r"|una volta|prim[oa]|[eé][eé]n keer|eerste)(?!\p{L})",
    regex.IGNORECASE,
)
_AND_A_HALF = late(
    rf"(?<!\p{{L}})(?P<n>\d{{1,3}}|\p{{L}}+?)(?:\s|-|(?<=un)')"
    rf"(?:{_AND}[\s-]{_HALF}[\s-](?P<unit>{_UNIT})|(?P<unit>{_UNIT}|an)\s{_AND}\s{_HALF})(?!\p{{L}})",
    regex.IGNORECASE,
)
_OF_ONE: Final = (
    (
        30,
        r"half an hour|half-hour|demi-heure|demi heure|media hora|meia hora|mezz'ora|mezza ora|half uur|halben? stunde",
    ),
    (
        15,
        r"quarter of an hour|viertelstunde|quart d'heure|cuarto de hora|quarto de hora|quarto d'ora|kwartier",
    ),
    (45, r"three[\s-]quarters of an hour|dreiviertelstunde|trois quarts d'heure|tres cuartos de hora|tre quarti d'ora"),
)
_MINUTES: Final = tuple(
    (minutes, late(rf"(?<!\p{{L}})(?:{words})(?!\p{{L}})", regex.IGNORECASE)) for minutes, words in _OF_ONE
)
_HALF_YEAR = late(
    r"(?<!\p{L})(?:half a year|halbes jahr|halben jahr|medio año|meio ano|mezzo anno|half jaar)(?!\p{L})",
    regex.IGNORECASE,
)
_HALF_OF = late(
    r"(?<!\p{L})(?:half an?|half|halbe[snr]?|halve|demi[e-]?|medi[ao]|mei[ao]|mezz[ao])[\s-]?"
    rf"(?:(?P<dozen>dozen|dutzend|douzaine|docena|dúzia|dozzina|dozijn)|(?P<unit>{_UNIT}))(?!\p{{L}})",
    regex.IGNORECASE,
)
_DECADE = late(
    r"(?<![\p{L}\d])(?:'?(?P<tens>\d0)(?:s|er)|(?P<tens>\p{L}+(?:ties|zigern?|ßigern?))"
    r"|(?:années|años|anos|anni|jaren)\s'?(?P<tens>\d0|\p{L}+))(?![\p{L}\d])",
    regex.IGNORECASE,
)
_SHARES: Final = tuple(
    (share, late(rf"(?<!\p{{L}})(?:{words})(?!\p{{L}})", regex.IGNORECASE))
    for share, words in (
        ((1, 2), r"half|hälfte|moitié|mitad|metade|metà|helft"),
        ((1, 3), r"(?:a|one) third|ein drittel|un tiers|un tercio|um terço|un terzo|een derde"),
        ((2, 3), r"two[ -]thirds|zwei ?drittel|deux tiers|dos tercios|dois terços|due terzi|twee ?derden?"),
        ((1, 4), r"(?:a|one) quarter of|ein viertel|un quart d[eu]s?|una cuarta parte|un quarto d\p{L}+|een kwart van"),
        ((3, 4), r"three[ -]quarters|drei ?viertel|trois quarts|tres cuart[oa]s|três quartos|tre quarti|drie ?kwart"),
    )
)
"""Shares in words."""
_DECADES = late(
    r"(?<!\p{L})(?P<n>\d|\p{L}+)\s(?:decades?|jahrzehnte?n?|décennies?|décadas?|decenni[oa]?|decennia)(?!\p{L})",
    regex.IGNORECASE,
)
_TENS: Final = {fold(word)[:5]: n for words in WORDS.values() for word, n in words.items() if n in range(20, 100, 10)}
_DAY: Final = 24 * 60 * 60


def read_equals(page: Page) -> None:
    """Find the other forms of the numbers, dates and times of a page, once these are found."""
    _add_up(page)
    _ones(page)
    page.found.sort(key=lambda found: found[0])
    for start, item in page.found:
        if item.kind is Kind.TIME:
            _of_time(page, start, item)
        elif item.kind is Kind.DATE:
            _of_date(page, item)
        elif item.kind is Kind.NUMBER:
            _of_number(page, item)
    _hours(page)


def _of_time(page: Page, start: int, item: Specific) -> None:
    seconds = cast("int", item.key)
    if seconds % 3600 == 0:
        hour = seconds // 3600
        for one in {str(hour), *_DIGITS.findall(item.text)[:1]}:
            page.imply(Kind.NUMBER, item.text, Quantity((one,), CLOCK))
    lasted = _CLOCK.fullmatch(item.text) or _FRENCH_CLOCK.fullmatch(item.text)
    if lasted is None or _SET.search(page.original[max(0, start - 10) : start]):
        return
    first, second = int(lasted["h"]), int(lasted["m"])
    if ":" in item.text and lasted["s"]:
        page.imply(Kind.NUMBER, item.text, Quantity((str(first * 3600 + second * 60 + int(lasted["s"])),), "s"))
        return
    for small in ("min", "s") if ":" in item.text else ("min",):
        page.imply(Kind.NUMBER, item.text, Quantity((str(first * 60 + second),), small))


def _of_date(page: Page, item: Specific) -> None:
    day = cast("Day", item.key)
    if day.year and day.month and day.day:
        try:
            page.imply(Kind.WEEKDAY, item.text, date(day.year, day.month, day.day).isoweekday())
        except ValueError:
            return  # a day that no calendar has


def _of_number(page: Page, item: Specific) -> None:
    quantity = cast("Quantity", item.key)
    value = quantity.values[0]
    if quantity.unit == "h" and value.isdecimal() and len(value) <= 2 and int(value) <= 24:
        page.imply(Kind.TIME, item.text, int(value) % 24 * 3600)


class _Part(NamedTuple):
    start: int
    end: int
    quantity: Quantity
    found: tuple[int, Specific] | None


def _add_up(page: Page) -> None:
    """Read `3 hours 58 minutes` as one length of time, and note it as the clock writes it."""
    parts = [
        _Part(start, start + len(item.text), cast("Quantity", item.key), (start, item))
        for start, item in page.found
        if item.kind is Kind.NUMBER
    ]
    if any(part.quantity.unit in _NEXT.values() for part in parts):
        parts += [
            _Part(*match.span(), Quantity(("1",), unit_named(match["unit"])), None)
            for match in _ONE.finditer(page.original)
        ]
    before: _Part | None = None
    for part in sorted(parts, key=lambda part: part.start):
        whole = _sum(before, part, page.original[before.end : part.start]) if before else None
        if before is None or whole is None:
            before = part
            continue
        text = page.original[before.start : part.end]
        quantity = Quantity((str(whole),), part.quantity.unit)
        added = (before.start, Specific(Kind.NUMBER, text[:200], quantity))
        page.found = [found for found in page.found if found not in (before.found, part.found)]
        page.found.append(added)
        page.imply(Kind.TIME, text, whole * (60 if quantity.unit == "min" else 1) % _DAY)
        if quantity.unit == "s":
            page.imply(Kind.TIME, text, whole * 60 % _DAY)
        before = _Part(before.start, part.end, quantity, added)
    page.found.sort(key=lambda found: found[0])


def _sum(one: _Part, other: _Part, gap: str) -> int | None:
    large, small = one.quantity, other.quantity
    if large.unit not in _NEXT or _NEXT[large.unit] != small.unit or len(gap) > 5 or not _JOINS.fullmatch(gap):
        return None
    first, second = large.values[0], small.values[0]
    if not (first.isdecimal() and second.isdecimal() and len(first) < 5 and len(second) < 3):
        return None
    return int(first) * 60 + int(second) if int(second) < 60 else None


_JOINS = late(rf"[\s,]*(?:{_AND}\s)?", regex.IGNORECASE)


def _hours(page: Page) -> None:
    for match in _HOUR.finditer(page.original, overlapped=True):
        hour = _hour(match["h"], page.language)
        if hour is not None:
            for seconds in _on_clock(page, hour * 60):
                page.imply(Kind.TIME, match.group(), seconds)
    for match in _FROM_TO.finditer(page.original):
        first, last = int(match["h"]), int(match["to"])
        for hour in (first, last, last + 12 if last <= first <= 12 else last):
            if hour <= 24:
                page.imply(Kind.TIME, match.group(), hour % 24 * 3600)
    for match in _PAST.finditer(page.original, overlapped=True):
        hour, part = _hour(match["h"], page.language), (match["m"] or "half").casefold()
        minutes = int(part) if part.isdecimal() else _PARTS.get(part) or WORDS[page.language].get(part, 60)
        if hour is not None and minutes < 60:
            for seconds in _on_clock(page, hour * 60 + (-minutes if match["to"] else minutes)):
                page.imply(Kind.TIME, match.group(), seconds)


def _on_clock(page: Page, minutes: int) -> tuple[int, ...]:
    """Return the seconds since midnight that somebody may mean by a time of twelve hours."""
    is_late = minutes < 13 * 60 and _EVENING.search(page.original) is not None
    return tuple(one % 1440 * 60 for one in ((minutes, minutes + 720) if is_late else (minutes,)))


def _hour(said: str, language: str) -> int | None:
    named = {"midnight": 24, "noon": 12, "neun": 9, "neuf": 9, **ONES[language], **WORDS[language]}
    hour = int(said) if said.isdecimal() else named.get(said.casefold(), 99)
    return hour if hour <= 24 else None


def _ones(page: Page) -> None:
    for match in _ONE.finditer(page.original):
        unit = "year" if match["unit"] == "an" else unit_named(match["unit"])
        page.imply(Kind.NUMBER, match.group(), Quantity(("1",), unit))
    if _ONCE.search(page.original):
        page.imply(Kind.NUMBER, "1", Quantity(("1",), "times" if page.language != "en" else None))
    for match in _AND_A_HALF.finditer(page.original):
        said = match["n"].casefold()
        ones = {"a": 1, "an": 1, **ONES[page.language], **WORDS[page.language]}
        whole = int(said) if said.isdecimal() else ones.get(said)
        if whole is not None:
            unit = "year" if match["unit"] == "an" else unit_named(match["unit"])
            _take(page, match, Quantity((f"{whole}.5",), unit))
    for minutes, pattern in _MINUTES:
        for match in pattern.finditer(page.original):
            _take(page, match, Quantity((str(minutes),), "min"))
    if _HALF_YEAR.search(page.original):
        page.imply(Kind.NUMBER, "6", Quantity(("6",), "month"))
    _shares_and_decades(page)


def _shares_and_decades(page: Page) -> None:
    for match in _HALF_OF.finditer(page.original):
        if match["dozen"]:
            _take(page, match, Quantity(("6",)))
        else:
            page.imply(Kind.NUMBER, match.group(), Quantity(("0.5",), unit_named(match["unit"])))
    for (part, whole), pattern in _SHARES:
        for match in pattern.finditer(page.original):
            for number in (part, whole):
                page.imply(Kind.NUMBER, match.group(), Quantity((str(number),)))
            if 100 * part % whole == 0:
                page.imply(Kind.NUMBER, match.group(), Quantity((str(100 * part // whole),), "%"))
    for match in _DECADES.finditer(page.original):
        said = match["n"].casefold()
        many = int(said) if said.isdecimal() else WORDS[page.language].get(said, 1)
        page.imply(Kind.NUMBER, match.group(), Quantity((str(10 * many),), "year"))
    for match in _DECADE.finditer(page.original):
        said = fold(match["tens"])
        tens = int(said) if said.isdecimal() else _TENS.get(said[:5])
        if tens is not None:
            page.imply(Kind.NUMBER, match.group(), Quantity((str(1900 + tens),)))


def _take(page: Page, match: "regex.Match[str]", quantity: Quantity) -> None:
    """Read what a match covers as one number, in place of those that were found in it."""
    start, end = match.span()
    inside = [place for place, item in page.found if item.kind is Kind.NUMBER and start <= place < end]
    page.found = [found for found in page.found if found[1].kind is not Kind.NUMBER or found[0] not in inside]
    page.add(Kind.NUMBER, start, end, quantity)
