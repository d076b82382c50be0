"""Finds where words of a statement stand that none of its turns has: who "she" is, or which house "it" was."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

import regex

from dream.passes.conversation.sentences import sentences_in
from dream.passes.prompts import PromptTurn
from dream.passes.terms import terms_of

_MOST: Final = 2
"""Turns shown to a reader for the names of one statement."""
_LONGEST: Final = 160
_NAME: Final = regex.compile(r"[\p{Lu}\p{Lt}\p{Lo}][\p{L}\p{M}\p{N}'-]*")
"""A word that may be a name: with a capital, or of a script that has none."""


def naming_turns(
    content: str, cited: Sequence[PromptTurn], shown: Iterable[PromptTurn]
) -> Iterator[tuple[PromptTurn, str]]:
    """Yield the nearest turns that hold a name of a statement which stands in none of its own, with that sentence.

    Earlier turns come before later ones, near ones before far ones; a name that is said nowhere brings nothing.

    Args:
        content: The statement.
        cited: The turns that it rests on.
        shown: All turns of the prompt.
    """
    known = _terms(" ".join(text for one in cited for text in (one.turn.content, one.turn.speaker or "")))
    wanted = [term for term in dict.fromkeys(_names(content)) if term not in known]
    if not wanted or not cited:
        return
    first = cited[0].place
    near = sorted(shown, key=lambda one: (one.place > first, abs(one.place - first)))
    found = {next((one for one in near if term in _terms(one.turn.content)), None): term for term in reversed(wanted)}
    for one, term in islice(((one, term) for one, term in reversed(found.items()) if one is not None), _MOST):
        sentences = sentences_in(one.turn.content)
        yield one, next((told for told in sentences if term in _terms(told)), sentences[0])[:_LONGEST]


def _names(content: str) -> Iterator[str]:
    for word in _NAME.findall(content):
        yield from terms_of(word)


@lru_cache(maxsize=2048)
def _terms(text: str) -> frozenset[str]:
    return frozenset(terms_of(text))
