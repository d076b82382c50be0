"""Numbers in a text with their unit: equal quantities are equal values, and 10 is not covered by 2010.

Marks inside a number are read by these rules, which hold for all languages:

* groups of three after a comma are thousands (`1,000`), and after an apostrophe or a space that does not break;
* groups after a full stop are thousands where there are several, or where a decimal comma follows (`1.234.567,8`);
* a lone full stop before three digits (`1.500`) has both readings, and equals either spelling;
* a plain space joins groups that are all `000` (`25 000`), or that stand before a word or a currency (`1 500 euros`);
* everything else is a decimal mark; zeros at the end of the decimals do not count (`2,50` is `2.5`).
"""

import unicodedata
from collections.abc import Iterable
from fractions import Fraction
from typing import Final, NamedTuple

import regex

from dream.guards.late import late
from dream.guards.number_words import HAN_COUNTERS, HAN_DIGITS, MEASURES, MULTIPLIERS, UNITS
from dream.guards.specific import Kind, Page
from dream.guards.spoken_numbers import is_spoken, spoken_numbers


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
_NUMERAL = late(rf"(?<![\d.,_])(?<![\p{{Latin}}]){_BEFORE}{_SIGN}(?<!\d){_NUMBER}{_AFTER}", regex.IGNORECASE)
_ORDINAL = late(
    r"(?<![\w.,])(?P<n>\d{1,4})(?:st|nd|rd|th|ère|ere|er|ème|eme|nde?|ste|de|e|ro|ra|º|ª)(?!\w)", regex.IGNORECASE
)
_UNIT_BEHIND = late(rf"(?:\s+|-)(?P<unit>{_UNIT})(?![\p{{Latin}}\d])", regex.IGNORECASE)
_NO_ORDINAL = late(r"(?:\b(?:a|one|per|each|every|split|last|1)[\s-]$)", regex.IGNORECASE)
_SEQUENCE = late(r"-?\s?hand|,")
_LEFT = late(r"\p{No}|\p{Nl}")
_SPACES = late(r"[\s-]+")
_HAN = late(rf"(?P<w>[{''.join(HAN_DIGITS)}])(?=[{HAN_COUNTERS}])")
_IN_A_NAME = late(r"\p{Lu}\p{L}+ \p{Lu}$")
_LETTERS = late(r"\p{L}+")
_JOINERS = late(r"['\s]")
_EITHER = late(r"\d{1,3}\.\d{3}")
_COMMAS = late(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?")
_STOPS = late(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_MOST_DIGITS: Final = 18
CLOCK: Final = "o'clock"
"""Unit of the hour that a time of day names."""


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
        if match["part"]:
            values = tuple(_and_part(value, match["part"].strip()) for value in values)
        signed = tuple(f"-{value}" for value in values) if match["sign"] else values
        if unit is None and (match["k"] or "").strip().casefold() == "k":
            page.imply(Kind.NUMBER, match.group(), Quantity(_readings(match["n"], 0), "km"))
        page.add(Kind.NUMBER, *match.span(), Quantity(signed, unit_named(unit) if unit else None))
        spans.append(match.span())
    page.cover(spans)


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


def _read_words(page: Page) -> None:
    spans: list[tuple[int, int]] = []
    # Every number in words is, or begins with, a run of letters that is one itself.
    spoken = any(is_spoken(letters, page.language) for letters in _LETTERS.findall(page.text.casefold()))
    for one in spoken_numbers(page.text, page.language) if spoken else ():
        word = page.text[one.start : one.end].casefold()
        if word == "second" and (
            _NO_ORDINAL.search(page.text[: one.start][-8:]) or _SEQUENCE.match(page.text, one.end)
        ):
            continue
        behind = _UNIT_BEHIND.match(page.text, one.end)
        unit = one.unit or (unit_named(behind["unit"]) if behind else None)
        end = behind.end() if behind else one.end
        if page.language != "en" and _IN_A_NAME.search(page.text[: one.start + 1]):
            # "Linha Doze" is a name; in a text of another language nobody would read a number there.
            page.imply(Kind.NUMBER, page.text[one.start : end], Quantity((_plain(one.value),), unit))
            continue
        page.add(Kind.NUMBER, one.start, end, Quantity((_plain(one.value),), unit))
        spans.append((one.start, end))
    page.cover(spans)
    if page.text.isascii():
        return
    spans = []
    for match in _HAN.finditer(page.text):
        page.add(Kind.NUMBER, *match.span(), Quantity((str(HAN_DIGITS[match["w"]]),)))
        spans.append(match.span())
    page.cover(spans)
    # What no reader knew: ⑫, Ⅳ, a power. It is read by its value, so that nothing is stored unread.
    for match in _LEFT.finditer(page.text):
        value = Fraction(unicodedata.numeric(match.group(), 0)).limit_denominator(100)
        page.add(Kind.NUMBER, *match.span(), Quantity((_plain(f"{float(value):.3f}"),)))


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
