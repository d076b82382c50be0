"""What texts that were shown give of numbers, dates, times and codes, and what these yield: generous on purpose.

A text is refuted only by a value that can in no way come from what was shown. So a number is read in words of every
language, in each way in which it can be meant, and what people work out from two numbers counts as given: sums,
differences, products, quotients, shares, ages, durations, other units, rounding. Relative dates are worked out from
the day on which they were said.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Final, cast

from dream.guards.counting import MOST_DIGITS, counts_in, without_marks
from dream.guards.dates import Day
from dream.guards.detail import Detail, DetailKind
from dream.guards.details import values_of
from dream.guards.folding import fold
from dream.guards.numbers import Quantities, Quantity
from dream.guards.patterns import TEXT_ROOM, TextCache, lazy_pattern
from dream.guards.shown_days import DatedText, ShownDays

_DIGIT = lazy_pattern(r"\d")
_LETTERS = lazy_pattern(r"\p{L}+")
_ALNUM = lazy_pattern(r"\p{L}+|\d+")
_NO_LETTER = lazy_pattern(r"[^\p{L}\p{N}]+")
_FEW: Final = 2
"""So many are told in countless ways: both, twice, half, another."""
_TAKEN: Final = frozenset(map(float, (2, 4, 7, 12, 24, 30, 52, 60, 100, 365, 1_000)))
"""What people multiply by without saying so: halves, quarters, weeks, dozens, days, hours, shares, thousands."""
_GREATER: Final = (7.0, 10.0, 12.0, 24.0, 60.0, 100.0, 1_000.0)
"""How many of the smaller unit the greater one is, in `eight hours twenty`."""
_ROUGHLY: Final = 0.1
_STEM: Final = 5
_DAY_HOURS: Final = 24
_SECONDS: Final = {"s": 1, "min": 60, "h": 3600, "hour": 3600}
_HALF_DAY: Final = 12 * 3600


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text that was shown.

    Args:
        text: It, in the form that `plain` gives.
        said_on: The day on which it was said.
        in_talk: Whether somebody said it; it is an entry if not.
    """

    text: str
    said_on: date | None = None
    in_talk: bool = False


@dataclass(frozen=True, slots=True)
class TextValues:
    """The values of one text.

    Args:
        items: Those that it states, in reading order.
        also: Other forms of them.
        counts: All that it can be read to count.
        folded: It, folded.
    """

    items: tuple[Detail, ...]
    also: tuple[Detail, ...]
    counts: frozenset[float]
    folded: str

    @property
    def days(self) -> tuple[Day, ...]:
        """Its dates."""
        return tuple(cast("Day", item.key) for item in (*self.items, *self.also) if item.kind is DetailKind.DATE)

    def quantities(self, items: Sequence[Detail]) -> list[Quantity]:
        """Return the numbers among some values."""
        return [cast("Quantity", item.key) for item in items if item.kind is DetailKind.NUMBER]

    def has_bare(self, quantity: Quantity, values: Sequence[float]) -> bool:
        """Tell whether it counts a number without stating it in another unit."""
        stated = {value for one in self.quantities(self.items) for value in one.values}
        return stated.isdisjoint(quantity.values) and any(value in self.counts for value in values)


def values_in(text: str) -> TextValues:
    """Return the values of a text, which must be in the form that `plain` gives."""
    return _VALUES[text]


def _values(text: str) -> TextValues:
    text = without_marks(text)
    found = values_of(text)
    return TextValues(found.items, found.also, counts_in(text), fold(text))


_VALUES: Final = TextCache(_values, room=TEXT_ROOM)


def is_weighty(item: Detail) -> bool:
    """Tell whether a value is one that a text which leaves it out cannot tell in passing: no small number is."""
    return item.kind is not DetailKind.NUMBER or len(_DIGIT.findall(item.text)) > 1


