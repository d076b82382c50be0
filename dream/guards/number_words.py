"""Numbers written as words, and units, in the languages of the lexicon.

"one" and its like are articles and pronouns, "neuf" is also new, "once" is English: none is a number by itself, and
the lexicon has them apart. German, Dutch and Italian write longer numbers as one word: those are put together here.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

from agentcore.lexicon.language import INTERNATIONAL, ByNumber, Language, language, languages, recognised


def _by_word(table: ByNumber) -> dict[str, int]:
    return {word: value for value, words in table.items() for word in words}


def _by_language(read: Callable[[Language], ByNumber]) -> dict[str, dict[str, int]]:
    return {code: _by_word(read(one)) for code, one in recognised().items()}


WORDS: Final = _by_language(lambda one: one.numbers)
"""Numbers of one word that stand alone, counting words and ordinals, by language."""
ONES: Final = _by_language(lambda one: one.ones)
"""Words that are a number behind tens, as in `twenty-one`, and by themselves articles or other words."""
GREAT: Final = _by_language(lambda one: one.great_numbers)
"""Words that multiply the number before them."""
LINKS: Final = {code: frozenset(one.number_link) for code, one in recognised().items()}
"""The word inside of a number, as in `treinta y uno`."""


def _joined_tens() -> Iterator[tuple[str, str, int]]:
    """Return the numbers below 100 that German, Dutch and Italian write as one word."""
    tens = {code: {word: n for word, n in WORDS[code].items() if 20 <= n < 100} for code in ("de", "it", "nl")}
    for code, link, one in (("de", "und", "ein"), ("nl", "en", "een")):
        small = {word: n for word, n in WORDS[code].items() if 2 <= n <= 9 and not word.endswith("de")}
        for word, n in {one: 1, **small}.items():
            joint = "ën" if link == "en" and word.endswith("e") else link
            yield from ((code, word + joint + ten, value + n) for ten, value in tens[code].items())
    ones = {word: n for word, n in WORDS["it"].items() if 2 <= n <= 9 and word[:2] != "te"}
    for ten, value in tens["it"].items():
        for word, n in {"uno": 1, **ones}.items():
            yield "it", (ten[:-1] if word[0] in "uo" else ten) + word, value + n


for _code, _word, _value in [*_joined_tens()]:
    WORDS[_code].setdefault(_word, _value)
for _code, _hundred in (("de", "hundert"), ("nl", "honderd"), ("it", "cento")):
    for _word, _value in [*WORDS[_code].items()]:
        if 2 <= _value <= 9:
            WORDS[_code].setdefault(_word + _hundred, _value * 100)
WORDS["it"].update(
    {"tré" if word == "tre" else word[:-3] + "tré": n for word, n in WORDS["it"].items() if word.endswith("tre")}
)
WORDS["de"].update({word + "mal": n for word, n in [*WORDS["de"].items()]})
WORDS["de"].update(
    {
        stem + ending: n
        for n, stem in enumerate(
            ("zweite", "dritte", "vierte", "fünfte", "sechste", "siebte", "", "neunte", "zehnte"), 2
        )
        if stem
        for ending in ("", "r", "s", "n", "m")
    }
)

HAN_DIGITS: Final = {"两": 2, "兩": 2, **{digit: value for value, digit in enumerate("二三四五六七八九十", 2)}}
"""Chinese digits that stand before a counting word; 一 is mostly an article."""
HAN_COUNTERS: Final = "个個只隻匹人次年月天岁歳名位条本台张张间間杯"

MULTIPLIERS: Final = {word: power for one in languages() for word, power in _by_word(one.multipliers).items()}
"""Power of ten by the word that follows a number."""

UNITS: Final = {
    spelling: unit
    for one in (*(each for each in languages() if each.code != INTERNATIONAL), language(INTERNATIONAL))
    for unit, spellings in one.units.items()
    for spelling in spellings
}
"""The one name of each unit, by its spelling in lower case with single spaces."""


def _measure(text: str) -> dict[str, tuple[str, Fraction]]:
    rows = (line.split() for line in text.strip().splitlines())
    return {
        unit: (base, Fraction(factor)) for base, *pairs in rows for unit, factor in (one.split("=") for one in pairs)
    }


MEASURES: Final = _measure("""
time ms=1/1000 s=1 min=60 h=3600 hour=3600 day=86400 week=604800
calendar month=1 year=12
length mm=1/1000 cm=1/100 m=1 km=1000
weight mg=1/1000 g=1 kg=1000
volume ml=1/1000 cl=1/100 l=1
""")
"""What each unit measures and how much of it, for those that are exact parts of each other."""
