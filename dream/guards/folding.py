"""When two spellings are the same word."""

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

import regex

from agentcore.lexicon.language import Language, languages
from dream.guards.text_cache import WORD_ROOM, TextCache

V = TypeVar("V")

ELISION: Final = regex.compile(r"(?:[dlnjcsmt]|qu)'(?=\p{L}{2})", regex.IGNORECASE)
"""An article or pronoun that French and its neighbours write as one with the next word."""

_POSSESSIVES: Final = ("'s", "s'")
_INFLECTED: Final = regex.compile(r"(?P<stem>\p{Lu}{2,})(?:s|'?e?d|'?ing)|(?P<stem>\p{L}{2,})'(?:e?d|ing)")
"""An acronym used as a verb or in the plural: `CC'd`, `CCed`, `cc'ing`, `PCs`."""
_TITLES: Final = {
    spelling: title for one in languages() for title, spellings in one.titles.items() for spelling in spellings
}
"""The short form of each title by its spellings, as `word_key` would leave them."""
_DIGITS_AND_SIGNS: Final = {
    ord("’"): "'",
    ord("‘"): "'",
    ord("ʼ"): "'",
    ord("："): ":",
    ord("٫"): ".",
    ord("٬"): ",",
    ord("．"): ".",
    ord("％"): "%",
    ord("／"): "/",
    ord("－"): "-",
}


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
    """Return the form in which a word, its possessive, its plural in `s` and the short form of a title are equal.

    Example:
        >>> word_key("Ana's"), word_key("Lanterns"), word_key("Lantern"), word_key("James'"), word_key("CC'd")
        ('ana', 'lantern', 'lantern', 'jame', 'cc')
        >>> word_key("Doctor"), word_key("Dr")
        ('dr', 'dr')
    """
    return _KEYS[word]


def fold_word(word: str) -> str:
    """Return what `fold` does, of a word that is met again and again."""
    return _FOLDED[word]


def _key(word: str) -> str:
    inflected = _INFLECTED.fullmatch(word)
    folded = fold(inflected["stem"] if inflected else word)
    if folded in _TITLES:
        return _TITLES[folded]
    for ending in _POSSESSIVES:
        folded = folded.removesuffix(ending) if ending == "'s" else folded.removesuffix("'")
    return folded[:-1] if len(folded) > 3 and folded.endswith("s") and not folded.endswith("ss") else folded


_KEYS: Final = TextCache(_key, room=WORD_ROOM)
_FOLDED: Final = TextCache(fold, room=WORD_ROOM)


def folded_words(read: Callable[[Language], Iterable[str]]) -> tuple[str, ...]:
    """Return what *read* finds in any language, folded, each once.

    Example:
        >>> "ca fait" in folded_words(lambda one: one.since)
        True
    """
    return tuple(dict.fromkeys(fold(word) for one in languages() for word in read(one)))


def folded_values(read: Callable[[Language], Mapping[V, Iterable[str]]]) -> dict[str, V]:
    """Return the value of each word of the tables that *read* finds in any language, by the word, folded.

    Example:
        >>> folded_values(lambda one: one.months)["fevrier"]
        2
    """
    return {fold(word): value for one in languages() for value, words in read(one).items() for word in words}


def words_in(text: str) -> frozenset[str]:
    """Return the words of a table that is written as one text.

    Example:
        >>> sorted(words_in("not never"))
        ['never', 'not']
    """
    return frozenset(text.split())


def one_form(text: str) -> str:
    """Bring digits of all scripts and shapes and apostrophes into one form, character by character: places stay.

    A raised or circled digit is one, but for a power: behind a digit it stays as it is.

    Example:
        >>> one_form("٢٠١٧ and Ana’s"), one_form("CO₂, 20 m², ③, 10³")
        ("2017 and Ana's", 'CO2, 20 m2, 3, 10³')
    """
    if text.isascii():
        return text
    table: dict[int, str] = dict(_DIGITS_AND_SIGNS)
    for character in set(text):
        if not character.isascii() and unicodedata.category(character) == "Nd":
            table[ord(character)] = str(unicodedata.decimal(character))
    return _SHAPED.sub(_as_digits, text.translate(table))


def _as_digits(shaped: "regex.Match[str]") -> str:
    return "".join(str(unicodedata.digit(character, character)) for character in shaped.group())


_SHAPED: Final = regex.compile(r"(?<![\d\p{No}])\p{No}+")
