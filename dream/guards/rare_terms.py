"""Details of scripts that have no capitals: what the store's own index says is rare, katakana, and titled names.

Terms are those of the recall index: pairs of characters for scripts without spaces, whole words for the others. A
term is rare if at most `RARE_AT_MOST` entries hold it. Without an index, katakana and names before a title are found.
"""

from collections.abc import Callable
from typing import Final

from dream.guards.detail import DetailKind, TextScan
from dream.guards.folding import fold, words_in
from dream.guards.lazy_pattern import lazy_pattern

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
