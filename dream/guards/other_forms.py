"""Other forms of what a text says: of `14 h` the time 14:00, of `3:58` 238 minutes, of `half an hour` 30 minutes.

They back another text that has them, and are demanded of none.
"""

from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import regex

from dream.guards.detail import Detail, DetailKind, TextScan
from dream.guards.folding import fold
from dream.guards.number_words import ONES, UNITS, WORDS
from dream.guards.numbers import CLOCK, Quantity, unit_named
from dream.guards.patterns import lazy_pattern

if TYPE_CHECKING:
    from dream.guards.dates import Day

_NEXT: Final = {"h": "min", "hour": "min", "min": "s"}
_CLOCK = lazy_pattern(r"(?P<h>\d{1,2}):(?P<m>\d\d)(?::(?P<s>\d\d))?(?:\s?h)?")
_DIGITS = lazy_pattern(r"[1-9]\d?")
_FRENCH_CLOCK = lazy_pattern(r"(?P<h>\d{1,2})\s?h\s?(?P<m>\d\d)")
_AT: Final = (
    "before|after|at|by|until|till|from|around|to|past|vor|nach|um|ab|bis|gegen|von|avant|après|à|dès|vers|jusqu'à|de"
    "|las|às|as|das|les|alle|dalle|delle|le|voor|na|om|tot|vanaf|rond|hasta|até"
)
_HOUR = lazy_pattern(
    rf"(?<!\p{{L}})(?:{_AT})\s(?P<h>\d{{1,2}}|\p{{L}}+)(?![\p{{L}}\d]|[.,:/-]\d|\s?[:%°])", regex.IGNORECASE
)
_FROM_TO = lazy_pattern(
    r"(?<![\d.,:/-])(?P<h>\d{1,2})\s?(?:to|till|until|-|–|bis|à|a|às|tot)\s?(?P<to>\d{1,2})(?!\d|[.,:/-]\d|\s?[%°])"
)
_PARTS: Final = {
    **dict.fromkeys(("quarter", "viertel", "kwart", "cuarto", "quarto", "quart"), 15),
    **dict.fromkeys(("half", "media", "meia", "mezza", "mezzo", "demie"), 30),
}
"""Minutes by what they are of an hour."""
_PAST = lazy_pattern(
    r"(?<!\p{L})"
    r"(?:(?P<m>\d{1,2}|\p{L}+)\s(?:minute[sn]?\s)?(?:past|nach|over|(?P<to>to|vor|voor))|(?P<to>halb|half))"
    r"\s(?P<h>\d{1,2}|\p{L}+)(?![\p{L}\d])"
    r"|(?<!\p{L})(?P<h>\d{1,2}|\p{L}+)\s(?:heures?\s|horas?\s|ore\s)?(?:y|e|et|(?P<to>menos|meno|moins))\s(?:le\s|un\s|um\s)?"
    r"(?P<m>\d{1,2}|\p{L}+)(?![\p{L}\d])",
    regex.IGNORECASE,
)
_EVENING = lazy_pattern(
    r"(?<!\p{L})(?:evening|night|tonight|afternoon|abends?|nachmittags?|nachts|(?:de|por) la (?:noche|tarde)|anoche"
    r"|du soir|de l'après-midi|da (?:noite|tarde)|di sera|del pomeriggio|'s avonds|'s middags|avond|middag)(?!\p{L})",
    regex.IGNORECASE,
)
_SET = lazy_pattern(rf"(?<!\p{{L}})(?:{_AT})\s$", regex.IGNORECASE)
_UNIT = "|".join(sorted((unit for unit in UNITS if unit.isalpha() and len(unit) > 2), key=len, reverse=True))
_HALF = r"(?:a half|half|demie?|medi[ao]|mei[ao]|mezz[ao])"
_AND = r"(?:and|und|et|y|e|en)"
_ONE = lazy_pattern(
    rf"(?<!\p{{L}}|half |of )(?:an?|one|eine[rn]?|einem|ein|une?|uma?|una|uno|un'|een|één)\s?"
    rf"(?P<unit>{_UNIT}|an)(?!\p{{L}})(?!\s{_AND}\s{_HALF})",
    regex.IGNORECASE,
)
_ONCE = lazy_pattern(
    r"(?<!\p{L})(?:one|once|first|einmal|erste[nrms]?|une fois|premi[eè]re?|una vez|primer[oa]?|uma vez|primeir[oa]"
    r"|una volta|prim[oa]|[eé][eé]n keer|eerste)(?!\p{L})",
    regex.IGNORECASE,
)
_AND_A_HALF = lazy_pattern(
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
    (minutes, lazy_pattern(rf"(?<!\p{{L}})(?:{words})(?!\p{{L}})", regex.IGNORECASE)) for minutes, words in _OF_ONE
)
_HALF_YEAR = lazy_pattern(
    r"(?<!\p{L})(?:half a year|halbes jahr|halben jahr|medio año|meio ano|mezzo anno|half jaar)(?!\p{L})",
    regex.IGNORECASE,
)
_HALF_OF = lazy_pattern(
    r"(?<!\p{L})(?:half an?|half|halbe[snr]?|halve|demi[e-]?|medi[ao]|mei[ao]|mezz[ao])[\s-]?"
    rf"(?:(?P<dozen>dozen|dutzend|douzaine|docena|dúzia|dozzina|dozijn)|(?P<unit>{_UNIT}))(?!\p{{L}})",
    regex.IGNORECASE,
)
_DECADE = lazy_pattern(
    r"(?<![\p{L}\d])(?:'?(?P<tens>\d0)(?:s|er)|(?P<tens>\p{L}+(?:ties|zigern?|ßigern?))"
    r"|(?:années|años|anos|anni|jaren)\s'?(?P<tens>\d0|\p{L}+))(?![\p{L}\d])",
    regex.IGNORECASE,
)
_SHARES: Final = tuple(
    (share, lazy_pattern(rf"(?<!\p{{L}})(?:{words})(?!\p{{L}})", regex.IGNORECASE))
    for share, words in (
        ((1, 2), r"half|hälfte|moitié|mitad|metade|metà|helft"),
        ((1, 3), r"(?:a|one) third|ein drittel|un tiers|un tercio|um terço|un terzo|een derde"),
        ((2, 3), r"two[ -]thirds|zwei ?drittel|deux tiers|dos tercios|dois terços|due terzi|twee ?derden?"),
        ((1, 4), r"(?:a|one) quarter of|ein viertel|un quart d[eu]s?|una cuarta parte|un quarto d\p{L}+|een kwart van"),
        ((3, 4), r"three[ -]quarters|drei ?viertel|trois quarts|tres cuart[oa]s|três quartos|tre quarti|drie ?kwart"),
    )
)
"""Shares in words."""
_DECADES = lazy_pattern(
    r"(?<!\p{L})(?P<n>\d|\p{L}+)\s(?:decades?|jahrzehnte?n?|décennies?|décadas?|decenni[oa]?|decennia)(?!\p{L})",
    regex.IGNORECASE,
)
_TENS: Final = {fold(word)[:5]: n for words in WORDS.values() for word, n in words.items() if n in range(20, 100, 10)}
_DAY: Final = 24 * 60 * 60


