"""All numbers that a text can be read to count: in digits of each reading, in words of every language, in parts.

Generous on purpose: it tells what a number of another text may come from, and no more.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from agentcore.lexicon.language import languages
from dream.guards.folding import fold
from dream.guards.languages import language_of
from dream.guards.numbers import spoken_numbers
from dream.guards.patterns import TEXT_ROOM, WORD_ROOM, TextCache, lazy_pattern

MOST_DIGITS: Final = 15
"""A longer number is compared by its letters alone."""

_DIGITS = lazy_pattern(r"\d+(?:[.,'\u00a0\u202f ]\d+)*")
_GROUPS = lazy_pattern(r"[.,'\u00a0\u202f ]")
_LETTERS = lazy_pattern(r"[\p{L}\p{M}]+")
_HAN_NUMBER = lazy_pattern(r"[〇零一二两兩三四五六七八九十百千万萬億亿]+")
_HAN_DIGITS: Final = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_HAN_GREAT: Final = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "萬": 10_000, "億": 10**8, "亿": 10**8}
_MYRIAD: Final = 10_000
_HALF = lazy_pattern(
    r"(?<!\p{L})(?:half|halb|halv|demi|medi[ao]|mei[ao]|mezz|pół|pol|połow|półtor|пол|yarı|buçuk|نصف)|半"
)
_QUARTER = lazy_pattern(
    r"(?<!\p{L})(?:quart|kwart|cuart|trimest|viertel|ćwier|kwarta|четверт|квартал|çeyrek|ربع)|[季刻]"
)
_MARK = lazy_pattern(r"(?<![\p{L}\d.,:-])(?<n>\d{1,2})[.):、]\s*(?=[^\s\d])|(?m:^)\s*(?<n>\d{1,2})[.):、]?\s+")
_LEAST_ITEMS: Final = 2
_TEN, _HUNDRED, _THOUSAND = 10, 100, 1_000
_SHORTEST_STEM: Final = 3
_ARABIC = lazy_pattern(r"[\u0600-\u06ff]")
_ARABIC_PREFIX = lazy_pattern(r"^[وف]?(?:ال|لل|[بلك](?:ال)?)?(?=\p{L}{2})")


def _by_word() -> dict[str, int]:
    found: dict[str, int] = {}
    for one in languages():
        for table in (one.numbers, one.ones, one.great_numbers, one.counts):
            found |= {fold(word): value for value, words in table.items() for word in words}
    return found


_WORDS: Final = _by_word()
_STEMS: Final = {
    fold(stem): value for one in languages() for value, stems in one.number_stems.items() for stem in stems
}


def without_marks(text: str) -> str:
    """Return a text without the numbers of its lists.

    Example:
        >>> without_marks("1. Heat 2 eggs. 2. Stir 3 minutes.")
        'Heat 2 eggs. Stir 3 minutes.'
    """
    pieces: list[str] = []
    done, awaited = 0, 1
    for match in _MARK.finditer(text):
        if int(match["n"]) == awaited:
            pieces.append(text[done : match.start()])
            done, awaited = match.end(), awaited + 1
    return "".join((*pieces, text[done:])) if awaited > _LEAST_ITEMS else text


def counts_in(text: str) -> frozenset[float]:
    """Return all that a text can be read to count, with four decimals.

    Example:
        >>> sorted(counts_in("1.500 euros, dwadzieścia pięć"))
        [1.0, 1.5, 5.0, 20.0, 25.0, 500.0, 1500.0]
    """
    return _COUNTS[text]


def _counts(text: str) -> frozenset[float]:
    found = {round(float(number), 4) for number in _numbers(text)}
    if _HALF.search(text):
        found |= {0.5, *(number + 0.5 for number in found)}
    if _QUARTER.search(text):
        found.add(4.0)
    return frozenset(found)


_COUNTS: Final = TextCache(_counts, room=TEXT_ROOM)


def _numbers(text: str) -> Iterator[float]:
    for match in _DIGITS.finditer(text):
        yield from _readings(match.group())
    run: list[int] = []
    for word in _LETTERS.findall(fold(text)):
        value = _COUNTED[word]
        if value is not None:
            run.append(value)
            yield value
        elif run:
            yield _total(run)
            run = []
    if run:
        yield _total(run)
    language = language_of(text, "")
    for one in spoken_numbers(text, language) if language else ():
        yield float(one.value)
    for match in () if text.isascii() else _HAN_NUMBER.finditer(text):
        # 八折 is 80 of 100.
        yield from (value * factor for value in _han(match.group()) for factor in (1, _TEN))


def _readings(written: str) -> Iterator[float]:
    pieces = [piece for piece in _GROUPS.split(written) if len(piece) <= MOST_DIGITS]
    yield from map(float, pieces)
    whole = "".join(pieces)
    if len(pieces) > 1 and len(whole) <= MOST_DIGITS:
        yield float(whole)
        yield float(f"{''.join(pieces[:-1])}.{pieces[-1]}")


def _counted(word: str) -> int | None:
    """Return the number that a word, whatever its ending, may count."""
    if word in _WORDS:
        return _WORDS[word]
    if _ARABIC.match(word) and word[:_SHORTEST_STEM] not in _STEMS:
        word = _ARABIC_PREFIX.sub("", word)
    ends = range(len(word), min(len(word), _SHORTEST_STEM) - 1, -1)
    return next((_STEMS[word[:end]] for end in ends if word[:end] in _STEMS), None)


_COUNTED: Final = TextCache(_counted, room=WORD_ROOM)


def _total(run: Sequence[int]) -> int:
    """Return what number words that stand side by side count together: `сто тридцать пять`."""
    total = part = 0
    for value in run:
        if value >= _THOUSAND:
            total, part = total + (part or 1) * value, 0
        else:
            part = part * value if value == _HUNDRED and 0 < part < _TEN else part + value
    return total + part


def _han(written: str) -> Iterator[int]:
    if all(sign in _HAN_DIGITS for sign in written):
        digits = [_HAN_DIGITS[sign] for sign in written]
        yield from (*digits, int("".join(map(str, digits[:MOST_DIGITS]))))
        return
    total = section = digit = 0
    for sign in written:
        if sign in _HAN_DIGITS:
            digit = _HAN_DIGITS[sign]
        elif _HAN_GREAT[sign] >= _MYRIAD:
            total, section, digit = total + (section + digit or 1) * _HAN_GREAT[sign], 0, 0
        else:
            section, digit = section + (digit or 1) * _HAN_GREAT[sign], 0
    yield total + section + digit
    if digit and len(written) > 1:
        # 一千四 is 1,400.
        yield total + section + digit * _HAN_GREAT.get(written[-2], 1) // _TEN
