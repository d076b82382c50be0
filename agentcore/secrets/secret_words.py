"""Knows the words around secrets, of all languages, and folds texts so that they are found however they are written.

A language's file has them in its table `secrets`:

- `passwords`: what is secret by its name, such as a password or a PIN; `tokens`: the same that is never a plain number;
- `no_values`: what is said of a secret and is none, such as `forgotten`;
- `codes`: what is secret if it opens something, such as a code; `keys`: the same of what connects somewhere;
- `locks`: what is opened; `logins`: what is connected to;
- `entering`: what is done with a secret, and comes right before it; `opening`: what is done by it; `using`: using;
- `links`: forms of *is*; `fillers`: what may stand between such a word and a secret;
- `namely`: words before a secret that is worked out; `as_before`: how people say that it is nearly the old one;
- `with`: words before what something is opened with; `changed`: how people say that it is another one now; `into`:
  words before the new one;
- `derived`: what secrets are made of, such as a pet's name; `signs`: how signs are said; `spelling`: how it is said
  that letters are capitals or small, and words without gaps;
- `digits`: how digits are said; `turns`: directions of a dial; `safes`: what is opened by a number and nothing else;
- `seeds`: lists of words that restore a wallet;
- `harmless`: names with such a word that are no secret, such as a postal code.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import regex

from agentcore.lexicon import languages

_UNSPACED: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]")
_PIECE: Final = regex.compile(r"[[^\W_]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]]+", regex.V1)
_GAP: Final = 3
"""Characters between the words of a phrase at most."""
_HARMLESS: Final = "harmless"
_UNMARKED: Final = frozenset({"no_values", "digits", "fillers"})
"""Kinds that are asked of a word alone."""
_ARABIC_BEFORE: Final = "وبلكف"
_ARABIC_BEHIND: Final = ("هما", "كم", "هم", "نا", "ها", "ي", "ك", "ه")
_CYRILLIC_ENDINGS: Final = ("ами", "ями", "ах", "ях", "ам", "ям", "ов", "ом", "ем", "ой", "ей", *"аеиоуыюя")
_CYRILLIC_BARE: Final = ("", "а", "ь", "я")
_LEAST_STEM: Final = 4
_JOINED: Final = 6
"""Letters from which a word is known at the end of a longer one, as in `Druckerpasswort`."""
_INVISIBLE: Final = regex.compile(
    r"[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\u20e3\u0640\u064b-\u065f\u0670]+"
)
_BOTH_SCRIPTS: Final = regex.compile(r"[\p{Latin}]++[\p{Cyrillic}\p{Greek}]|[\p{Cyrillic}\p{Greek}]++\p{Latin}")
_WORD: Final = regex.compile(r"\w+")
_LOOKALIKES: Final = str.maketrans("аеорсухіѕԁοανАЕОРСХІΟΑ", "aeopcyxisdoavAEOPCXIOA")


class _Folding(dict[int, int | str]):
    """The folded form of each character that was met: one character for one, so that places stay what they are."""

    def __missing__(self, code: int) -> int | str:
        apart = unicodedata.normalize("NFD", chr(code).lower())
        bare = unicodedata.normalize("NFC", "".join(one for one in apart if not "\u0300" <= one <= "\u036f"))
        self[code] = folded = bare if len(bare) == 1 else code
        return folded


_FOLDING: Final = _Folding()


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text as it is searched for secrets.

    Args:
        plain: Without what is not seen, in one form of each letter and digit.
        folded: The same in small letters without accents, each character at the same place.
    """

    plain: str
    folded: str

    @classmethod
    def of(cls, text: str) -> "FoldedText":
        r"""Return a text as it is searched.

        Example:
            >>> FoldedText.of("Pass\u200bwort: ４７１１").plain, FoldedText.of("CONTRASEÑA").folded
            ('Passwort: 4711', 'contrasena')
        """
        if text.isascii():
            return cls(text, text.lower())
        plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
        plain = "".join(str(unicodedata.decimal(one, one)) for one in plain)
        if _BOTH_SCRIPTS.search(plain) is not None:
            plain = _WORD.sub(lambda word: _in_one_script(word.group()), plain)
        return cls(plain, plain.translate(_FOLDING))


def _in_one_script(word: str) -> str:
    return word.translate(_LOOKALIKES) if _BOTH_SCRIPTS.search(word) is not None else word


@dataclass(frozen=True, slots=True)
class Mark:
    """A place of a text that a word around secrets takes.

    Args:
        start: Where it begins.
        end: Where it ends.
        kind: What it tells, as the table of the language names it.
    """

    start: int
    end: int
    kind: str


