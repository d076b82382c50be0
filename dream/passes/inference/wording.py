"""Recognises wording that no lasting conclusion has: passing moments, guesses, and how somebody came to it."""

from collections.abc import Callable, Collection, Iterable
from typing import Final

from agentcore.lexicon.language import Language, languages
from dream.guards.detail import Detail, DetailKind
from dream.guards.details import measures_of
from dream.guards.number_words import LINKS
from dream.guards.numbers import Quantity
from dream.guards.patterns import lazy_pattern
from dream.guards.shown_text import EvidenceText
from dream.guards.wording import plain
from dream.passes.reader_checks import telling_words

_INSIDE: Final = frozenset({"zh", "ja"})
"""Languages that are written without spaces."""
_ALIKE: Final = 0.65
"""Share of their telling words that two texts of one pattern have in common."""


def _pattern_of(words_of: Callable[[Language], Iterable[str]]) -> str:
    spaced: list[str] = []
    inside: list[str] = []
    for one in languages():
        words = [word.replace(" ", r"\s+") for word in words_of(one)]
        (inside if one.code in _INSIDE else spaced).extend(words)
    return rf"(?<!\p{{L}})(?:{'|'.join(spaced)})(?!\p{{L}})|{'|'.join(inside)}"


_UNSURE: Final = lazy_pattern(_pattern_of(lambda one: (*one.hedges, *one.reasoning)))
_PASSING: Final = lazy_pattern(_pattern_of(lambda one: one.passing))


def fleeting_words(text: str, *, is_change: bool = False) -> str | None:
    """Return the words by which a text tells of a moment, guesses or argues; None if it does none of that.

    Args:
        text: The text.
        is_change: Whether it tells how something changed, which may say what is so now.

    Example:
        >>> fleeting_words("Ana is tired today."), fleeting_words("Ana prefers trains.")
        ('today', None)
    """
    told = plain(text).casefold()
    found = _UNSURE.search(told) or (None if is_change else _PASSING.search(told))
    return None if found is None else found[0]


def restates(content: str, text: str) -> bool:
    """Tell whether a text says nothing that another does not say in its own words.

    Example:
        >>> restates("Ana likes tea.", "Ana likes green tea a lot.")
        True
    """
    told = telling_words(content)
    return bool(told) and told <= telling_words(text)


def are_alike(one: str, other: str) -> bool:
    """Tell whether two texts tell one pattern, as far as their words show it."""
    mine, theirs = telling_words(one), telling_words(other)
    return bool(mine) and len(mine & theirs) >= _ALIKE * len(mine | theirs)


def is_computed(detail: Detail, premises: Collection[EvidenceText]) -> bool:
    """Tell whether a number or a date may be worked out of the premises: then a reader checks it.

    It is worked out of two of their numbers, or counts what they tell one by one.

    Args:
        detail: What no premise gives.
        premises: What they say, and when it was said.

    Example:
        >>> said = [EvidenceText(text="Dov turned 30 on 9 April 2021.")]
        >>> born = Detail(DetailKind.DATE, "9 April 1991", "1991-04-09")
        >>> is_computed(born, said), is_computed(Detail(DetailKind.NUMBER, "77", "77"), said)
        (True, False)
        >>> cats = [EvidenceText(text="Mira has the cats Tinka and Moritz."), EvidenceText(text="Flocke is hers too.")]
        >>> three = Detail(DetailKind.NUMBER, "three", Quantity(("3",)))
        >>> is_computed(three, cats), is_computed(three, cats[1:])
        (True, False)
    """
    wanted = _numbers(detail)
    if detail.kind not in _COMPUTABLE or not wanted:
        return False
    if detail.kind is DetailKind.NUMBER and max(wanted) <= _told(premises):
        return True
    known = {_MONTHS_OF_A_YEAR}
    for one in premises:
        known.update(int(digits) for digits in _DIGITS.findall(plain(one.text)))
        known.update(*(_numbers(spelled) for spelled in measures_of(one.text).of(DetailKind.NUMBER)))
        known.update({one.said_at.year} if one.said_at else ())
    return all(number in known or _follows(number, known) for number in wanted)


def _numbers(detail: Detail) -> set[int]:
    """Return the whole numbers of a detail, which may be spelled."""
    found = {int(digits) for digits in _DIGITS.findall(plain(detail.text))}
    if found or not isinstance(detail.key, Quantity):
        return found
    return {int(value) for value in detail.key.values if value.isdecimal()}


def _told(premises: Collection[EvidenceText]) -> int:
    """Return how many things premises tell at most, as far as their commas and their words for "and" show it."""
    return sum(1 + len(_LISTED.findall(plain(one.text).casefold())) for one in premises)


def _follows(number: int, known: Iterable[int]) -> bool:
    """Tell whether two known numbers give another one, by the four operations, or as years and months."""
    pairs = [(one, other) for one in known for other in known]
    return any(
        number in {one + other, one - other, one * other, one + other // _MONTHS_OF_A_YEAR}
        or number == one + -(-other // _MONTHS_OF_A_YEAR)
        or (other and one % other == 0 and number == one // other)
        for one, other in pairs
    )


_DIGITS: Final = lazy_pattern(r"\d{1,6}")
_AND: Final = "|".join(sorted({word for words in LINKS.values() for word in words}))
_LISTED: Final = lazy_pattern(rf"[,;\u3001\uff0c\u060c]|(?<!\p{{L}})(?:{_AND})(?!\p{{L}})")
_COMPUTABLE: Final = frozenset({DetailKind.NUMBER, DetailKind.DATE, DetailKind.TIME})
_MONTHS_OF_A_YEAR: Final = 12