class ShownValues:
    """All that texts give and yield; lives as long as a judgement.

    Args:
        shown: The texts.

    Example:
        >>> shown = ShownValues([ShownText("Ana pays 60 euros a month.")])
        >>> [shown.gives(item) for item in values_in("Ana pays 720 a year, 31 of them for tea.").items]
        [True, False]
    """

    def __init__(self, shown: Sequence[ShownText]) -> None:
        self._shown = list(dict.fromkeys(shown))
        self._found = [values_in(one.text) for one in self._shown]

    def gives(self, item: Detail) -> bool:
        """Tell whether a value of another text stands here or can be worked out."""
        match item.kind:
            case DetailKind.NUMBER:
                return self._is_spelled(item) or self._gives_number(cast("Quantity", item.key))
            case DetailKind.DATE:
                return self._is_spelled(item) or self._days.gives(cast("Day", item.key))
            case DetailKind.TIME:
                return self._is_spelled(item) or self._gives_time(cast("int", item.key))
            case _:
                return self._gives_letters(item)

    def _is_spelled(self, item: Detail) -> bool:
        """Tell whether the words of a value without digits stand here, whatever their endings."""
        if _DIGIT.search(item.text):
            return False
        words = _LETTERS.findall(fold(item.text))
        return bool(words) and any(words[0][:_STEM] in one.folded for one in self._found)

    @cached_property
    def _quantities(self) -> list[Quantity]:
        return [quantity for one in self._found for quantity in one.quantities((*one.items, *one.also))]

    @cached_property
    def _amounts(self) -> Quantities:
        return Quantities(self._quantities)

    @cached_property
    def _times(self) -> set[int]:
        items = (item for one in self._found for item in (*one.items, *one.also))
        return {cast("int", item.key) for item in items if item.kind is DetailKind.TIME}

    @cached_property
    def _numbers(self) -> frozenset[float]:
        stated = (value for one in self._quantities for value in one.values if len(value) <= MOST_DIGITS)
        days = (part for one in self._found for day in one.days for part in (day.year, day.month, day.day) if part)
        told = {*map(_decimal, stated), *map(float, days), *(float(time // 3600) for time in self._times)}
        said = {float(one.said_on.year) for one in self._shown if one.said_on}
        return frozenset(told | said).union(*(one.counts for one in self._found))

    @cached_property
    def _days(self) -> ShownDays:
        texts = [
            DatedText(one.text, one.said_on, one.in_talk, found.days, found.counts)
            for one, found in zip(self._shown, self._found, strict=True)
        ]
        return ShownDays(texts, self._quantities, self._numbers)

    def _gives_number(self, wanted: Quantity) -> bool:
        if any(len(value) > MOST_DIGITS for value in wanted.values):
            return any(value in _NO_LETTER.sub("", one.text) for one in self._shown for value in wanted.values)
        values = [_decimal(value) for value in wanted.values]
        return (
            any(value <= _FEW for value in values)
            or wanted in self._amounts
            # Stated with a unit, it is no other's.
            or any(one.has_bare(wanted, values) for one in self._found)
            or any(self._yields(value) for value in values)
            or any(map(self._days.counts, values))
        )

    def _yields(self, value: float) -> bool:
        """Tell whether two numbers, or one and a number that nobody has to say, give a value; or it is rounded."""
        return value in _TAKEN or any(self._yields_from(one, value) for one in self._numbers)

    def _yields_from(self, one: float, value: float) -> bool:
        numbers, rest = self._numbers, value - one
        if round(rest, 4) in numbers or round(value + one, 4) in numbers:
            return True
        ratios = (value / one, one / value) if one else ()
        return (
            any(round(ratio, 4) in numbers or ratio in _TAKEN for ratio in ratios)
            or (bool(one) and round(100 * value / one, 4) in numbers)
            or (rest != 0 and any(round(rest / factor, 4) in numbers for factor in _GREATER))
            # 24 seconds 3 are 24.3.
            or (0 < rest < 1 and any(round(factor * rest, 4) in numbers for factor in (10, 100)))
            or (0 < abs(rest) <= _ROUGHLY * one and _zeros(value) > _zeros(one))
            or (abs(rest) == _DAY_HOURS / 2 and max(one, value) <= _DAY_HOURS)
        )

    def _gives_time(self, seconds: int) -> bool:
        """Tell whether a time of day, with or without its half of the day, stands here or can be worked out."""
        whole = {int(number) for number in self._numbers if number < 60 and number == int(number)}
        hour, minute = seconds // 3600 % 12, seconds % 3600 // 60
        hours = {number % 12 for number in whole if number <= _DAY_HOURS}
        minutes = {0, 15, 30, 45, *whole, *(60 - number for number in whole)}
        if minute in minutes and (hour in hours or (hour + 1) % 12 in hours):
            return True
        lasting = {
            sign * float(value) * _SECONDS.get(one.unit or "", 0)
            for one in self._quantities
            for value in one.values
            for sign in (1, -1)
        }
        return any((seconds - told - last) % _HALF_DAY == 0 for told in self._times for last in {0, *lasting})

    @cached_property
    def _letters(self) -> str:
        return " ".join(_bare(one.text) for one in self._shown)

    def _gives_letters(self, item: Detail) -> bool:
        forms = (_bare(item.text), _bare(str(item.key)))
        if not all(forms) or any(form in self._letters for form in forms):
            return True
        # "10 A, an old one" may become a 10-A-Automat.
        pieces = _ALNUM.findall(fold(item.text))
        return item.kind is DetailKind.IDENTIFIER and all(self._has_piece(piece) for piece in pieces)

    @cached_property
    def _pieces(self) -> frozenset[str]:
        return frozenset(piece for one in self._found for piece in _ALNUM.findall(one.folded))

    def _has_piece(self, piece: str) -> bool:
        is_word = len(piece) >= _STEM and piece.isalpha()
        return piece in self._pieces or (is_word and any(one.startswith(piece[:_STEM]) for one in self._pieces))


def _decimal(written: str) -> float:
    return round(abs(float(written)), 4)


def _bare(text: str) -> str:
    return _NO_LETTER.sub("", text.casefold())


def _zeros(value: float) -> int:
    """Return how many zeros a whole number ends with; -1 of a decimal."""
    if value != int(value):
        return -1
    written = str(int(value))
    return len(written) - len(written.rstrip("0"))
