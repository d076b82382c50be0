"""Numbers in a text with their unit: equal quantities are equal values, and 10 is not covered by 2010.

Marks inside a number are read by these rules, which hold for all languages:

* groups of three after a comma are thousands (`1,000`), and after an apostrophe or a space that does not break;
* groups after a full stop are thousands where there are several, or where a decimal comma follows (`1.234.567,8`);
* a lone full stop before three digits (`1.500`) has both readings, and equals either spelling;
* a plain space joins groups that are all `000` (`25 000`), or that stand before a word or a currency (`1 500 euros`);
* everything else is a decimal mark; zeros at the end of the decimals do not count (`2,50` is `2.5`).
"""

import unicodedata
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Final, NamedTuple

import regex

from dream.guards.detail import DetailKind, TextScan
from dream.guards.number_words import GREAT, HAN_COUNTERS, HAN_DIGITS, LINKS, MEASURES, MULTIPLIERS, ONES, UNITS, WORDS
from dream.guards.patterns import lazy_pattern

_WORD = lazy_pattern(r"\p{L}[\p{L}\p{M}]*")
_ENDINGS: Final = ("jährigen", "jähriger", "jähriges", "jährigem", "jährige", "jährig", "jarige", "jarig")
_HALVES: Final = {"anderthalb": "1.5", "eineinhalb": "1.5", "anderhalf": "1.5", "anderhalve": "1.5"}
_HALF_ENDINGS: Final = {"de": ("einhalb",), "nl": ("eneenhalf", "ëneenhalf", "eneenhalve", "ëneenhalve")}

_HUNDREDS: Final = frozenset({"hundert", "honderd", "cento"})
_JOINED: Final = {
    "de": ("tausend", "hundert"),
    "nl": ("duizend", "honderd"),
    "it": ("mila", "mille", "cento"),
}
"""What German, Dutch and Italian write as one word with the numbers around it."""


class SpokenNumber(NamedTuple):
    """A number in words.

    Args:
        start: Where it begins.
        end: Where it ends.
        value: It, as a plain decimal.
        unit: The unit that is written as one word with it, as in `zehnjährig`.
    """

    start: int
    end: int
    value: str
    unit: str | None = None


def spoken_numbers(text: str, language: str) -> Iterator[SpokenNumber]:
    """Return the numbers in words of a text, in reading order.

    Example:
        >>> [one.value for one in spoken_numbers("twenty-one of two thousand five hundred and six", "en")]
        ['21', '2506']
    """
    run: list[tuple[int, int, int]] = []
    link: int | None = None
    end = 0
    for match in _WORD.finditer(text):
        word, gap = match.group().casefold(), text[end : match.start()]
        end = match.end()
        beside = run and gap in {" ", "-"}
        if beside and link is None and word in LINKS[language]:
            link = run[-1][2]
            continue
        value = _value(word, language)
        if run and not (beside and value is not None and _continues(run, value, language, linked=link is not None)):
            yield from _summed(run, language)
            run = []
        link = None
        if value is not None and (run or _begins(word, language)):
            run.append((match.start(), match.end(), value))
        elif value is None:
            yield from _one_word(word, match.start(), match.end(), language)
    yield from _summed(run, language)


def _value(word: str, language: str) -> int | None:
    known = next((table[language][word] for table in (WORDS, ONES, GREAT) if word in table[language]), None)
    return _hundreds(word, language) if known is None and language in _JOINED else known


def _hundreds(word: str, language: str) -> int | None:
    """Return what `hundertzwanzig` and `duecentomila` are: a number around a hundred or a thousand in it."""
    for great in _JOINED[language]:
        head, found, rest = word.partition(great)
        if not found:
            continue
        many = 1 if head in {"", "ein", "een"} else _value(head, language)
        more = 0 if not rest else _value(rest.removeprefix("und"), language)
        if many is not None and more is not None and (many < 1_000 or great not in _HUNDREDS):
            return many * (100 if great in _HUNDREDS else 1_000) + more
    return None


def _begins(word: str, language: str) -> bool:
    return word not in ONES[language]