def read_other_forms(scan: TextScan) -> None:
    """Find the other forms of the numbers, dates and times of a text, once these are found."""
    _add_up(scan)
    _ones(scan)
    scan.found.sort(key=lambda found: found[0])
    for start, item in scan.found:
        if item.kind is DetailKind.TIME:
            _of_time(scan, start, item)
        elif item.kind is DetailKind.DATE:
            _of_date(scan, item)
        elif item.kind is DetailKind.NUMBER:
            _of_number(scan, item)
    _hours(scan)


def _of_time(scan: TextScan, start: int, item: Detail) -> None:
    seconds = cast("int", item.key)
    if seconds % 3600 == 0:
        hour = seconds // 3600
        for one in {str(hour), *_DIGITS.findall(item.text)[:1]}:
            scan.imply(DetailKind.NUMBER, item.text, Quantity((one,), CLOCK))
    lasted = _CLOCK.fullmatch(item.text) or _FRENCH_CLOCK.fullmatch(item.text)
    if lasted is None or _SET.search(scan.original[max(0, start - 10) : start]):
        return
    first, second = int(lasted["h"]), int(lasted["m"])
    if ":" in item.text and lasted["s"]:
        scan.imply(DetailKind.NUMBER, item.text, Quantity((str(first * 3600 + second * 60 + int(lasted["s"])),), "s"))
        return
    for small in ("min", "s") if ":" in item.text else ("min",):
        scan.imply(DetailKind.NUMBER, item.text, Quantity((str(first * 60 + second),), small))


