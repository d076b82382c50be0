"""When two spellings are the same word."""

import unicodedata
from typing import Final

import regex

from dream.guards.memo import WORDS, Memo

ELISION: Final = regex.compile(r"(?:[dlnjcsmt]|qu)'(?=\p{L}{2})", regex.IGNORECASE)
"""An article or pronoun that French and its neighbours write as one with the next word."""

_POSSESSIVES: Final = ("'s", "s'")
_DIGITS_AND_SIGNS: Final = {ord("’"): "'", ord("‘"): "'", ord("ʼ"): "'", ord("："): ":", ord("٫"): ".", ord("٬"): ","}


def fold(word: str) -> str:
    """Return a word case folded and without accents; a letter without case keeps its marks.

    Example:
        >>> fold("São"), fold("MÄRZ")
        ('sao', 'marz')
    """
    folded = word.casefold()
    if folded.isascii():
        return folded
    parts = unicodedata.normalize("NFD", folded)
    return unicodedata.normalize("NFC", "".join(part for part in parts if not "\u0300" <= part <= "\u036f"))


def word_key(word: str) -> str:
    """Return the form in which a word, its possessive and its plural in `s` are equal.

    Example:
        >>> word_key("Ana's"), word_key("Lanterns"), word_key("Lantern"), word_key("James'")
        ('ana', 'lantern', 'lantern', 'jame')
    """
    return _KEYS[word]


def fold_word(word: str) -> str:
    """Return what `fold` does, of a word that is met again and again."""
    return _FOLDED[word]


def _key(word: str) -> str:
    folded = fold(word)
    for ending in _POSSESSIVES:
        folded = folded.removesuffix(ending) if ending == "'s" else folded.removesuffix("'")
    return folded[:-1] if len(folded) > 3 and folded.endswith("s") and not folded.endswith("ss") else folded


_KEYS: Final = Memo(_key, room=WORDS)
_FOLDED: Final = Memo(fold, room=WORDS)


def words_in(text: str) -> frozenset[str]:
    """Return the words of a table that is written as one text.

    Example:
        >>> sorted(words_in("not never"))
        ['never', 'not']
    """
    return frozenset(text.split())


def one_form(text: str) -> str:
    """Bring digits of all scripts and apostrophes into one form, character by character: places stay the same.

    Example:
        >>> one_form("٢٠١٧ and Ana’s")
        "2017 and Ana's"
    """
    if text.isascii():
        return text
    table: dict[int, str] = dict(_DIGITS_AND_SIGNS)
    for character in set(text):
        if not character.isascii() and unicodedata.category(character) == "Nd":
            table[ord(character)] = str(unicodedata.decimal(character))
    return text.translate(table)