def _continues(run: list[tuple[int, int, int]], value: int, language: str, *, linked: bool) -> bool:
    last = run[-1][2]
    great = GREAT[language].values()
    if value in great or last in great:
        return (last < value and not linked) if value in great else value < last
    if linked and language in {"en", "de", "nl"}:
        return False
    if language == "fr" and last in {4, 10}:
        return value == 20 if last == 4 else value in {7, 8, 9}
    if last >= 100:
        return value < 100
    most = 20 if language == "fr" and last in {20, 60} else 10
    return last >= 20 and last % 10 == 0 and 0 < value < most


def _summed(run: list[tuple[int, int, int]], language: str) -> Iterator[SpokenNumber]:
    if not run:
        return
    total = current = 0
    for _, _, value in run:
        if value in GREAT[language].values():
            current = max(current, 1) * value
            if value >= 1_000:
                total, current = total + current, 0
        elif value == 20 and current == 4 and language == "fr":
            current = 80
        else:
            current += value
    yield SpokenNumber(run[0][0], run[-1][1], str(total + current))


def _one_word(word: str, start: int, end: int, language: str) -> Iterator[SpokenNumber]:
    """Return what a longer word of German or Dutch counts: `zehnjährig`, `zweieinhalb`."""
    if word in _HALVES:
        yield SpokenNumber(start, end, _HALVES[word])
        return
    for ending in _HALF_ENDINGS.get(language, ()):
        whole = WORDS[language].get(word.removesuffix(ending)) if word.endswith(ending) else None
        if whole is not None:
            yield SpokenNumber(start, end, f"{whole}.5")
            return
    for ending in _ENDINGS if language in {"de", "nl"} else ():
        years = WORDS[language].get(word.removesuffix(ending)) if word.endswith(ending) else None
        if years is not None:
            yield SpokenNumber(start, end, str(years), "year")
            return


def is_spoken(letters: str, language: str) -> bool:
    """Tell whether a number in words may begin with or lie in a word of small letters."""
    return (
        letters in WORDS[language]
        or letters in GREAT[language]
        or letters in _HALVES
        or any(great in letters for great in _JOINED.get(language, ()))
        or (language in {"de", "nl"} and letters.endswith((*_ENDINGS, *_HALF_ENDINGS[language])))
    )


class Quantity(NamedTuple):
    """A number and its unit.

    Args:
        values: Its readings as plain decimals, the likeliest first.
        unit: Name of the unit, or None.
    """

    values: tuple[str, ...]
    unit: str | None = None


