"""Tells whether a text says what another says, by the words that they share: what a forget looks for once.

Chosen on one half of `tests/data/forgets` (`python -m tests.bench forgets` prints both halves). It finds what says a
fact in much the same words, whatever their order. A fact in quite other words shares none: that takes a model.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

import regex

from agentcore.lexicon.language import languages
from agentcore.recall.tokenizer import Tokenizer

ALIKE: Final = 0.58
"""Likeness from which on a text counts as saying the same."""
_TOO_LITTLE: Final = ALIKE - 0.01
_OF_THE_FACT: Final = 0.5
"""Share of the likeness that words of the fact give which the text has; the rest is for what the text says beside."""
_OF_ANOTHER: Final = 0.6
"""What is left of it where another person speaks and does not name the one whom the fact is about."""
_INFLECTED: Final = 0.9
"""What a word counts that begins as the other does."""
_SHORTEST_STEM: Final = 4
_SHARED_STEM: Final = 0.7
"""Share of the longer word that both have to begin with."""
_SHORTEST_RELATED: Final = 5
_RELATED: Final = 0.5
"""Share of their three-letter pieces that make two words related: `gekündigt` and `Kündigung`."""

_LEAST_WORDS: Final = 2
"""Words of the fact, no number and no name of whom it is about, that whatever says it has at least."""
_LEAST_SHARE: Final = 0.4
"""Share of these words that it has at least: a short sentence has all its few words in common with many a fact."""

_SENTENCE = regex.compile(r"(?<=[.!?…؟।][\p{Pe}\p{Pf}\"'`]*)\s+|(?<=[。\uff01\uff1f])\s*|\s*\n\s*")
_MARK = regex.compile(r"\s*(?:[-*+>]\s+)?(?:\p{N}{1,3}|\p{L})[.)]\s+|\s+")
"""What a line of a list begins with, which is no sentence; or blanks."""
_SIGN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_BUILDING: Final = frozenset(
    "的了在是和有他她我你您它这那也就都与及或而但从到对于把被让给为以因所之其此每很更最还又再已将会能可要想应该"
)
_KANA: Final = frozenset("はがをにのでともへやからましたですだっいるれて")


@dataclass(frozen=True, slots=True)
class StatedFact:
    """What is looked for.

    Args:
        texts: How it was said: the forgotten text, and what it rests on as far as that says something by itself.
        people: Names of whom it is about, as speakers are called.
    """

    texts: tuple[str, ...]
    people: tuple[str, ...] = ()
    _terms: list[list[str]] = field(init=False)
    _names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Cut the texts into words once."""
        names = frozenset(term for one in self.people for term in _terms(one))
        cut = {text: [term for term in _terms(text) if term not in names] for text in self.texts}
        # A sentence that it rests on may be a mere "Yes.", which any other talk holds too.
        told = tuple(one for one in cut if one == self.texts[0] or len(_words(cut[one])) >= _LEAST_WORDS)
        object.__setattr__(self, "texts", told)
        object.__setattr__(self, "_names", names)
        object.__setattr__(self, "_terms", [cut[one] for one in told if cut[one]])

    def likeness(self, text: str, speaker: str | None = None) -> tuple[float, str]:
        """Return how far *text* says the fact, 0 to 1, and the one or two sentences of it that do most.

        Args:
            text: What may say it.
            speaker: Who says it; None if it is not known, or nobody's words.
        """
        best, where = 0.0, ""
        for window in _windows(text):
            found = self._of(_terms(window))
            if found > best:
                best, where = found, window
        return (best if self._is_about(text, speaker) else best * _OF_ANOTHER), where

    def _of(self, said: Sequence[str]) -> float:
        if not said or not self._terms:
            return 0.0
        whole = list({term for terms in self._terms for term in terms})
        held = max(_covered(terms, said) for terms in self._terms)
        beside = [term for term in said if term not in self._names]
        found = _OF_THE_FACT * held + (1 - _OF_THE_FACT) * (_covered(beside, whole) if beside else 0.0)
        return found if any(_is_enough(terms, said) for terms in self._terms) else min(found, _TOO_LITTLE)

    def _is_about(self, text: str, speaker: str | None) -> bool:
        if speaker is None or not self.people or speaker in self.people:
            return True
        return not self._names.isdisjoint((*_terms(text), *_terms(speaker)))


def _covered(terms: Collection[str], by: Collection[str]) -> float:
    """Return the share of *terms* that *by* has too, or begins as."""
    return sum(1.0 if term in by else max((_alike(term, one) for one in by), default=0.0) for term in terms) / len(
        terms
    )


def _words(terms: Collection[str]) -> list[str]:
    return [term for term in terms if not any(sign.isdigit() for sign in term)]


def _is_enough(terms: Collection[str], said: Collection[str]) -> bool:
    """Tell whether *said* has enough of the words of a wording; of one with a single word, all that it holds."""
    words = _words(terms)
    if len(words) < _LEAST_WORDS:
        return all(_is_held(term, said) for term in terms)
    return sum(_is_held(term, said) for term in words) >= max(_LEAST_WORDS, _LEAST_SHARE * len(words))


def _is_held(term: str, said: Collection[str]) -> bool:
    return term in said or any(_alike(term, one) > 0 for one in said)


def _alike(one: str, other: str) -> float:
    shared = 0
    for here, there in zip(one, other, strict=False):
        if here != there:
            break
        shared += 1
    if shared >= max(_SHORTEST_STEM, _SHARED_STEM * max(len(one), len(other))):
        return _INFLECTED
    return _related(one, other)


def _related(one: str, other: str) -> float:
    """Return how many pieces two words of one root share (Dice), 0 where they share less than half."""
    if min(len(one), len(other)) < _SHORTEST_RELATED:
        return 0.0
    here, there = _pieces(one), _pieces(other)
    shared = 2 * len(here & there) / (len(here) + len(there))
    return shared if shared >= _RELATED else 0.0


@lru_cache(maxsize=4096)
def _pieces(term: str) -> frozenset[str]:
    return frozenset(term[place : place + 3] for place in range(len(term) - 2))


def _windows(text: str) -> Iterator[str]:
    """Yield each sentence of a text, and each two that follow one another."""
    places = list(_sentences(text))
    yield from (text[start:end] for start, end in places)
    yield from (text[start:end] for (start, _), (_, end) in pairwise(places))


def sentences(text: str) -> list[str]:
    r"""Return the sentences of a text, without the numbers that they have in a list.

    Example:
        >>> sentences("1. Ring the bell.\n2. Wait. Then go in.")
        ['Ring the bell.', 'Wait.', 'Then go in.']
    """
    return [text[start:end] for start, end in _sentences(text)]


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence begins and ends, without the number that it has in a list."""
    start = 0
    for end in (*((one.start(), one.end()) for one in _SENTENCE.finditer(text)), (len(text), len(text))):
        first = mark.end() if (mark := _MARK.match(text, start, len(text))) else start
        if first < end[0]:
            yield first, end[0]
            start = end[1]
        elif not text[start : end[0]].strip():
            start = end[1]


def _terms(text: str) -> list[str]:
    signs = [sign for sign in _SIGN.findall(text) if sign not in _BUILDING and sign not in _KANA]
    return list(dict.fromkeys([*_tokenizer().tokens(text), *signs]))


@cache
def _tokenizer() -> Tokenizer:
    words = (word for one in languages() for word in (*one.stop_words, *one.function_words))
    return Tokenizer(frozenset(word for word in words if " " not in word))
