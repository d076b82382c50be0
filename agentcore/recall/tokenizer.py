"""Turns text into search terms: the one place that decides what counts as the same word."""

import re
import unicodedata
from collections.abc import Callable
from importlib import import_module
from threading import Lock
from typing import Final, Protocol, cast

import regex

from agentcore.lexicon.language import language

ENGLISH_STOP_WORDS: Final = frozenset(language("en").stop_words)
"""Casefolded, unstemmed. `us` and `may` stay searchable, as they are also a country and a month."""

_ACCENTS = regex.compile(r"\p{M}+")

_LETTERS: Final = str.maketrans(
    {
        "\u0110": "d",
        "\u0111": "d",  # đ
        "\u00f0": "d",  # ð
        "\u0127": "h",  # ħ
        "\u0131": "i",  # dotless i
        "\u0142": "l",  # ł
        "\u00f8": "o",  # ø
        "\u0167": "t",  # ŧ
        "\u00e6": "ae",  # æ
        "\u0153": "oe",  # œ
        "\u00fe": "th",  # þ
    }
)
"""Letters that people write without their stroke, and that Unicode does not take apart."""

_ARABIC: Final = str.maketrans(
    {
        "\u0622": "\u0627",
        "\u0623": "\u0627",
        "\u0625": "\u0627",
        "\u0671": "\u0627",  # alef, bare
        "\u0629": "\u0647",  # teh marbuta as heh
        "\u0649": "\u064a",
        "\u06cc": "\u064a",  # alef maksura and Farsi yeh as yeh
        "\u06a9": "\u0643",  # keheh as kaf
    }
)
"""Letters of the Arabic script that are typed one for the other."""

_ARTICLE = regex.compile("^(?:\u0627\u0644|\u0644\u0644)(?=..)|^[\u0648\u0628\u0643\u0641]\u0627\u0644(?=...)")
"""The article before two letters or more, and behind `and`, `in`, `as` and `so` before three; `for the` is one word."""


def without_accents(word: str) -> str:
    """Return a folded Latin word as somebody types it who has no accents at hand.

    Words that differ in nothing else become one; which of them is meant, the words beside it tell better than an accent
    that many leave out.

    Example:
        >>> [without_accents(word) for word in ("reuni\u00e3o", "k\u00f6nigstrasse", "\u0142\u00f3d\u017a", "plain")]
        ['reuniao', 'konigstrasse', 'lodz', 'plain']
    """
    if word.isascii():
        return word
    return _ACCENTS.sub("", unicodedata.normalize("NFD", word.translate(_LETTERS)))


def without_article(word: str) -> str:
    """Return a word of the Arabic script without the definite article, letters typed one for the other being one.

    After the normalisation and the prefixes of the stemmers in Larkey, Ballesteros and Connell, "Light Stemming for
    Arabic Information Retrieval", 2007; endings stay, as not every language of the script has those of Arabic.

    Example:
        >>> without_article("\u0627\u0644\u0642\u0647\u0648\u0629") == without_article("\u0642\u0647\u0648\u0647")
        True
    """
    return _ARTICLE.sub("", word.translate(_ARABIC))


MAX_TERM_LENGTH: Final = 64
"""Characters of a word that are compared; longer ones are hashes, encoded files or noise."""

MAX_QUERY_TERMS: Final = 1024
"""Terms of a query that are looked up; no question has as many, a pasted file does."""

MAX_QUERY_LENGTH: Final = 100_000
"""Characters of a query that are read, as many as an entry may have: cutting more into terms holds others up."""

_MEMO_ENTRIES: Final = 50_000

_UNSPACED = r"[[\p{Han}\p{Hiragana}\p{Katakana}ーｰﾞﾟ\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]&&\w]"
# Composed Latin letters, punctuation, signs and emoji: nothing here is invisible, decomposed or unspaced.
_PLAIN_TEXT = re.compile(
    "[\0-\xac\xae-\u024f\u2010-\u2027\u2030-\u203e\u20a0-\u20bf\u2500-\u27bf\U0001f300-\U0001faff]*"
)
_PLAIN_WORD = re.compile("[A-Za-z0-9_\xaa\xb5\xba\xc0-\xd6\xd8-\xf6\xf8-\u024f]+")
_WORD = regex.compile(r"\w+")
_RUN = regex.compile(rf"{_UNSPACED}+", regex.V1)
_RUN_OR_WORD = regex.compile(rf"({_UNSPACED}+)|([\w--{_UNSPACED}]+)", regex.V1)