def _of_date(scan: TextScan, item: Detail) -> None:
    day = cast("Day", item.key)
    if day.year and day.month and day.day:
        try:
            scan.imply(DetailKind.WEEKDAY, item.text, date(day.year, day.month, day.day).isoweekday())
        except ValueError:
            return  # a day that no calendar has


def _of_number(scan: TextScan, item: Detail) -> None:
    quantity = cast("Quantity", item.key)
    value = quantity.values[0]
    if quantity.unit == "h" and value.isdecimal() and len(value) <= 2 and int(value) <= 24:
        scan.imply(DetailKind.TIME, item.text, int(value) % 24 * 3600)


class _NumberPart(NamedTuple):
    start: int
    end: int
    quantity: Quantity
    found: tuple[int, Detail] | None


def _add_up(scan: TextScan) -> None:
    """Read `3 hours 58 minutes` as one length of time, and note it as the clock writes it."""
    parts = [
        _NumberPart(start, start + len(item.text), cast("Quantity", item.key), (start, item))
        for start, item in scan.found
        if item.kind is DetailKind.NUMBER
    ]
    if any(part.quantity.unit in _NEXT.values() for part in parts):
        parts += [
            _NumberPart(*match.span(), Quantity(("1",), unit_named(match["unit"])), None)
            for match in _ONE.finditer(scan.original)
        ]
    before: _NumberPart | None = None
    for part in sorted(parts, key=lambda part: part.start):
        whole = _sum(before, part, scan.original[before.end : part.start]) if before else None
        if before is None or whole is None:
            before = part
            continue
        text = scan.original[before.start : part.end]
        quantity = Quantity((str(whole),), part.quantity.unit)
        added = (before.start, Detail(DetailKind.NUMBER, text[:200], quantity))
        scan.found = [found for found in scan.found if found not in (before.found, part.found)]
        scan.found.append(added)
        scan.imply(DetailKind.TIME, text, whole * (60 if quantity.unit == "min" else 1) % _DAY)
        if quantity.unit == "s":
            scan.imply(DetailKind.TIME, text, whole * 60 % _DAY)
        before = _NumberPart(before.start, part.end, quantity, added)
    scan.found.sort(key=lambda found: found[0])


def _sum(one: _NumberPart, other: _NumberPart, gap: str) -> int | None:
    large, small = one.quantity, other.quantity
    if large.unit not in _NEXT or _NEXT[large.unit] != small.unit or len(gap) > 5 or not _JOINS.fullmatch(gap):
        return None
    first, second = large.values[0], small.values[0]
    if not (first.isdecimal() and second.isdecimal() and len(first) < 5 and len(second) < 3):
        return None
    return int(first) * 60 + int(second) if int(second) < 60 else None


_JOINS = lazy_pattern(rf"[\s,]*(?:{_AND}\s)?", regex.IGNORECASE)


def _hours(scan: TextScan) -> None:
    for match in _HOUR.finditer(scan.original, overlapped=True):
        hour = _hour(match["h"], scan.language)
        if hour is not None:
            for seconds in _on_clock(scan, hour * 60):
                scan.imply(DetailKind.TIME, match.group(), seconds)
    for match in _FROM_TO.finditer(scan.original):
        first, last = int(match["h"]), int(match["to"])
        for hour in (first, last, last + 12 if last <= first <= 12 else last):
            if hour <= 24:
                scan.imply(DetailKind.TIME, match.group(), hour % 24 * 3600)
    for match in _PAST.finditer(scan.original, overlapped=True):
        hour, part = _hour(match["h"], scan.language), (match["m"] or "half").casefold()
        minutes = int(part) if part.isdecimal() else _PARTS.get(part) or WORDS[scan.language].get(part, 60)
        if hour is not None and minutes < 60:
            for seconds in _on_clock(scan, hour * 60 + (-minutes if match["to"] else minutes)):
                scan.imply(DetailKind.TIME, match.group(), seconds)


