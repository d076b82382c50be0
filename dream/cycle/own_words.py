"""Tells whether somebody's words say something of their own, beside those of the hypothesis that they confirm."""

import re
from difflib import SequenceMatcher
from typing import Final

from agentcore.domain.hypothesis import Hypothesis
from dream.passes.commonplace import commonplace
from dream.passes.terms import terms_of

_WORD: Final = re.compile(r"\w+")
_REPEATED: Final = 0.8
"""Share of a text's words, in their order, from which somebody repeats it."""
_LEAST_OWN: Final = 3
"""Telling words that make a statement: one that assents alone has fewer."""
_ASSENTS: Final = frozenset(
    term
    for word in (
        *("yes", "yeah", "right", "true", "correct", "exactly", "indeed", "confirm", "confirmed", "agree", "agreed"),
        *(
            "certainly",
            "sure",
            "absolutely",
            "definitely",
            "think",
            "believe",
            "know",
            "said",
            "say",
            "says",
            "statement",
        ),
        *("hypothesis", "guess", "happened", "following"),
    )
    for term in terms_of(word)
)


def says_nothing_of_its_own(words: str, hypothesis: Hypothesis) -> bool:
    """Tell whether words repeat a text of a hypothesis, and what is left of them is no statement."""
    texts = (hypothesis.hypothesis, hypothesis.what_if)
    if not any(_is_repeated(text, words) for text in texts):
        return False
    told = {term for text in texts for term in terms_of(text)}
    return len(set(terms_of(words)) - told - commonplace() - _ASSENTS) < _LEAST_OWN


def _is_repeated(text: str, words: str) -> bool:
    wanted, given = _WORD.findall(text.casefold()), _WORD.findall(words.casefold())
    same = SequenceMatcher(None, wanted, given, autojunk=False).get_matching_blocks()
    return sum(block.size for block in same) >= _REPEATED * len(wanted)
