"""Recognises by words of many languages, without a model, that a person asks for something that is to hold on.

This ranks what was said and decides nothing: a text that has such words need not be a wish, and one without may be.
"""

import re
from functools import cache
from typing import Final

from agentcore.recall.passage_index import cut_passages
from agentcore.recall.results import Passage, within

WISH: Final = " wish"
"""The term under which passages with a standing wish are posted; no text has a term with a space."""

_ANY: Final = "*"
"""Any one word of a phrase."""
_REST: Final = "..."
"""The words from there to the end of the clause."""
_START: Final = "|"
"""Stands in a text where a clause begins."""
_WORD_OR_END: Final = re.compile(
    r"[^\s.!?:;,\u2026\u2013\u2014\"()*_\[\]|\u00ab\u00bb\u201c-\u201e\u060c\u061f\u0964]+|[.!?:;\n]"
)
_ENDS: Final = frozenset(".!?:;\n")


_SHOWN_TOKENS: Final = 48
"""Size at most of what is shown of a passage with a wish: a sentence or two."""


@cache
def _phrases() -> tuple[dict[str, re.Pattern[str]], re.Pattern[str], tuple[str, ...]]:
    """Return what finds phrases, by a word of theirs, their exceptions, and what stands inside of a run of letters."""
    from agentcore.lexicon.language import languages  # noqa: PLC0415 - a host that opens needs none of their words

    by_word: dict[str, list[str]] = {}
    for one in languages():
        for phrase in (*one.standing_wishes, *(f"{_START} {opening}" for opening in one.standing_openings)):
            words = phrase.split()
            key = max(words, key=lambda word: (not {_ANY, _START} & set(word), len(word)))
            by_word.setdefault(key, []).append(_spelt(words))
    found = {word: re.compile(f" (?:{'|'.join(spelt)}) ") for word, spelt in by_word.items()}
    exceptions = "|".join(_spelt(phrase.split()) for one in languages() for phrase in one.standing_exceptions)
    return (
        found,
        re.compile(f" (?:{exceptions})(?= )"),
        tuple(part for one in languages() for part in one.standing_inside),
    )


def _spelt(words: list[str]) -> str:
    """Return a pattern of a phrase, in a text whose clauses begin with `_START`."""
    return " ".join("[^|]*" if word == _REST else re.escape(word).replace(r"\*", r"\S+") for word in words)


def is_standing(text: str) -> bool:
    """Tell whether a text has words with which people ask for something that is to hold from now on.

    Example:
        >>> [is_standing(text) for text in ("Always answer in German.", "Ich mag lieber Tee.", "He always was late.")]
        [True, True, False]
    """
    folded = text.lower().replace("\u2019", "'")
    by_word, exceptions, inside = _phrases()
    words: list[str] = _WORD_OR_END.findall(folded)
    known = by_word.keys() & set(words)
    if known:
        spelt = " ".join(_START if word in _ENDS else word for word in words)
        spelt = exceptions.sub(" ", f" {_START} {spelt} ")
        if any(by_word[word].search(spelt) for word in known):
            return True
    return not folded.isascii() and any(part in folded for part in inside)


def standing_span(content: str, span: Passage | None) -> Passage | None:
    """Return which part of a passage with a wish says it: one or two whole sentences.

    Args:
        content: What was said.
        span: The passage in it; None for all of it.
    """
    passage, start = within(content, span), span.start if span else 0
    parts = cut_passages(passage, _SHOWN_TOKENS)
    part = next((one for one in parts if is_standing(passage[one.start : one.end])), None)
    return span if part is None or len(parts) == 1 else Passage(start + part.start, start + part.end)