def marks_of(folded: str) -> list[Mark]:
    """Return the words around secrets in a folded text, in their order; those of harmless names are not among them.

    Example:
        >>> [(mark.start, mark.kind) for mark in marks_of("the code of the door is 4711, the postal code 1200")]
        [(4, 'codes'), (16, 'locks'), (21, 'links')]
    """
    found = [*_spaced_marks(folded), *_unspaced_marks(folded)]
    harmless = [mark for mark in found if mark.kind == _HARMLESS]
    if harmless:
        taken = {place for mark in harmless for place in range(mark.start, mark.end)}
        found = [mark for mark in found if mark.start not in taken and mark.end - 1 not in taken]
    named = {place for mark in found if mark.kind == "passwords" for place in range(mark.start, mark.end)}
    # The last word of `mot de passe` says of nothing that it was changed.
    found = [mark for mark in found if mark.kind != "changed" or mark.start not in named]
    return sorted(found, key=lambda mark: (mark.start, -mark.end))


def _spaced_marks(folded: str) -> Iterator[Mark]:
    phrases, endings = _phrases(), _endings()
    words = list(_PIECE.finditer(folded))
    for place, word in enumerate(words):
        text = word.group()
        for form in _forms(text):
            for rest, kinds in phrases.get(form, ()):
                end = _end_of(words, place, rest)
                if end:
                    yield from (Mark(word.start(), end, kind) for kind in kinds)
        if len(text) > _JOINED and text not in phrases and text.endswith(endings):
            yield Mark(word.start(), word.end(), "passwords")


def _forms(word: str) -> tuple[str, ...]:
    """Return a word, an Arabic one also without what is written together with it, a Russian one also with no case."""
    if word.isascii():
        return (word,)
    if "\u0400" <= word[0] <= "\u04ff":
        stems = {word.removesuffix(end) for end in _CYRILLIC_ENDINGS if len(word) - len(end) >= _LEAST_STEM}
        return (word, *(f"{stem}{end}" for stem in stems - {word} for end in _CYRILLIC_BARE))
    if not "\u0600" <= word[0] <= "\u06ff":
        return (word,)
    begun = {word, word[1:]} if word[0] in _ARABIC_BEFORE else {word}
    return (*begun, *(form.removesuffix(end) for form in begun for end in _ARABIC_BEHIND if form.endswith(end)))


def _end_of(words: Sequence["regex.Match[str]"], place: int, rest: tuple[str, ...]) -> int:
    """Return where a phrase ends that begins at a place; 0 if other words follow."""
    last = place + len(rest)
    if last >= len(words):
        return 0
    for offset, wanted in enumerate(rest, 1):
        one = words[place + offset]
        if wanted not in _forms(one.group()) or one.start() - words[place + offset - 1].end() > _GAP:
            return 0
    return words[last].end()


def _unspaced_marks(folded: str) -> Iterator[Mark]:
    if folded.isascii() or _UNSPACED.search(folded) is None:
        return
    pattern, kinds = _unspaced()
    for match in pattern.finditer(folded):
        for kind in kinds[match.group()]:
            yield Mark(match.start(), match.end(), kind)


@cache
def secret_words(kind: str) -> frozenset[str]:
    """Return the words of one kind in all languages, folded."""
    return frozenset(word for word, kinds in _words().items() if kind in kinds)


@cache
def _words() -> Mapping[str, tuple[str, ...]]:
    """Return the kinds of each word, folded."""
    found: dict[str, list[str]] = {}
    for one in languages():
        for kind, words in one.secrets.items():
            for word in words:
                found.setdefault(FoldedText.of(word).folded, []).append(kind)
    return {word: tuple(dict.fromkeys(kinds)) for word, kinds in found.items()}


@cache
def _phrases() -> Mapping[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]]:
    """Return, by its first word, what follows in a phrase, and its kinds."""
    found: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
    for phrase, kinds in _words().items():
        marked = tuple(kind for kind in kinds if kind not in _UNMARKED)
        if marked and _UNSPACED.search(phrase) is None:
            first, *rest = _PIECE.findall(phrase)
            found.setdefault(first, []).append((tuple(rest), marked))
            joined = "".join((first, *rest))
            if rest and "passwords" in marked and joined not in _words() and len(joined) > _JOINED:
                found.setdefault(joined, []).append(((), marked))
    return {word: tuple(phrases) for word, phrases in found.items()}


@cache
def _endings() -> tuple[str, ...]:
    known = _words().items()
    return tuple(word for word, kinds in known if "passwords" in kinds and len(word) >= _JOINED and word.isalpha())


@cache
def _unspaced() -> tuple["regex.Pattern[str]", Mapping[str, tuple[str, ...]]]:
    """Return a pattern of the words that stand in a run of letters, grouped by how they begin, and their kinds."""
    told = {word: tuple(one for one in kinds if one not in _UNMARKED) for word, kinds in _words().items()}
    kinds = {word: kinds for word, kinds in told.items() if kinds and _UNSPACED.search(word) is not None}
    groups: dict[str, list[str]] = {}
    for word in sorted(kinds, key=len, reverse=True):
        groups.setdefault(word[0], []).append(regex.escape(word[1:]))
    return regex.compile("|".join(f"{regex.escape(one)}(?:{'|'.join(ends)})" for one, ends in groups.items())), kinds
