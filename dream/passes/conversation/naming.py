"""Finds where words of a statement stand that none of its turns has: who "she" is, or that Pixel is a dog."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

import regex

from dream.passes.prompts import PromptTurn
from dream.passes.terms import terms_of

_MOST: Final = 2
"""Turns shown to a reader for the names of one statement."""
_MOST_WORDS: Final = 1
"""Turns shown for its other words."""
_RARE: Final = 3
"""Turns in which a word stands at most that tells what is spoken of: one that is said all the time tells nothing."""
_NAME: Final = regex.compile(r"[\p{Lu}\p{Lt}\p{Lo}][\p{L}\p{M}\p{N}'-]*")
"""A word that may be a name: with a capital, or of a script that has none."""


def naming_turns(
    content: str, cited: Sequence[PromptTurn], known: Iterable[PromptTurn], shown: Sequence[PromptTurn]
) -> Iterator[PromptTurn]:
    """Yield the nearest turns that hold a name of a statement which none of its own has, then those with other words.

    Earlier turns come before later ones, near ones before far ones; a name that is said nowhere brings nothing, and
    neither does another word that is said often, or right beside.

    Args:
        content: The statement.
        cited: The turns that it rests on.
        known: They, and what stands beside them.
        shown: All turns of the prompt.
    """
    if not cited:
        return
    own, near = _terms_of(cited), _terms_of(known)
    names = [term for term in dict.fromkeys(_names(content)) if term not in own]
    words = [term for term in dict.fromkeys(terms_of(content)) if term not in near and term not in names]
    first = cited[0].place
    ordered = sorted(shown, key=lambda one: (one.place > first, abs(one.place - first)))
    holders = {term: [one for one in ordered if term in _terms(one.turn.content)] for term in (*names, *words)}
    yield from islice(dict.fromkeys(holders[term][0] for term in names if holders[term]), _MOST)
    rare = (term for term in words if 0 < len(holders[term]) <= _RARE)
    yield from islice(dict.fromkeys(holders[term][0] for term in rare), _MOST_WORDS)


def _terms_of(turns: Iterable[PromptTurn]) -> frozenset[str]:
    return _terms(" ".join(text for one in turns for text in (one.turn.content, one.turn.speaker or "")))


def _names(content: str) -> Iterator[str]:
    for word in _NAME.findall(content):
        yield from terms_of(word)


@lru_cache(maxsize=2048)
def _terms(text: str) -> frozenset[str]:
    return frozenset(terms_of(text))
