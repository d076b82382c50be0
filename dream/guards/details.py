"""Finds the details of a text that a merge must keep, and indexes texts to tell whether they hold a detail.

Both are pure, and linear in the text's length; a detail stands in a text in any spelling that counts as the same. In
scripts that have no capitals a name is what the store's own index says is rare, katakana, or what stands before a
title: terms are those of the recall index, pairs of characters for scripts without spaces, whole words for the others.
A term is rare if at most `RARE_AT_MOST` entries hold it. Without an index, katakana and names before a title are found.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Final, cast

import regex

from agentcore.lexicon.language import recognised
from dream.guards import dates, numbers
from dream.guards.dates import read_dates, read_times
from dream.guards.detail import Detail, DetailKind, TextScan, distinct
from dream.guards.folding import fold, identifier_key, one_form, read_identifiers, read_verbatim, squeezed, words_in
from dream.guards.languages import language_of, language_of_all
from dream.guards.names import (
    Vocabulary,
    WrittenWord,
    joined_words,
    lower_case_keys,
    read_names,
    word_keys,
    written_words,
)
from dream.guards.negations import negations_of
from dream.guards.numbers import read_numbers, read_ordinals, read_quantities
from dream.guards.other_forms import read_other_forms
from dream.guards.patterns import TEXT_ROOM, TextCache, lazy_pattern

RARE_AT_MOST: Final = 3
"""Entries that may hold a term which still counts as rare; the sources of a merge are among them."""

_KATAKANA = lazy_pattern(r"[\u30a1-\u30fa][\u30a1-\u30fa\u30fc・]+")
_TITLED = lazy_pattern(
    r"(?P<name>\p{Han}{1,4})(?:さん|様|先生|氏|くん|君|ちゃん)|(?P<name>\p{Han}{2,3})(?:先生|女士|老师|医生|小姐)"
)
_HAN_RUN = lazy_pattern(r"\p{Han}{2,}")
_WORD = lazy_pattern(
    r"[\p{Arabic}\p{Hebrew}\p{Devanagari}\p{Bengali}\p{Tamil}\p{Telugu}\p{Georgian}\p{Hangul}][\p{L}\p{M}]+"
)
_PHRASE = lazy_pattern(r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]{2,}")
_ARABIC_PREFIX = lazy_pattern(r"(?:[وف])?(?:بال|كال|لل|ال|[بلك]|س?[يتن])?(?=\p{L}{3})")
_ARABIC_SUFFIX = lazy_pattern(r"(?<=\p{L}{3})(?:ها|هم|ون|ين|ات|[هةي])$")
_ARABIC_LITTLE: Final = words_in(
    "هو هي هم هن نحن أنا انت وهو وهي وهم من في على إلى عن مع هذا هذه ذلك التي الذي كان كانت وكان وكانت يكون تكون "
    "قد لقد ثم أو بعد قبل عند منذ حتى كل بعض أن إن لأن لكن ولكن كما أيضا لديه لديها ولديه ولديها له لها وله ولها "
    "لا لم لن ليس ولا ولم ولن وليس غير بدون دون يوم الساعة عام سنة"
)
# Characters that build Chinese and Japanese sentences: a pair with one of them is no word of its own.
_BUILDING: Final = frozenset(
    "的了在是和有他她我你您它们們这這那也就都与及或而但从從到对對于於把被让讓给給为為以因所之其此每各很更最还還又再已将將会會能可要想应應该該"
    "不没沒无無未非别一二三四五六七八九十百千万个個只次年月日天时時分点點前后後上下中内外里裡住来來去说說做用开始開起得着著过過"
    "今明昨何人付住吃喝买買卖賣看读讀写寫听聽坐走跑带帶找问問答叫喜欢歡爱愛觉覺知道认識识总總常些才新旧舊大多少很真另家"
)
DocumentFrequency = Callable[[str], int]
"""How many entries of the store hold a term of the recall index."""


def read_rare(scan: TextScan, document_frequency: DocumentFrequency | None) -> None:
    """Find what is specific in scripts without capitals."""
    if scan.text.isascii():
        return
    for match in _KATAKANA.finditer(scan.text):
        scan.add(DetailKind.NAME, *match.span(), match.group())
    for match in _TITLED.finditer(scan.text):
        scan.add(DetailKind.NAME, *match.span("name"), match["name"])
    if document_frequency is not None:
        _read_by_frequency(scan, document_frequency)


def _read_by_frequency(scan: TextScan, document_frequency: DocumentFrequency) -> None:
    def is_rare(term: str) -> bool:
        return document_frequency(term) <= RARE_AT_MOST

    for match in _HAN_RUN.finditer(scan.text):
        run, start = match.group(), match.start()
        for place in range(len(run) - 1):
            pair = run[place : place + 2]
            if _BUILDING.isdisjoint(pair) and is_rare(pair):
                scan.add(DetailKind.RARE, start + place, start + place + 2, pair)
    for match in _WORD.finditer(scan.text):
        if match.group() not in _ARABIC_LITTLE and is_rare(match.group().casefold()):
            scan.add(DetailKind.RARE, *match.span(), bare(match.group()))
    for match in _PHRASE.finditer(scan.text):
        for place in range(0, len(match.group()) - 3, 2):
            part = match.group()[place : place + 4]
            if all(is_rare(part[at : at + 2]) for at in range(3)):
                scan.add(DetailKind.RARE, match.start() + place, match.start() + place + 4, part)


def bare(word: str) -> str:
    """Return a word without the article, conjunction, person and pronoun that Arabic writes as one with it."""
    folded = fold(word)
    if not "\u0600" <= folded[:1] <= "\u06ff":
        return folded
    return _ARABIC_SUFFIX.sub("", _ARABIC_PREFIX.sub("", folded, count=1), count=1)


def bare_words(text: str) -> frozenset[str]:
    """Return the words of scripts without capitals as `bare` gives them."""
    return frozenset(bare(word) for word in _WORD.findall(text))


_SENTENCE_END = lazy_pattern(r"[.!?](?=\s)|[。！？\n]")
_MEASURES = frozenset({DetailKind.NUMBER, DetailKind.DATE, DetailKind.TIME})


@dataclass(frozen=True, slots=True)
class Details:
    """The details of one text in reading order, each once.

    Args:
        items: The details.
        bound: Each number, date and time with the name that stands before it in its sentence.
        also: Other forms of them, which back another text and are demanded of none.

    Example:
        >>> from dream.guards.names import builtin_vocabulary
        >>> found = details_of("Ana pays 60 euros on 1 May 2025.", builtin_vocabulary())
        >>> [str(detail) for detail in found]
        ["name 'Ana'", "number '60 euros'", "date '1 May 2025'"]
    """

    items: tuple[Detail, ...] = ()
    bound: tuple[tuple[str, Detail], ...] = ()
    also: tuple[Detail, ...] = ()

    def __iter__(self) -> Iterator[Detail]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def of(self, *kinds: DetailKind) -> tuple[Detail, ...]:
        """Return those of the given kinds."""
        return tuple(item for item in self.items if item.kind in kinds)


@dataclass(frozen=True, slots=True)
class ComparedTexts:
    """What the texts beside one tell about it.

    Args:
        lower: Keys of the words that stand there in lower case: they are no names.
        language: The language that they are in, for a text too short to tell its own.
        words: Keys of all words that stand there.
    """

    lower: frozenset[str] = frozenset()
    language: str = "en"
    words: frozenset[str] = frozenset()

    @classmethod
    def of(cls, texts: Iterable[str]) -> "ComparedTexts":
        """Read the texts that are compared with each other."""
        written = [one_form(text) for text in texts]
        return cls(lower_case_keys(written), language_of_all(written), word_keys(written))


def details_of(
    text: str,
    vocabulary: Vocabulary,
    document_frequency: DocumentFrequency | None = None,
    *,
    beside: ComparedTexts | None = None,
) -> Details:
    """Return the details of a text.

    Args:
        text: Any string.
        vocabulary: Which words are ordinary.
        document_frequency: How many entries hold a term of the recall index, for scripts without capitals.
        beside: What the texts that it is compared with tell about it; itself alone if None.

    Example:
        >>> from dream.guards.names import builtin_vocabulary
        >>> [item.kind.value for item in details_of("The RTX 4090 does not fit; see `fit.md`.", builtin_vocabulary())]
        ['negation', 'acronym', 'number', 'code']
    """
    written, beside = one_form(text), beside or ComparedTexts.of([text])
    language = language_of(text, beside.language)
    alone = _READ_ALONE[language][written]
    scan = TextScan(alone.before_rare, written, language, [*negations_of(written, beside.language), *alone.found])
    read_rare(scan, document_frequency)
    scan.text = alone.left
    read_names(scan, vocabulary, beside.lower, beside.words)
    scan.found.sort(key=lambda found: found[0])
    return Details(distinct(item for _, item in scan.found), _bound(scan), alone.also)


def measures_of(text: str) -> Details:
    """Return those of the details that `details_of` finds which no other text has a say in: numbers, dates and times.

    Example:
        >>> [str(detail) for detail in measures_of("Ana pays 60 euros on 1 May 2025.")]
        ["number '60 euros'", "date '1 May 2025'"]
    """
    written = one_form(text)
    alone = _READ_ALONE[language_of(text, language_of(written))][written]
    return Details(distinct(item for _, item in alone.found if item.kind in _MEASURES), also=alone.also)


_VALUES: Final = _MEASURES | {DetailKind.CODE, DetailKind.URL, DetailKind.EMAIL, DetailKind.IDENTIFIER}


def values_of(text: str) -> Details:
    """Return the values of a text, whatever stands beside it: numbers, dates, times, codes and addresses.

    Of a text in an unknown language no number in words is one.

    Example:
        >>> [str(detail) for detail in values_of("Ana pays 60 euros to `x9`.")]
        ["number '60 euros'", "code '`x9`'"]
    """
    written = one_form(text)
    language = language_of(written, "")
    alone = _READ_ALONE[language or "en"][written]
    found = (item for _, item in alone.found if item.kind in _VALUES)
    items = (item for item in found if language or item.kind is not DetailKind.NUMBER or _DIGIT.search(item.text))
    return Details(distinct(items), also=alone.also)


_DIGIT = lazy_pattern(r"\d")


@dataclass(frozen=True, slots=True)
class _ReadAlone:
    """What is found in a text whatever stands beside it and in the store, in the order of the readers.

    Args:
        found: What stands letter by letter, dates, times, identifiers and numbers, with their places.
        before_rare: What all but bare numbers left to read.
        left: What those left to read.
        also: Other forms of what was found.
    """

    found: tuple[tuple[int, Detail], ...]
    before_rare: str
    left: str
    also: tuple[Detail, ...]

    @classmethod
    def of(cls, language: str, written: str) -> "_ReadAlone":
        scan = TextScan(written, written, language, [])
        for read in (read_verbatim, read_dates, read_times, read_ordinals, read_quantities, read_identifiers):
            read(scan)
        before_rare = scan.text
        read_numbers(scan)
        read_other_forms(scan)
        return cls(tuple(scan.found), before_rare, scan.text, distinct(scan.also))


_READ_ALONE: Final = {
    language: TextCache(partial(_ReadAlone.of, language), room=TEXT_ROOM) for language in recognised()
}


def _bound(scan: TextScan) -> tuple[tuple[str, Detail], ...]:
    ends = iter([*(match.start() for match in _SENTENCE_END.finditer(scan.original)), len(scan.original)])
    end, name = next(ends), ""
    pairs: list[tuple[str, Detail]] = []
    for start, item in scan.found:
        while start > end:
            end, name = next(ends), ""
        if item.kind is DetailKind.NAME:
            name = str(item.key)
        elif name and item.kind in _MEASURES:
            pairs.append((name, item))
    return tuple(pairs)


_PIECE = regex.compile(r"[\p{L}\p{N}_./+~()-]+")

_PRODUCT = regex.compile(r"(?<=\w{4})(?:sql|db|\.?js)$")
"""What a product's name ends with that people leave out: `postgres`, `mongo`, `node`."""


