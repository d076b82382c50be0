"""When two spellings are the same word."""

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

import regex

from agentcore.lexicon.language import Language, languages
from dream.guards.detail import DetailKind, TextScan
from dream.guards.patterns import WORD_ROOM, TextCache, lazy_pattern

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


_CODE = lazy_pattern(r"```(?P<block>[^`]{1,4000})```|`(?P<span>[^`\n]{1,400})`")
_URL = lazy_pattern(r"(?:https?://|www\.)[^\s<>\"'`\x1a，。、）」』]+", regex.IGNORECASE)
_URL_END: Final = ".,;:!?)]}*_"
_EMAIL = lazy_pattern(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_IDENTIFIER = lazy_pattern(
    r"(?<![\w/])(?:~|\.{1,2})?/[\w.-]+(?:/[\w.-]+)*/?"  # a path
    r"|(?<![\w+])\+?\(?\d{2,4}\)?(?:[ -]\d{2,4}){2,5}(?![\w-])"  # a telephone number
    r"|(?<![\w.])v?\d+(?:\.\d+){2,5}(?![\w.]*\d)"  # a version, an address
    r"|(?<![\w.])(?:(?:version|versión|versão|versione|versie|release)\s)?v(?:er)?\.?\s?\d+(?:\.\d+)*(?![\w.]*\d)"
    r"|(?<!\w)(?:version|versión|versão|versione|versie)\s\d+(?:\.\d+)*(?![\w.]*\d)"
    r"|(?<![\w.-])[\p{Latin}\d_]+(?:[-.][\p{Latin}\d_]+)*",  # a word, if it is a name of a thing: see _is_identifier
    regex.IGNORECASE,
)
_FILE_ENDING = lazy_pattern(r"[\w-]{2,}\.[a-z][a-z0-9]{1,4}")
_TIGHT = lazy_pattern(r"[\s()-]")
_VERSION = lazy_pattern(r"(?:version|versione|versao|versie|release)?(?:v(?:er)?\.?)?(?P<n>\d+(?:\.\d+)*)")
# No identifier is without a digit, a slash, an underscore, a capital inside a word, or the ending of a file.
_HINT = lazy_pattern(r"[\d/_]|\p{Ll}\p{Lu}|\.[a-z]")
_GROUPED = lazy_pattern(r"\d{1,3}(?:\.\d{3})+")
_COUNTED = lazy_pattern(r"\d{1,4}(?:-\p{Ll}{3,})+")
"""A number before a word, as in `12-page`: it is read as a number."""
_HUMP = lazy_pattern(r"\p{Ll}\p{Lu}")
_GLUED: Final = frozenset({"e.g", "i.e", "a.m", "p.m", "dott.ssa", "prof.ssa"})
_SPACE = lazy_pattern(r"\s+")


def read_verbatim(scan: TextScan) -> None:
    """Find code and addresses, and cover them."""
    if "`" in scan.text:
        _take(scan, DetailKind.CODE, _CODE)
    if "://" in scan.text or "www." in scan.text.casefold():
        _take(scan, DetailKind.URL, _URL)
    if "@" in scan.text:
        _take(scan, DetailKind.EMAIL, _EMAIL)


def _take(scan: TextScan, kind: DetailKind, pattern: "regex.Pattern[str]") -> None:
    spans: list[tuple[int, int]] = []
    for match in pattern.finditer(scan.text):
        written = match.group() if kind is not DetailKind.URL else match.group().rstrip(_URL_END)
        scan.add(kind, match.start(), match.start() + len(written), _literal_key(kind, written))
        spans.append((match.start(), match.start() + len(written)))
    scan.cover(spans)


def _literal_key(kind: DetailKind, written: str) -> str:
    if kind is DetailKind.CODE:
        return _SPACE.sub(" ", written.strip("`").strip())
    if kind is DetailKind.EMAIL:
        return written.casefold().rstrip(".")
    scheme, _, rest = written.rpartition("://")
    host, slash, path = rest.partition("/")
    # A browser asks for the same page whether or not "https://" stands before "www.".
    known = scheme.casefold() if scheme else "https"
    return f"{known}://{host.casefold()}{slash}{path}".rstrip("/")


def read_identifiers(scan: TextScan) -> None:
    """Find paths, file names, telephone numbers, versions and words with digits, humps or underscores; cover them."""
    if _HINT.search(scan.text) is None:
        return
    scan.take(
        DetailKind.IDENTIFIER,
        _IDENTIFIER,
        lambda match: identifier_key(match.group()) if _is_identifier(match.group()) else None,
    )


def identifier_key(word: str) -> str:
    """Return the form in which `RTX-4090`, `rtx4090` and `RTX 4090` are equal, and `v2.14` and `version 2.14`."""
    key = _TIGHT.sub("", fold(word)).rstrip("./")
    version = _VERSION.fullmatch(key)
    return version["n"] if version else key


def _is_identifier(word: str) -> bool:
    if word.isalpha() or _GROUPED.fullmatch(word) or _COUNTED.fullmatch(word):
        return _HUMP.search(word) is not None
    if "/" in word:
        return len(word) > 2
    digits = any(character.isdigit() for character in word)
    if digits and (word[0] == "+" or " " in word or word.count(".") > 1 or word.count("-") > 1):
        return True
    if word.replace(".", "").replace("-", "").isdigit():
        return False
    letters = any(character.isalpha() for character in word)
    if letters and (digits or "_" in word):
        return True
    return bool(_HUMP.search(word) or (_FILE_ENDING.fullmatch(word) and word.casefold() not in _GLUED))
