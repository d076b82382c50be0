"""Times of day and weekdays in a text: equal times are equal values.

`2:00 PM`, `2 pm`, `14:00`, `14h`, `14h00`, `14 Uhr` and `下午2点` are the same time. `2:00` alone is two in the
morning: without a word for the half of the day it is not read as 14:00. Weekdays of ten languages are equal by day.
"""

from typing import Final

import regex

from agentcore.lexicon.language import language
from dream.guards.dates import SHORT_WEEKDAYS, WEEKDAYS
from dream.guards.detail import DetailKind, TextScan
from dream.guards.folding import fold
from dream.guards.lazy_pattern import lazy_pattern
from dream.guards.numbers import Quantity
from dream.guards.text_cache import WORD_ROOM, TextCache

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
    spans = []
    for match in _SPOKEN_WORD.finditer(scan.text):
        scan.add(DetailKind.TIME, *match.span(), _SPOKEN[match.group().casefold()] * 60)
        spans.append(match.span())
    scan.cover(spans)
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
    spans: list[tuple[int, int]] = []
    for match in () if scan.text.isascii() else _CJK_WEEKDAY.finditer(scan.text):
        number = _CHINESE_WEEKDAYS[match["zh"]] if match["zh"] else _JAPANESE_WEEKDAYS[match["ja"]]
        scan.add(DetailKind.WEEKDAY, *match.span(), number)
        spans.append(match.span())
    scan.cover(spans)
    if not any(map(_DAYS.__getitem__, _WEEKDAY_WORD.findall(scan.text))):
        return
    spans = []
    for match in _WEEKDAY_WORD.finditer(scan.text):
        number = _weekday(scan, match.group(), match.start())
        if number is not None:
            scan.add(DetailKind.WEEKDAY, *match.span(), number)
            spans.append(match.span())
    scan.cover(spans)


def _weekday(scan: TextScan, word: str, start: int) -> int | None:
    number = _DAYS[word]
    if number is None:
        return None
    if fold(word) in SHORT_WEEKDAYS:
        before = scan.text[max(0, start - 2) : start].rstrip(" ")
        return number if word[0].isupper() and before[-1:].isalpha() else None
    return number


def _day(word: str) -> int | None:
    folded = fold(word)
    return WEEKDAYS.get(folded) or WEEKDAYS.get(folded.removesuffix("s"))


_DAYS: Final = TextCache(_day, room=WORD_ROOM)