class TextIndex:
    """One text, or several beside each other, made ready for questions; lives as long as a comparison.

    Args:
        texts: Them.
        found: The details of each, extracted before.
        vocabulary: Which words are ordinary.
    """

    def __init__(self, texts: Sequence[str], found: Sequence[Details], vocabulary: Vocabulary) -> None:
        self._texts = [one_form(text) for text in texts]
        self._words = [_WORDS_TOLD[text] for text in self._texts]
        self._items = [item for specifics in found for item in (*specifics, *specifics.also)]
        self._vocabulary = vocabulary
        self.words = frozenset[str]().union(*(told.words for told in self._words))
        self.pairs = frozenset[tuple[str, str]]().union(*(told.pairs for told in self._words))
        self.keys = frozenset((item.kind, item.key) for item in self._items)
        self.plain = "\n".join(self._texts)

    @cached_property
    def capitals(self) -> frozenset[str]:
        """Keys of the words that are written in capitals."""
        return frozenset[str]().union(*(told.capitals for told in self._words))

    @cached_property
    def quantities(self) -> numbers.Quantities:
        """The numbers, years among them."""
        spoken = (cast("numbers.Quantity", item.key) for item in self._items if item.kind is DetailKind.NUMBER)
        return numbers.Quantities((*spoken, *(numbers.Quantity((year,)) for year in self._years)))

    @cached_property
    def days(self) -> dates.Days:
        """The dates."""
        spoken = (cast("numbers.Quantity", item.key) for item in self._items if item.kind is DetailKind.NUMBER)
        numbers = {value for quantity in spoken for value in quantity.values}
        return dates.Days(self._dates, self._years | numbers)

    @property
    def _dates(self) -> frozenset[dates.Day]:
        return frozenset(cast("dates.Day", item.key) for item in self._items if item.kind is DetailKind.DATE)

    @property
    def _years(self) -> frozenset[str]:
        return frozenset(str(day.year) for day in self._dates if day.year is not None)

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """The names of things, and whatever together could be one."""
        addresses = (_bare_address(str(item.key)) for item in self._items if item.kind is DetailKind.URL)
        return frozenset[str]().union(addresses, *map(_identifiers, self._texts))

    @cached_property
    def _versions(self) -> frozenset[str]:
        """Identifiers that are numbers without their `v`."""
        keys = (str(item.key) for item in self._items if item.kind is DetailKind.IDENTIFIER)
        return frozenset(key for key in keys if key.replace(".", "").isdecimal())

    @cached_property
    def squeezed(self) -> str:
        """All of it as quotations are compared."""
        return squeezed(self.plain)

    @cached_property
    def uncased(self) -> frozenset[str]:
        """The words of scripts without capitals."""
        return bare_words(self.plain)

    def holds(self, wanted: Detail) -> bool:
        """Tell whether a detail of another text stands in this one; negations are judged by `negations`."""
        key: Any = wanted.key
        match wanted.kind:
            case DetailKind.NAME:
                stands = key in self.words or (not str(key).isascii() and str(key) in self.plain)
            case DetailKind.ACRONYM:
                stands = key in self.capitals or (key in self.words and not self._is_ordinary(key))
            case DetailKind.NUMBER:
                # 2.10 is a number equal to 2.1, and a version that is another.
                stands = key in self.quantities or identifier_key(wanted.text) in self._versions
            case DetailKind.DATE:
                stands = key in self.days
            case DetailKind.QUOTED:
                stands = str(key) in self.squeezed
            case DetailKind.CODE:
                stands = str(key) in self.plain
            case DetailKind.IDENTIFIER:
                stands = key in self.identifiers or _PRODUCT.sub("", str(key)) in self.words
            case DetailKind.URL:
                stands = _bare_address(str(key)) in self.identifiers
            case DetailKind.RARE:
                stands = self._has_rare(str(key))
            case _:
                stands = False
        return stands or (wanted.kind, key) in self.keys

    def _is_ordinary(self, key: str) -> bool:
        return key in self._vocabulary.sentence_openers or key in self._vocabulary.common_words

    def _has_rare(self, key: str) -> bool:
        # A pair of Chinese characters often straddles two words; both are kept if both characters are.
        if len(key) == 2 and key not in self.uncased:
            return key[0] in self.plain and key[1] in self.plain
        return key in self.uncased or key in self.plain


