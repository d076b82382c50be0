"""Numbers in a text with their unit: equal quantities are equal values, and 10 is not covered by 2010.

Marks inside a number are read by these rules, which hold for all languages:

* groups of three after a comma are thousands (`1,000`), and after an apostrophe or a space that does not break;
* groups after a full stop are thousands where there are several, or where a decimal comma follows (`1.234.567,8`);
* a lone full stop before three digits (`1.500`) has both readings, and equals either spelling;
* a plain space joins groups that are all `000` (`25 000`), or that stand before a currency (`1 500 euros`);
* everything else is a decimal mark; zeros at the end of the decimals do not count (`2,50` is `2.5`).
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import regex

from dream.guards.late import late
from dream.guards.number_words import HAN_COUNTERS, HAN_DIGITS, MULTIPLIERS, UNITS, WORDS
from dream.guards.specific import Kind, Page


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
    r"|\d{1,3}(?: 000)+(?!\d)|\d{1,3}(?: \d{3})+(?=\s?(?:€|euros?\b|eur\b|usd\b|dollars\b))|\d+(?:[.,]\d+)?)"
)
_SIGN = r"(?:(?<![\w)\d])(?P<sign>[-−])(?=\d))?"
_MULTIPLIER = "|".join(sorted(map(regex.escape, MULTIPLIERS), key=len, reverse=True))
_UNIT = "|".join(sorted(map(regex.escape, UNITS), key=len, reverse=True))
_AFTER = (
    rf"(?:(?P<k>\s?(?:{_MULTIPLIER}))(?![\p{{Latin}}\d]))?"
    rf"(?:(?:\s?-?(?:of\s|de\s)?)(?P<unit>{_UNIT})(?![\p{{Latin}}\d]))?"
)
_BEFORE = r"(?P<currency>r\$|us\$|[€$£¥]|\b(?:eur|usd|gbp|chf)\b)?\s?"
_NUMERAL = late(rf"(?<![\d.,_])(?<![\p{{Latin}}]){_BEFORE}{_SIGN}(?<!\d){_NUMBER}{_AFTER}", regex.IGNORECASE)
_ORDINAL = late(r"(?<![\w.,])(?P<n>\d{1,4})(?:st|nd|rd|th|er|ère|º|ª)(?!\w)", regex.IGNORECASE)
_WORD = late(
    rf"(?P<w>\p{{L}}[\p{{L}}\p{{M}}]*(?:-\p{{L}}+)?)(?:\s+(?P<unit>{_UNIT})(?![\p{{Latin}}\d]))?", regex.IGNORECASE
)
_HAN = late(rf"(?P<w>[{''.join(HAN_DIGITS)}])(?=[{HAN_COUNTERS}])")
_LETTERS = late(r"\p{L}+")
_JOINERS = late(r"['\s]")
_EITHER = late(r"\d{1,3}\.\d{3}")
_COMMAS = late(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?")
_STOPS = late(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_MOST_DIGITS: Final = 18


def read_ordinals(page: Page) -> None:
    """Find `3rd`, `1er` and `2º`, which are numbers, and cover them."""
    if not page.has_digits:
        return
    spans: list[tuple[int, int]] = []
    for match in _ORDINAL.finditer(page.text):
        page.add(Kind.NUMBER, *match.span(), Quantity((_plain(match["n"]),)))
        spans.append(match.span())
    page.cover(spans)


def read_quantities(page: Page) -> None:
    """Find numbers that carry a unit or a currency, `64GB` and `€60` among them, and cover them."""
    _read(page, bare=False)


def read_numbers(page: Page) -> None:
    """Find the numbers that are left, in digits and in words, and cover them."""
    _read(page, bare=True)
    _read_words(page)


def _read(page: Page, *, bare: bool) -> None:
    if not page.has_digits:
        return
    spans: list[tuple[int, int]] = []
    for match in _NUMERAL.finditer(page.text):
        unit = match["currency"] or match["unit"]
        if not bare and unit is None and match["k"] is None:
            continue
        values = _readings(match["n"], MULTIPLIERS.get((match["k"] or "").strip().casefold(), 0))
        signed = tuple(f"-{value}" for value in values) if match["sign"] else values
        page.add(Kind.NUMBER, *match.span(), Quantity(signed, UNITS.get(unit.casefold()) if unit else None))
        spans.append(match.span())
    page.cover(spans)


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


def _read_words(page: Page) -> None:
    words = WORDS.get(page.language, WORDS["en"])
    spans: list[tuple[int, int]] = []
    # Every number in words is, or begins with, a run of letters that is one itself.
    spoken = not words.keys().isdisjoint(_LETTERS.findall(page.text.casefold()))
    for match in _WORD.finditer(page.text) if spoken else ():
        value = _spoken(match["w"].casefold(), words)
        if value is not None:
            unit = match["unit"]
            page.add(Kind.NUMBER, *match.span(), Quantity((str(value),), UNITS[unit.casefold()] if unit else None))
            spans.append(match.span())
    page.cover(spans)
    if page.text.isascii():
        return
    spans = []
    for match in _HAN.finditer(page.text):
        page.add(Kind.NUMBER, *match.span(), Quantity((str(HAN_DIGITS[match["w"]]),)))
        spans.append(match.span())
    page.cover(spans)


def _spoken(word: str, words: dict[str, int]) -> int | None:
    if word in words:
        return words[word]
    tens, _, ones = word.partition("-")
    if words.get(tens, 0) in range(20, 100) and ones in words:
        return words[tens] + words[ones]
    return None


class Quantities:
    """The numbers of a text, ready to be asked for.

    Args:
        given: Them.

    Example:
        >>> sixty = Quantity(("60",), "eur")
        >>> sixty in Quantities([Quantity(("60",))]), sixty in Quantities([Quantity(("60",), "usd")])
        (True, False)
    """

    __slots__ = ("_units",)

    def __init__(self, given: Iterable[Quantity]) -> None:
        self._units: dict[str, set[str | None]] = {}
        for quantity in given:
            for value in quantity.values:
                self._units.setdefault(value, set()).add(quantity.unit)

    def __contains__(self, wanted: Quantity) -> bool:
        """Tell whether a number stands here; a unit may be left out, never exchanged."""
        found = (self._units.get(value) for value in wanted.values)
        return any(units and (wanted.unit is None or wanted.unit in units or None in units) for units in found)
