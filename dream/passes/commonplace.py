"""Tells terms that hold nothing together: words of the calendar, numbers, and words that texts about anything have."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import cast

from agentcore.lexicon import languages
from dream.passes.terms import terms_of


@cache
def commonplace() -> frozenset[str]:
    """Return these terms, of all languages.

    Example:
        >>> {"friday", "thing"} <= commonplace(), "adopt" in commonplace()
        (True, False)
    """
    words = (
        word
        for one in languages()
        for told in (one.common_words, one.weekdays, one.months, one.stretches, one.units, one.numbers)
        for word in _flat(told)
    )
    return frozenset(term for word in words for term in terms_of(word))


def _flat(told: object) -> Iterator[str]:
    if isinstance(told, str):
        yield told
    elif isinstance(told, Mapping):
        table = cast("Mapping[object, object]", told)
        for value in (*table.keys(), *table.values()):
            yield from _flat(value)
    elif isinstance(told, Iterable):
        for value in cast("Iterable[object]", told):
            yield from _flat(value)