def _bare_address(address: str) -> str:
    """Return an address as people write it who leave `https://` out."""
    return identifier_key(address.removeprefix("https://").removeprefix("http://"))


def _neighbours(words: Sequence[WrittenWord]) -> frozenset[tuple[str, str]]:
    """Return each pair of words with capitals that stand side by side."""
    return frozenset(
        (one.key, other.key)
        for one, other in pairwise(words)
        if (other.follows and one.written[:1].isupper() and other.written[:1].isupper() and not one.opens)
        or (other.follows and one.written.istitle() and other.written.istitle())
    )


def _identifiers(text: str) -> frozenset[str]:
    """Return the pieces of a text and each two and three neighbours as one, so that `RTX 4090` is `rtx4090`."""
    pieces = [identifier_key(piece).rstrip("./") for piece in _PIECE.findall(text)]
    pairs = [one + other for one, other in pairwise(pieces)]
    return frozenset((*pieces, *pairs, *(pair + last for pair, last in zip(pairs, pieces[2:], strict=False))))


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of one text: their keys, those in capitals, and pairs with capitals that stand side by side."""

    words: frozenset[str]
    capitals: frozenset[str]
    pairs: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, text: str) -> "_Words":
        words = written_words(text)
        return cls(
            frozenset((*(word.key for word in words), *joined_words(words, text).values())),
            frozenset(word.key for word in words if word.written.isupper() or word.written[:-1].isupper()),
            _neighbours(words),
        )


_WORDS_TOLD: Final = TextCache(_Words.of, room=TEXT_ROOM)
