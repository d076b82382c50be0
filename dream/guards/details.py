"""Finds the details of a text that a merge must keep, and indexes texts to tell whether they hold a detail.

Both are pure, and linear in the text's length; a detail stands in a text in any spelling that counts as the same. In
scripts that have no capitals a name is what the store's own index says is rare, katakana, or what stands before a
title: terms are those of the recall index, pairs of characters for scripts without spaces, whole words for the others.
A term is rare if at most `RARE_AT_MOST` entries hold it. Without an index, katakana and names before a title are found.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from agentcore.lexicon.language import recognised
from dream.guards.dates import read_dates, read_times
from dream.guards.detail import Detail, DetailKind, TextScan, distinct
from dream.guards.folding import fold, one_form, read_identifiers, read_verbatim, words_in
from dream.guards.languages import language_of
from dream.guards.numbers import read_numbers, read_ordinals, read_quantities
from dream.guards.other_forms import read_other_forms
from dream.guards.patterns import TEXT_ROOM, TextCache, lazy_pattern

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


def bare(word: str) -> str:
    """Return a word without the article, conjunction, person and pronoun that Arabic writes as one with it."""
    folded = fold(word)
    if not "\u0600" <= folded[:1] <= "\u06ff":
        return folded
    return _ARABIC_SUFFIX.sub("", _ARABIC_PREFIX.sub("", folded, count=1), count=1)


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
        >>> found = measures_of("Ana pays 60 euros on 1 May 2025.")
        >>> [str(detail) for detail in found]
        ["number '60 euros'", "date '1 May 2025'"]
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


def measures_of(text: str) -> Details:
    """Return those of the details of a text that are measures: numbers, dates and times.

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
