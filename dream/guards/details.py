"""Finds the values of a text: numbers, dates, times of day, codes and addresses, each in a form that spellings share.

Linear in the text's length; a value is equal to any spelling of it that counts as the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from agentcore.lexicon.language import recognised
from dream.guards.dates import read_dates, read_times
from dream.guards.detail import Detail, DetailKind, TextScan, distinct
from dream.guards.folding import one_form, read_identifiers, read_verbatim
from dream.guards.languages import language_of
from dream.guards.numbers import read_numbers, read_ordinals, read_quantities
from dream.guards.other_forms import read_other_forms
from dream.guards.patterns import TEXT_ROOM, TextCache, lazy_pattern

_MEASURES = frozenset({DetailKind.NUMBER, DetailKind.DATE, DetailKind.TIME})


@dataclass(frozen=True, slots=True)
class Details:
    """The details of one text in reading order, each once.

    Args:
        items: The details.
        also: Other forms of them, which back another text and are demanded of none.
    """

    items: tuple[Detail, ...] = ()
    also: tuple[Detail, ...] = ()

    def __iter__(self) -> Iterator[Detail]:
        return iter(self.items)

    def of(self, *kinds: DetailKind) -> tuple[Detail, ...]:
        """Return those of the given kinds."""
        return tuple(item for item in self.items if item.kind in kinds)


def measures_of(text: str) -> Details:
    """Return those of the details of a text that are measures: numbers, dates and times.

    Example:
        >>> [str(detail) for detail in measures_of("Ana pays 60 euros on 1 May 2025.")]
        ["number '60 euros'", "date '1 May 2025'"]
    """
    written = one_form(text)
    found, also = _FOUND[language_of(text, language_of(written))][written]
    return Details(distinct(item for item in found if item.kind in _MEASURES), also)


_VALUES: Final = _MEASURES | {DetailKind.CODE, DetailKind.URL, DetailKind.EMAIL, DetailKind.IDENTIFIER}


def values_of(text: str) -> Details:
    """Return the values of a text, whatever stands beside it: numbers, dates, times, codes and addresses.

    Of a text in an unknown language no number in words is one.

    Example:
        >>> [str(detail) for detail in values_of("Ana pays 60 euros to `x9`.")]
        ["number '60 euros'", "code '`x9`'"]
    """
    written = one_form(text)
    language = language_of(written, "")
    found, also = _FOUND[language or "en"][written]
    items = (item for item in found if language or item.kind is not DetailKind.NUMBER or _DIGIT.search(item.text))
    return Details(distinct(item for item in items if item.kind in _VALUES), also)


_DIGIT = lazy_pattern(r"\d")


def _read(language: str, written: str) -> tuple[tuple[Detail, ...], tuple[Detail, ...]]:
    """Return what stands in a text, in reading order, and other forms of it."""
    scan = TextScan(written, written, language, [])
    for read in _READERS:
        read(scan)
    return tuple(item for _, item in scan.found), distinct(scan.also)


_READERS: Final = (
    read_verbatim,
    read_dates,
    read_times,
    read_ordinals,
    read_quantities,
    read_identifiers,
    read_numbers,
    read_other_forms,
)
_FOUND: Final = {language: TextCache(partial(_read, language), room=TEXT_ROOM) for language in recognised()}
