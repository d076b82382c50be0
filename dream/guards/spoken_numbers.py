"""Numbers in words, as long as they are: `two thousand five hundred`, `quatre-vingt-dix`, `fünfundvierzig`."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from dream.guards.late import late
from dream.guards.number_words import GREAT, LINKS, ONES, WORDS

_LETTERS = late(r"\p{L}[\p{L}\p{M}]*")
_ENDINGS: Final = ("jährigen", "jähriger", "jähriges", "jährigem", "jährige", "jährig", "jarige", "jarig")
_HALVES: Final = {"anderthalb": "1.5", "eineinhalb": "1.5", "anderhalf": "1.5", "anderhalve": "1.5"}
_HALF_ENDINGS: Final = {"de": ("einhalb",), "nl": ("eneenhalf", "ëneenhalf", "eneenhalve", "ëneenhalve")}

_HUNDREDS: Final = frozenset({"hundert", "honderd", "cento"})
_JOINED: Final = {
    "de": ("tausend", "hundert"),
    "nl": ("duizend", "honderd"),
    "it": ("mila", "mille", "cento"),
}
"""What German, Dutch and Italian write as one word with the numbers around it."""


class Spoken(NamedTuple):
    """A number in words.

    Args:
        start: Where it begins.
        end: Where it ends.
        value: It, as a plain decimal.
        unit: The unit that is written as one word with it, as in `zehnjährig`.
    """

    start: int
    end: int
    value: str
    unit: str | None = None


def spoken_numbers(text: str, language: str) -> Iterator[Spoken]:
    """Return the numbers in words of a text, in reading order.

    Example:
        >>> [one.value for one in spoken_numbers("twenty-one of two thousand five hundred and six", "en")]
        ['21', '2506']
    """
    run: list[tuple[int, int, int]] = []
    link: int | None = None
    end = 0
    for match in _LETTERS.finditer(text):
        word, gap = match.group().casefold(), text[end : match.start()]
        end = match.end()
        beside = run and gap in {" ", "-"}
        if beside and link is None and word == LINKS[language]:
            link = run[-1][2]
            continue
        value = _value(word, language)
        if run and not (beside and value is not None and _continues(run, value, language, linked=link is not None)):
            yield from _summed(run, language)
            run = []
        link = None
        if value is not None and (run or _begins(word, language)):
            run.append((match.start(), match.end(), value))
        elif value is None:
            yield from _one_word(word, match.start(), match.end(), language)
    yield from _summed(run, language)


def _value(word: str, language: str) -> int | None:
    known = next((table[language][word] for table in (WORDS, ONES, GREAT) if word in table[language]), None)
    return _hundreds(word, language) if known is None and language in _JOINED else known


def _hundreds(word: str, language: str) -> int | None:
    """Return what `hundertzwanzig` and `duecentomila` are: a number around a hundred or a thousand in it."""
    for great in _JOINED[language]:
        head, found, rest = word.partition(great)
        if not found:
            continue
        many = 1 if head in {"", "ein", "een"} else _value(head, language)
        more = 0 if not rest else _value(rest.removeprefix("und"), language)
        if many is not None and more is not None and (many < 1_000 or great not in _HUNDREDS):
            return many * (100 if great in _HUNDREDS else 1_000) + more
    return None


def _begins(word: str, language: str) -> bool:
    return word not in ONES[language]


def _continues(run: list[tuple[int, int, int]], value: int, language: str, *, linked: bool) -> bool:
    last = run[-1][2]
    great = GREAT[language].values()
    if value in great or last in great:
        return (last < value and not linked) if value in great else value < last
    if linked and language in {"en", "de", "nl"}:
        return False
    if language == "fr" and last in {4, 10}:
        return value == 20 if last == 4 else value in {7, 8, 9}
    if last >= 100:
        return value < 100
    most = 20 if language == "fr" and last in {20, 60} else 10
    return last >= 20 and last % 10 == 0 and 0 < value < most


def _summed(run: list[tuple[int, int, int]], language: str) -> Iterator[Spoken]:
    if not run:
        return
    total = current = 0
    for _, _, value in run:
        if value in GREAT[language].values():
            current = max(current, 1) * value
            if value >= 1_000:
                total, current = total + current, 0
        elif value == 20 and current == 4 and language == "fr":
            current = 80
        else:
            current += value
    yield Spoken(run[0][0], run[-1][1], str(total + current))


def _one_word(word: str, start: int, end: int, language: str) -> Iterator[Spoken]:
    """Return what a longer word of German or Dutch counts: `zehnjährig`, `zweieinhalb`."""
    if word in _HALVES:
        yield Spoken(start, end, _HALVES[word])
        return
    for ending in _HALF_ENDINGS.get(language, ()):
        whole = WORDS[language].get(word.removesuffix(ending)) if word.endswith(ending) else None
        if whole is not None:
            yield Spoken(start, end, f"{whole}.5")
            return
    for ending in _ENDINGS if language in {"de", "nl"} else ():
        years = WORDS[language].get(word.removesuffix(ending)) if word.endswith(ending) else None
        if years is not None:
            yield Spoken(start, end, str(years), "year")
            return


def is_spoken(letters: str, language: str) -> bool:
    """Tell whether a number in words may begin with or lie in a word of small letters."""
    return (
        letters in WORDS[language]
        or letters in GREAT[language]
        or letters in _HALVES
        or any(great in letters for great in _JOINED.get(language, ()))
        or (language in {"de", "nl"} and letters.endswith((*_ENDINGS, *_HALF_ENDINGS[language])))
    )
