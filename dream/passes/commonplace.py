"""Tells terms that hold nothing together: little words, the calendar, numbers, what texts about anything have."""

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
    return no_topics() | _terms(one.note_words for one in languages())


@cache
def no_topics() -> frozenset[str]:
    """Return those of them that nobody asks about: all but the words that notes call themselves by.

    Example:
        >>> {"ist", "thank", "friday"} <= no_topics(), "report" in no_topics(), "report" in commonplace()
        (True, False, True)
    """
    return _terms(
        told
        for one in languages()
        for told in (
            (one.stop_words, one.function_words, one.markers, one.common_words, one.courtesies),
            (one.weekdays, one.months, one.stretches, one.units, one.numbers),
        )
    )


def _terms(words: Iterable[object]) -> frozenset[str]:
    return frozenset(term for word in _flat(words) for term in terms_of(word))


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
