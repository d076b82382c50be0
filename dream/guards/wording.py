"""Reads texts as sentences of words, so that two sentences are equal whatever their case, spacing and punctuation."""

import unicodedata
from collections.abc import Iterator
from typing import Final

from dream.guards.folding import one_form
from dream.guards.languages import ABBREVIATED, QUESTION
from dream.guards.patterns import TEXT_ROOM, TextCache, lazy_pattern

Words = tuple[str, ...]
"""The words, numbers and signs of a sentence, as they are compared."""

_END = lazy_pattern(r"(?<=[.!?؟][\"'”’»)\]]*)\s+(?!\p{Ll})|(?<=[。！？][」』”]*)(?![」』”])")
_LINE = lazy_pattern(r"\n+")
_ITEM = lazy_pattern(r"^\s*(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>)\s")
_MARK = lazy_pattern(r"\s*\d{1,3}\.")
_ENDED = lazy_pattern(r"[.!?؟。！？\"'”’»)\]]\s*$")
_WORD = lazy_pattern(
    r"`[^`\n]+`|\w+://[^\s<>\"'`，。、）」』]+"  # code and addresses
    r"|-?\d+(?:[.,:/\-'_]\d+)*|[\p{L}\p{M}_]+(?:'[\p{L}\p{M}]+)*'?"
    r"|[\p{Sc}\p{Sm}\p{So}\p{No}\p{Nl}%‰°@&/\\]|(?<=\S)#|#(?=\S)"
)
_MINUS = lazy_pattern(r"(?<![\p{L}\p{N}])[\u2010-\u2015\u2212](?=\d)")
_SHAPES: Final = {place: place - 0xFEE0 for place in range(0xFF01, 0xFF5F)}
"""Full-width letters and signs, and the characters that they are."""


def plain(text: str) -> str:
    """Return a text without format characters, in one form of letters, digits and apostrophes.

    Example:
        >>> plain("Ａna pays ６0\u200b ‘euros’")
        "Ana pays 60 'euros'"
    """
    return _PLAIN[text]


def _plain(text: str) -> str:
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFC", text).translate(_SHAPES)
    return one_form(_FORMAT.sub("", composed))


_FORMAT = lazy_pattern(r"[\p{Cf}\uFE00-\uFE0F]+")
_PLAIN: Final = TextCache(_plain, room=TEXT_ROOM)


def sentences_of(text: str) -> tuple[str, ...]:
    r"""Return the sentences of a text; a line ends one only before an item of a list or behind a stop.

    Example:
        >>> sentences_of("Ana met Dr. Silva. She\nlikes him.")
        ('Ana met Dr. Silva.', 'She\nlikes him.')
    """
    return _SENTENCES[plain(text)]


def _sentences(text: str) -> tuple[str, ...]:
    found: list[str] = []
    whole = True
    for line in _lines(text):
        for piece in _END.split(line):
            if not piece or not piece.strip():
                continue
            if found and not whole:
                found[-1] += f" {piece}"
            else:
                found.append(piece)
            whole = ABBREVIATED.search(piece) is None and _MARK.fullmatch(piece) is None
        whole = True
    return tuple(one.strip() for one in found)


def _lines(text: str) -> Iterator[str]:
    current = ""
    for line in _LINE.split(text):
        if current and (_ITEM.search(line) or _ENDED.search(current)):
            yield current
            current = line
        else:
            current = f"{current}\n{line}" if current else line
    yield current


_SENTENCES: Final = TextCache(_sentences, room=TEXT_ROOM)


def words_of(sentence: str) -> Words:
    """Return the words of a sentence as they are compared; code and addresses keep their case.

    Example:
        >>> words_of("Ana pays €1.50, always!") == words_of("ana pays € 1.50 always")
        True
    """
    return _WORDS[sentence]


def _words(sentence: str) -> Words:
    body = _MINUS.sub("-", _ITEM.sub("", plain(sentence)))
    return tuple(word if word[0] == "`" or "://" in word else word.casefold() for word in _WORD.findall(body))


_WORDS: Final = TextCache(_words, room=TEXT_ROOM)


def is_question(sentence: str) -> bool:
    """Tell whether a sentence asks."""
    return QUESTION.search(sentence) is not None


def is_item(sentence: str) -> bool:
    """Tell whether a sentence is an item of a list, or the line above one."""
    return _ITEM.search(sentence) is not None or sentence.rstrip().endswith((":", "："))
