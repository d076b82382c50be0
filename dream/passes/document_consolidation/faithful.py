"""Whether a new text of MEMORY.md says what the items behind it say, and nothing else."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import regex

from dream.guards.detail import Detail, DetailKind, distinct
from dream.guards.merge_coverage import Coverage, Superseded, coverage
from dream.guards.vocabulary import Vocabulary
from dream.passes.document_consolidation.memory import Piece
from dream.passes.terms import terms_of

_SENTENCE: Final = regex.compile(r"(?<=[.!?;:\u3002\uff01\uff1f\uff1b])\s*")
_KEPT_WORDS: Final = 3
"""A text keeps at least one in so many of the words of each item it takes the place of."""
_NEW_WORDS: Final = 4
"""Of the words of a sentence one in so many, or one at all, may stand in none of them."""
_NEW_WORDS_OF_PATTERNS: Final = 2
"""The same of what is added: a pattern is told in words of its own."""


def compare(text: str, pieces: Sequence[Piece], vocabulary: Vocabulary) -> Coverage:
    """Compare a text with the items that it takes the place of, their headings known.

    Beside the details, each item has to keep some of its words, and each sentence has to be made of theirs: what names
    nothing specific can be replaced, or added, whole.
    """
    found = _details(text, pieces, vocabulary)
    lost = (*found.lost, *_passed_over(text, pieces))
    return Coverage(lost=distinct(lost), invented=distinct((*found.invented, *_unheard(text, pieces, _NEW_WORDS))))


def compare_pattern(text: str, pieces: Sequence[Piece], vocabulary: Vocabulary) -> Coverage:
    """Compare an added text with the items that it cites: it need not repeat them, may count them, makes nothing up."""
    found = _details(text, pieces, vocabulary, f"{len(pieces)} times")
    unheard = _unheard(text, pieces, _NEW_WORDS_OF_PATTERNS)
    return replace(found, lost=(), invented=distinct((*found.invented, *unheard)))


def are_related(pieces: Sequence[Piece]) -> bool:
    """Tell whether each of several items has a word in common with another of them."""
    words = [set(terms_of(piece.said)) for piece in pieces]
    return all(
        any(not mine.isdisjoint(theirs) for other, theirs in enumerate(words) if other != place)
        for place, mine in enumerate(words)
    )


def _details(text: str, pieces: Sequence[Piece], vocabulary: Vocabulary, *known: str) -> Coverage:
    """Compare the details; what the headings say, and what is *known* besides, may be told and need not be."""
    headings = dict.fromkeys(word for piece in pieces for word in (*piece.item.section, *piece.above))
    backing = [Superseded(content=told) for told in (*headings, *known)]
    return coverage([piece.said for piece in pieces], text, vocabulary, superseded=backing)


def _passed_over(text: str, pieces: Sequence[Piece]) -> Iterator[Detail]:
    """Yield the items of whose words too few stand in the text."""
    words = set(terms_of(text))
    for piece in pieces:
        told = set(terms_of(piece.said))
        if len(told & words) * _KEPT_WORDS < len(told):
            yield Detail(DetailKind.QUOTED, piece.said[:200], piece.item.id)


def _unheard(text: str, pieces: Sequence[Piece], share: int) -> Iterator[Detail]:
    """Yield the sentences of the text that are not made of the words of the items and what stands above them."""
    heard = {
        word for piece in pieces for told in (piece.said, *piece.above, *piece.item.section) for word in terms_of(told)
    }
    for sentence in _SENTENCE.split(text):
        words = set(terms_of(sentence))
        if len(words - heard) > max(1, len(words) // share):
            yield Detail(DetailKind.QUOTED, sentence[:200], sentence)