def _on_clock(scan: TextScan, minutes: int) -> tuple[int, ...]:
    """Return the seconds since midnight that somebody may mean by a time of twelve hours."""
    is_late = minutes < 13 * 60 and _EVENING.search(scan.original) is not None
    return tuple(one % 1440 * 60 for one in ((minutes, minutes + 720) if is_late else (minutes,)))


def _hour(said: str, language: str) -> int | None:
    named = {"midnight": 24, "noon": 12, "neun": 9, "neuf": 9, **ONES[language], **WORDS[language]}
    hour = int(said) if said.isdecimal() else named.get(said.casefold(), 99)
    return hour if hour <= 24 else None


def _ones(scan: TextScan) -> None:
    for match in _ONE.finditer(scan.original):
        unit = "year" if match["unit"] == "an" else unit_named(match["unit"])
        scan.imply(DetailKind.NUMBER, match.group(), Quantity(("1",), unit))
    if _ONCE.search(scan.original):
        scan.imply(DetailKind.NUMBER, "1", Quantity(("1",), "times" if scan.language != "en" else None))
    for match in _AND_A_HALF.finditer(scan.original):
        said = match["n"].casefold()
        ones = {"a": 1, "an": 1, **ONES[scan.language], **WORDS[scan.language]}
        whole = int(said) if said.isdecimal() else ones.get(said)
        if whole is not None:
            unit = "year" if match["unit"] == "an" else unit_named(match["unit"])
            _take(scan, match, Quantity((f"{whole}.5",), unit))
    for minutes, pattern in _MINUTES:
        for match in pattern.finditer(scan.original):
            _take(scan, match, Quantity((str(minutes),), "min"))
    if _HALF_YEAR.search(scan.original):
        scan.imply(DetailKind.NUMBER, "6", Quantity(("6",), "month"))
    _shares_and_decades(scan)


def _shares_and_decades(scan: TextScan) -> None:
    for match in _HALF_OF.finditer(scan.original):
        if match["dozen"]:
            _take(scan, match, Quantity(("6",)))
        else:
            scan.imply(DetailKind.NUMBER, match.group(), Quantity(("0.5",), unit_named(match["unit"])))
    for (part, whole), pattern in _SHARES:
        for match in pattern.finditer(scan.original):
            for number in (part, whole):
                scan.imply(DetailKind.NUMBER, match.group(), Quantity((str(number),)))
            if 100 * part % whole == 0:
                scan.imply(DetailKind.NUMBER, match.group(), Quantity((str(100 * part // whole),), "%"))
    for match in _DECADES.finditer(scan.original):
        said = match["n"].casefold()
        many = int(said) if said.isdecimal() else WORDS[scan.language].get(said, 1)
        scan.imply(DetailKind.NUMBER, match.group(), Quantity((str(10 * many),), "year"))
    for match in _DECADE.finditer(scan.original):
        said = fold(match["tens"])
        tens = int(said) if said.isdecimal() else _TENS.get(said[:5])
        if tens is not None:
            scan.imply(DetailKind.NUMBER, match.group(), Quantity((str(1900 + tens),)))


def _take(scan: TextScan, match: "regex.Match[str]", quantity: Quantity) -> None:
    """Read what a match covers as one number, in place of those that were found in it."""
    start, end = match.span()
    inside = [place for place, item in scan.found if item.kind is DetailKind.NUMBER and start <= place < end]
    scan.found = [found for found in scan.found if found[1].kind is not DetailKind.NUMBER or found[0] not in inside]
    scan.add(DetailKind.NUMBER, start, end, quantity)