_LETTER_OR_DIGIT = regex.compile(r"[\p{L}\p{N}]")
_LATIN_WORD = regex.compile(r"[\p{Latin}\p{M}\p{N}_]*\p{Latin}[\p{Latin}\p{M}\p{N}_]*")
_ARABIC_WORD = regex.compile(r"\p{Arabic}+")
# No rule of the stemmer is about a word that ends so (the tests hold both sides against each other).
_ENDINGS_LEFT_ALONE: Final = frozenset("abfhjkopquvwxz0123456789")
# Two small letters after the last capital of an acronym begin a word; one, as in PDFs, makes it plural.
_HUMP = regex.compile(r"(?<=\p{Ll})(?=\p{Lu})|(?<=\p{N})(?=\p{Lu}\p{Ll})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})", regex.V1)

# Joiners, direction marks, soft hyphens and emoji selectors change how a word looks, never which word it is.
_INVISIBLE = regex.compile(
    r"[\u00ad\u061c\u180e\u200c-\u200f\u202a-\u202e\u2060-\u2069\u20e3\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)

# Vowel points and accents of Hebrew and Arabic, and the stroke that widens an Arabic word: nearly nobody writes them,
# and who does means the same word.
_POINTS = regex.compile(
    r"[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc"
    r"\u06df-\u06e8\u06ea-\u06ed]+"
)

# NFC sorts a run of marks in quadratic time: 80,000 of them cost 4 s. No real text has more than 30 in a row
# (Unicode Standard Annex 15, section 13, "Stream-Safe Text Format").
_MARK_FLOOD = regex.compile(r"(\p{M}{30})\p{M}+")


class _Stemmer(Protocol):
    def stemWord(self, word: str, /) -> str: ...  # noqa: N802 - snowballstemmer's name


class Tokenizer:
    """Cuts text into search terms; keep one for as long as the index it feeds. May be shared by threads.

    Words are runs of Unicode letters, digits and combining marks after NFC, casefolded, without the vowel points of
    Hebrew and Arabic. Latin ones lose their accents and are reduced to their English Snowball stem, Arabic ones lose
    their article (`agentcore.recall.tokenizer`); stop words are dropped; numbers and one- or two-letter words
    stay. Scripts written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) become overlapping
    pairs of characters, a lone character staying as it is. An identifier such as `user_name` or
    `getUserName` yields itself and its parts of two or more letters.

    A text of stop words alone keeps them, document and query alike: "To be or not to be" can be found.

    Args:
        stop_words: Casefolded words to drop.

    Example:
        >>> Tokenizer().tokens("Ana's AI moved to Lisbon; she is running getUserName() in C.")
        ['ana', 'ai', 'move', 'lisbon', 'run', 'getusernam', 'get', 'user', 'name', 'c']
    """

    def __init__(self, stop_words: frozenset[str] = ENGLISH_STOP_WORDS) -> None:
        stems = _Stems()
        self._kept = _TokenMemo(stop_words, stems)
        self._all = _TokenMemo(frozenset(), stems)

    def tokens(self, text: str) -> list[str]:
        """The terms of a document, in reading order, repeated as often as they occur.

        Args:
            text: Any string, of any length; what holds no word yields no term.

        Example:
            >>> Tokenizer().tokens("北京大学 in Peking")
            ['北京', '京大', '大学', 'peke']
        """
        if text.isascii() or _PLAIN_TEXT.fullmatch(text) is not None:
            words: list[str] = _PLAIN_WORD.findall(text)
            return self._terms(words)
        text = _INVISIBLE.sub("", text)
        text = _POINTS.sub("", unicodedata.normalize("NFC", _MARK_FLOOD.sub(r"\1", text)))
        if _RUN.search(text) is None:
            return self._terms(cast("list[str]", _WORD.findall(text)))
        return self._mixed_terms(text)

    def query_tokens(self, text: str) -> list[str]:
        """The terms of a query: those of a document with the same text, but no more than `MAX_QUERY_TERMS`.

        Args:
            text: What was asked, of any length; what is beyond `MAX_QUERY_LENGTH` is not read.

        Example:
            >>> Tokenizer().query_tokens("Where does Ana live?")
            ['ana', 'live']
        """
        return self.tokens(text[:MAX_QUERY_LENGTH])[:MAX_QUERY_TERMS]

    def _terms(self, words: list[str]) -> list[str]:
        kept = self._kept
        terms = [term for word in words for term in kept[word]]
        return terms or [term for word in words for term in self._all[word]]

    def _mixed_terms(self, text: str) -> list[str]:
        terms: list[str] = []
        for run, word in cast("list[tuple[str, str]]", _RUN_OR_WORD.findall(text)):
            if word:
                terms.extend(self._kept[word])
            elif len(run) == 1:
                terms.append(run)
            else:
                terms.extend(run[start : start + 2] for start in range(len(run) - 1))
        return terms


class _TokenMemo(dict[str, tuple[str, ...]]):
    """The terms of each word seen, as written: folding, stemming and splitting are paid once per spelling."""

    def __init__(self, stop_words: frozenset[str], stems: "_Stems") -> None:
        super().__init__()
        self._stop_words = stop_words
        self._stems = stems

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(word) > MAX_TERM_LENGTH:
            return self[word[:MAX_TERM_LENGTH]]
        if len(self) >= _MEMO_ENTRIES:
            self.clear()
        terms = self._plain(word.lower()) if _is_plain(word) else self._pieces(word)
        self[word] = terms
        return terms

    def _plain(self, folded: str) -> tuple[str, ...]:
        return () if folded in self._stop_words else (self._stems[folded],)

    def _pieces(self, word: str) -> tuple[str, ...]:
        return tuple(term for piece in _pieces(word) if (term := self._term(piece)) is not None)

    def _term(self, word: str) -> str | None:
        folded = unicodedata.normalize("NFC", word.casefold())
        if folded in self._stop_words or _LETTER_OR_DIGIT.search(folded) is None:
            return None
        if _LATIN_WORD.fullmatch(folded) is not None:
            return self._stems[without_accents(folded)]
        return without_article(folded) if _ARABIC_WORD.fullmatch(folded) is not None else folded


class _Stems(dict[str, str]):
    """The stem of each folded word seen: stemming is paid once however the word is written."""

    def __init__(self) -> None:
        super().__init__()
        self._stem: Callable[[str], str] | None = None
        # The stemmer keeps the word it works on, so that threads take turns.
        self._turn = Lock()

    def __missing__(self, word: str) -> str:
        if word[-1] in _ENDINGS_LEFT_ALONE:
            return word
        with self._turn:
            if self._stem is None:
                self._stem = _english_stemmer().stemWord
            if len(self) >= _MEMO_ENTRIES:
                self.clear()
            stem = self[word] = self._stem(word)
        return stem


def _english_stemmer() -> _Stemmer:
    # The package imports every language it knows (20 ms), so only the first word to be stemmed pays for it.
    factory = cast("Callable[[str], _Stemmer]", import_module("snowballstemmer").stemmer)
    return factory("english")


def _is_plain(word: str) -> bool:
    """Whether a word is one piece of unaccented letters, as nearly all are; the others need a closer look."""
    return word.isascii() and word.isalpha() and (word.islower() or word.isupper() or word[1:].islower())


def _pieces(word: str) -> list[str]:
    """A word itself and, if it is an identifier, its parts of two or more characters."""
    whole = word.strip("_")
    if "_" not in whole and _HUMP.search(whole) is None:
        return [whole]
    parts = [hump for part in whole.split("_") for hump in cast("list[str]", _HUMP.split(part))]
    return [whole, *(part for part in parts if len(part) > 1)]