_NUMBER = (
    r"(?P<n>\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?(?!\d)|\d{1,3}(?:\.\d{3})+(?:,\d+)?(?![\d.])"
    r"|\d{1,3}(?:['\u00a0\u2009\u202f]\d{3})+(?!\d)"
    r"|\d{1,3}(?: 000)+(?!\d)|(?<!\d )[1-9]\d{0,2}(?: \d{3})+(?=\s?(?:€|\p{L}))|\d+(?:[.,]\d+)?)"
)
_SIGN = r"(?:(?<![\w)\d])(?P<sign>[-−])(?=\d))?"
_MULTIPLIER = "|".join(sorted(map(regex.escape, MULTIPLIERS), key=len, reverse=True))
_UNIT = "|".join(regex.escape(unit).replace(r"\ ", r"[\s-]") for unit in sorted(UNITS, key=len, reverse=True))
_AFTER = (
    r"(?P<part>\s?[¼½¾⅓⅔⅛⅜⅝⅞])?"
    rf"(?:(?P<k>\s?(?:{_MULTIPLIER}))(?![\p{{Latin}}\d]))?"
    rf"(?:(?:\s?-?(?:of\s|de\s)?)(?P<unit>{_UNIT})(?![\p{{Latin}}\d]))?"
)
_BEFORE = r"(?P<currency>r\$|us\$|[€$£¥]|\b(?:eur|usd|gbp|chf)\b)?\s?"
_NUMERAL = lazy_pattern(rf"(?<![\d.,_])(?<![\p{{Latin}}]){_BEFORE}{_SIGN}(?<!\d){_NUMBER}{_AFTER}", regex.IGNORECASE)
_ORDINAL = lazy_pattern(
    r"(?<![\w.,])(?P<n>\d{1,4})(?:st|nd|rd|th|ère|ere|er|ème|eme|nde?|ste|de|e|ro|ra|º|ª)(?!\w)", regex.IGNORECASE
)
_UNIT_BEHIND = lazy_pattern(rf"(?:\s+|-)(?P<unit>{_UNIT})(?![\p{{Latin}}\d])", regex.IGNORECASE)
_NO_ORDINAL = lazy_pattern(r"(?:\b(?:a|one|per|each|every|split|last|1)[\s-]$)", regex.IGNORECASE)
_SEQUENCE = lazy_pattern(r"-?\s?hand|,")
_LEFT = lazy_pattern(r"\p{No}|\p{Nl}")
_SPACES = lazy_pattern(r"[\s-]+")
_HAN = lazy_pattern(rf"(?P<w>[{''.join(HAN_DIGITS)}])(?=[{HAN_COUNTERS}])")
_IN_A_NAME = lazy_pattern(r"\p{Lu}\p{L}+ \p{Lu}$")
_LETTERS = lazy_pattern(r"\p{L}+")
_JOINERS = lazy_pattern(r"['\s]")
_EITHER = lazy_pattern(r"\d{1,3}\.\d{3}")
_COMMAS = lazy_pattern(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?")
_STOPS = lazy_pattern(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_MOST_DIGITS: Final = 18
CLOCK: Final = "o'clock"
"""Unit of the hour that a time of day names."""


def read_ordinals(scan: TextScan) -> None:
    """Find `3rd`, `1er` and `2º`, which are numbers, and cover them."""
    if scan.has_digits:
        scan.take(DetailKind.NUMBER, _ORDINAL, lambda match: Quantity((_plain(match["n"]),)))


def read_quantities(scan: TextScan) -> None:
    """Find numbers that carry a unit or a currency, `64GB` and `€60` among them, and cover them."""
    _read(scan, bare=False)


def read_numbers(scan: TextScan) -> None:
    """Find the numbers that are left, in digits and in words, and cover them."""
    _read(scan, bare=True)
    _read_words(scan)


def _read(scan: TextScan, *, bare: bool) -> None:
    if not scan.has_digits:
        return
    spans: list[tuple[int, int]] = []
    for match in _NUMERAL.finditer(scan.text):
        unit = match["currency"] or match["unit"]
        if not bare and unit is None and match["k"] is None:
            continue
        values = _readings(match["n"], MULTIPLIERS.get((match["k"] or "").strip().casefold(), 0))
        if match["part"]:
            values = tuple(_and_part(value, match["part"].strip()) for value in values)
        signed = tuple(f"-{value}" for value in values) if match["sign"] else values
        if unit is None and (match["k"] or "").strip().casefold() == "k":
            scan.imply(DetailKind.NUMBER, match.group(), Quantity(_readings(match["n"], 0), "km"))
        scan.add(DetailKind.NUMBER, *match.span(), Quantity(signed, unit_named(unit) if unit else None))
        spans.append(match.span())
    scan.cover(spans)


def unit_named(written: str) -> str | None:
    """Return the one name of a unit, whatever its spelling; None of what is none."""
    return UNITS.get(_SPACES.sub(" ", written.casefold()))


def _and_part(whole: str, part: str) -> str:
    value = Fraction(unicodedata.numeric(part)).limit_denominator(100)
    return whole if "." in whole else _plain(f"{whole}.{int(value * 1000 + Fraction(1, 2)):03}")


def _readings(written: str, power: int) -> tuple[str, ...]:
    number = _JOINERS.sub("", written)
    if _EITHER.fullmatch(number):
        return (_plain(number.replace(".", ""), power), number)
    if _COMMAS.fullmatch(number):
        number = number.replace(",", "")
    elif _STOPS.fullmatch(number):
        number = number.replace(".", "").replace(",", ".")
    return (_plain(number.replace(",", "."), power),)


def _plain(number: str, power: int = 0) -> str:
    """Shift a decimal by a power of ten and drop the zeros that say nothing; as text, which has no longest number."""
    whole, _, rest = number.partition(".")
    if power and len(number) <= _MOST_DIGITS:
        rest = rest.ljust(power, "0")
        whole, rest = whole + rest[:power], rest[power:]
    rest = rest.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{rest}" if rest else "")


def _read_words(scan: TextScan) -> None:
    spans: list[tuple[int, int]] = []
    # Every number in words is, or begins with, a run of letters that is one itself.
    spoken = any(is_spoken(letters, scan.language) for letters in _LETTERS.findall(scan.text.casefold()))
    for one in spoken_numbers(scan.text, scan.language) if spoken else ():
        word = scan.text[one.start : one.end].casefold()
        if word == "second" and (
            _NO_ORDINAL.search(scan.text[: one.start][-8:]) or _SEQUENCE.match(scan.text, one.end)
        ):
            continue
        behind = _UNIT_BEHIND.match(scan.text, one.end)
        unit = one.unit or (unit_named(behind["unit"]) if behind else None)
        end = behind.end() if behind else one.end
        if scan.language != "en" and _IN_A_NAME.search(scan.text[: one.start + 1]):
            # "Linha Doze" is a name; in a text of another language nobody would read a number there.
            scan.imply(DetailKind.NUMBER, scan.text[one.start : end], Quantity((_plain(one.value),), unit))
            continue
        scan.add(DetailKind.NUMBER, one.start, end, Quantity((_plain(one.value),), unit))
        spans.append((one.start, end))
    scan.cover(spans)
    if not scan.text.isascii():
        scan.take(DetailKind.NUMBER, _HAN, lambda match: Quantity((str(HAN_DIGITS[match["w"]]),)))
    # What no reader knew: ⑫, Ⅳ, a power. It is read by its value, so that nothing is stored unread.
    for match in _LEFT.finditer(scan.text):
        value = Fraction(unicodedata.numeric(match.group(), 0)).limit_denominator(100)
        scan.add(DetailKind.NUMBER, *match.span(), Quantity((_plain(f"{float(value):.3f}"),)))


class Quantities:
    """The numbers of a text, ready to be asked for.

    Args:
        given: Them.

    Example:
        >>> sixty = Quantity(("60",), "eur")
        >>> sixty in Quantities([Quantity(("60",))]), sixty in Quantities([Quantity(("60",), "usd")])
        (True, False)
    """

    __slots__ = ("_amounts", "_units")

    def __init__(self, given: Iterable[Quantity]) -> None:
        self._units: dict[str, set[str | None]] = {}
        self._amounts: set[tuple[str, Fraction]] = set()
        for quantity in given:
            for value in quantity.values:
                self._units.setdefault(value, set()).add(quantity.unit)
            self._amounts.update(_amounts(quantity))

    def __contains__(self, wanted: Quantity) -> bool:
        """Tell whether a number stands here; a unit may be left out or converted exactly, never exchanged."""
        found = (self._units.get(value) for value in wanted.values)
        if any(units and _fits(wanted.unit, units) for units in found):
            return True
        return not self._amounts.isdisjoint(_amounts(wanted))


def _fits(wanted: str | None, units: set[str | None]) -> bool:
    return wanted is None or None in units or wanted in units or not _LIKE.get(wanted, _NONE).isdisjoint(units)


def _amounts(quantity: Quantity) -> Iterable[tuple[str, Fraction]]:
    """Return what a quantity is in the base unit of its measure, if its unit is an exact part of that."""
    if quantity.unit not in MEASURES:
        return ()
    base, factor = MEASURES[quantity.unit]
    return [(base, Fraction(value) * factor) for value in quantity.values if len(value) <= _MOST_DIGITS]


_NONE: Final = frozenset[str]()
_LIKE: Final = {
    "h": {CLOCK},
    "lb": {"pound"},
    "gbp": {"pound"},
    "pound": {"lb", "gbp"},
    "°c": {"degree"},
    "°f": {"degree"},
    "degree": {"°c", "°f"},
}
"""Units that stand for others: `14 h` for an hour on the clock, degrees for those of either scale."""
