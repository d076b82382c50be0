"""Finds secrets that are told as a list: digits in words, words that restore a wallet, columns of a table."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice, pairwise
from typing import Final

import regex

from agentcore.lexicon import language, languages
from agentcore.lexicon.lazy_pattern import lazy_pattern
from agentcore.secrets.secret_values import UNSPACED, Shape, is_made_up, shape_of
from agentcore.secrets.secret_words import FoldedText, Mark, secret_words

_PIECE: Final = lazy_pattern(r"[^\W_]+")
_NEAR: Final = 100
_QUOTES: Final = "\"'`«»“”„* \t"
_SEED: Final = lazy_pattern(r"\s*(?:\d{1,2}[.)]?\s*)?(?P<word>\p{L}+)[\s,，、;]*")
_LEAST_SEED: Final = 8
"""Words of a phrase that restores a wallet at least."""
_LEAST_WITHIN: Final = 11
"""The same where something else is said before."""
_PHRASE: Final = 500


def counts_out(folded: str, *, least: int = 3) -> bool:
    """Tell whether so many words for digits stand one behind the other."""
    inside = _digit_runs().search(folded)
    if inside is not None:
        return True
    count, last = 0, 0
    for match in _PIECE.finditer(folded):
        follows = count == 0 or match.start() - last <= 3
        is_digit = match.group() in _digit_words()
        count = (count + 1 if follows else 1) if is_digit else 0
        last = match.end()
        if count >= least:
            return True
    return False


def says_number(folded: str) -> bool:
    """Tell whether there is a digit, or a word for a number that is not also an article."""
    words = _digit_words() - function_words()
    has_word = any(one.group() in words for one in _PIECE.finditer(folded))
    return has_word or any(map(str.isdigit, folded)) or counts_out(folded)


@cache
def _digit_words() -> frozenset[str]:
    """Return the words for the digits in all languages, folded."""
    given = [one.numbers for one in languages()] + [one.ones for one in languages()]
    told = {word for table in given for value in range(100) for word in table.get(value, ())}
    said = told | secret_words("digits")
    return frozenset(FoldedText.of(word).folded for word in said)


@cache
def _digit_runs() -> "regex.Pattern[str]":
    """Return a pattern of four digits that are said in kana or another script without spaces."""
    said = sorted(
        (word for word in secret_words("digits") if regex.search(rf"[{UNSPACED}]", word)), key=len, reverse=True
    )
    one = "|".join(map(regex.escape, said)) or "(?!)"
    return regex.compile(rf"(?:(?:{one})[・、,\s-]?){{4,}}+")


_LISTED: Final = lazy_pattern(
    r"(?<![\d.,:/-])\d{1,2}(?=\s*(?:[,;、，](?!\d)|\.?$|\.\s)|\s(?:und|and|e|y|et|puis|luego|dann|then|poi|depois|потом|затем)\b)"
)
_TURNED_TO: Final = lazy_pattern(r"(?<!\d)\d{1,2}\W{1,3}(?:\p{L}{1,2}\W)?$")
_TURNED: Final = lazy_pattern(
    r"\p{L}+\P{L}{0,3}(?:[\p{L}]{1,4}\P{L}{1,3})?\d{1,2}(?!\d)|[右左](?:[にへ]|转到?)?\s?(?:\d{1,2}(?!\d)|[一二三四五六七八九十]{1,3}(?!号))"
)


def is_dialled(text: FoldedText, start: int, end: int, places: Mapping[str, Sequence[int]]) -> bool:
    """Tell whether a dial is turned to numbers, one after the other.

    Args:
        text: All of it.
        start: Where the statement begins.
        end: Where it ends.
        places: Where its words around secrets begin, by kind.
    """
    if not ("locks" in places or "codes" in places):
        return False
    if "safes" in places and len(_LISTED.findall(text.plain, start, end)) > 2:
        return True
    turns, folded = places.get("turns", []), text.folded
    if len(turns) > 2 and "safes" in places and says_number(folded[start:end]):
        return True
    told = [one for one in turns if _TURNED.match(folded, one) or _TURNED_TO.search(folded[max(0, one - 8) : one])]
    return len(told) > (1 if any(kind in places for kind in ("passwords", "safes", "codes")) else 2)


def has_seed_phrase(text: FoldedText, marks: Sequence[Mark]) -> bool:
    """Tell whether a text lists the words that restore a wallet."""
    named = [mark.end for mark in marks if mark.kind == "seeds"]
    # Of names in a row the last one has the list.
    last = [end for end, following in pairwise((*named, len(text.plain) + _NEAR)) if following - end > _NEAR // 2]
    return any(_lists_words(text.plain[end : end + _PHRASE]) for end in last) or any(
        _has_list_within(text.plain[end : end + _PHRASE]) for end in last
    )


def _lists_words(behind: str) -> bool:
    """Tell whether a list of small words begins here, or behind a colon."""
    _, colon, listed = behind[:_NEAR].partition(":")
    place = len(behind[:_NEAR]) - len(listed) if colon else 0
    words: list[str] = []
    while (match := _SEED.match(behind, place)) is not None and match.end() > place:
        word = match["word"]
        if word != word.lower() or len(word) > 12:
            break
        words.append(word)
        place = match.end()
    little = sum(word in function_words() for word in words)
    if behind[place : place + 1] in {"?", "？"}:
        return False
    return len(words) >= _LEAST_SEED and little * 4 <= len(words)


def _has_list_within(behind: str) -> bool:
    """Tell whether so many small words stand in a row, and none of them says how a sentence is built."""
    count = 0
    for piece in regex.finditer(r"[\p{L}\p{M}]+|[^\p{L}\p{M}\s,，、;]+", behind):
        word = piece.group()
        is_listed = word == word.lower() and 2 < len(word) < 13 and word.isalpha() and word not in function_words()
        count = count + 1 if is_listed else 0
        if count >= _LEAST_WITHIN:
            return True
    return False


@cache
def function_words() -> frozenset[str]:
    """Return the words that say how a sentence is built, in all languages."""
    return frozenset(language("en").stop_words).union(*(one.function_words for one in languages()))


_NOTHING: Final = lazy_pattern(r"[\s#>*|=_`\"'.-]*(?:\p{L}{1,4}[\s'’])?")
_LABEL_ENDS: Final = lazy_pattern(r"[ \t#>*|=_`\"'.:：-]*(?:[?？][ \t]*\n?|\n)[\s>*|=_`\"'-]*")
_ONLY: Final = lazy_pattern(r"[\s>*|=_`\"'→➜⇒-]*(?P<value>[^\s`\"'|]{4,})[\s`\"'|.,;]*(?=\n|$)")


def has_label(text: FoldedText, marks: Sequence[Mark]) -> bool:
    """Tell whether a line or a question ends with the name of a secret, and the next line is its value alone."""
    for place, mark in enumerate(marks):
        ends = _LABEL_ENDS.match(text.plain, _end_of_label(place, marks)) if mark.kind in _NAMED else None
        if ends is None:
            continue
        begin = text.plain.rfind("\n", 0, mark.start) + 1
        is_whole = _NOTHING.fullmatch(text.plain, begin, mark.start) is not None
        if _is_only_value(text, ends.end(), is_named=is_whole):
            return True
    return False


_NAMED: Final = frozenset({"passwords", "tokens"})
_OF_WHAT: Final = 14
"""Characters from the name of a secret to the end of what it opens at most: `password of the wifi`."""


def _end_of_label(place: int, marks: Sequence[Mark]) -> int:
    """Return where a label ends: behind what the secret opens, if that follows at once."""
    end = last = marks[place].end
    for one in islice(marks, place + 1, place + 1 + _OF_WHAT):
        if one.end > last + _OF_WHAT:
            break
        end = max(end, one.end) if one.kind in {"locks", "logins"} else end
    return end


def _is_only_value(text: FoldedText, place: int, *, is_named: bool) -> bool:
    """Tell whether a line holds a value alone.

    Args:
        text: All of it.
        place: Where the line begins.
        is_named: Whether what stands before it names a secret and says nothing else.
    """
    told = _ONLY.match(text.plain, place)
    if told is not None:
        value = told["value"]
        shape = shape_of(value, is_number=value.isdecimal())
        if shape is Shape.MIXED:
            return len(value) > (4 if is_named else 5)
        return is_named and shape is Shape.DIGITS and len(value) < 9
    line = text.folded[place : place + _NEAR].partition("\n")[0]
    return is_named and len(line.split()) < 9 and counts_out(line)


_BETWEEN: Final = lazy_pattern(r"\s*[|;\t→—–]\s*|,(?!\s)|\s+[-/]+\s+")
_LABELLED: Final = lazy_pattern(r"[\s*>\-]*(?P<label>[^:=\n]{2,30}?)\s*[:=]\s*[\"']?(?P<value>[^\s\"']+)[\"']?,?\s*")
_LEAST_FIELDS: Final = 3
_LONGEST_ROW: Final = 300


def has_login_row(text: FoldedText, marks: Sequence[Mark]) -> bool:
    """Tell whether a row names what one logs in to and holds a made-up password, or a line beside the user's does.

    Example:
        >>> from agentcore.secrets.secret_words import marks_of
        >>> said = FoldedText.of("VPN - lgomez - Walnut!8")
        >>> has_login_row(said, marks_of(said.folded)), has_login_row(FoldedText.of("a, b, c#1"), [])
        (True, False)
    """
    named = sorted(mark.start for mark in marks if mark.kind in {"logins", "locks", "keys"})
    if not named:
        return False
    begin, was_user = 0, False
    waits = False
    for line in text.plain.split("\n"):
        end = begin + len(line)
        has_name = bisect_left(named, begin) < bisect_left(named, end)
        is_short = len(line) <= _LONGEST_ROW
        if is_short and has_name and _is_row(line):
            return True
        labelled = _LABELLED.fullmatch(line) if is_short else None
        is_value = labelled is not None and is_made_up(labelled["value"])
        if labelled is not None and ((is_value and was_user) or (has_name and waits)):
            return True
        waits, was_user = is_value, labelled is not None and (has_name or (was_user and not is_value))
        begin = end + 1
    return False


def _is_row(line: str) -> bool:
    fields = [one.strip(_QUOTES) for one in _BETWEEN.split(line.strip(" |"))]
    is_listed = len(fields) >= _LEAST_FIELDS and all(len(one.split()) <= 4 for one in fields)
    return is_listed and any(map(is_made_up, fields))


_ROWS: Final = 3
"""Rows below a head that are read."""
_COLUMNS: Final = lazy_pattern(r"[|,;\t]")


def has_column(text: FoldedText, marks: Sequence[Mark]) -> bool:
    """Tell whether a table has a column of passwords, and a value in it."""
    named = [mark for mark in marks if mark.kind in {"passwords", "tokens"} or _is_pass(text, mark)]
    starts = sorted({mark.start for mark in named})
    lines = text.plain.split("\n")
    begin = 0
    for number, line in enumerate(lines):
        end = begin + len(line)
        for start in starts[bisect_left(starts, begin) : bisect_left(starts, end)][:1]:
            column = len(_COLUMNS.findall(text.plain, begin, start))
            if column and any(_holds_value(row, column) for row in lines[number + 1 : number + 1 + _ROWS]):
                return True
        begin = end + 1
    return False


def _is_pass(text: FoldedText, mark: Mark) -> bool:
    return mark.kind == "keys" and text.folded[mark.start : mark.end] == "pass"


def _holds_value(row: str, column: int) -> bool:
    cells = _COLUMNS.split(row[:2_000])
    cell = cells[column].strip(_QUOTES) if column < len(cells) else ""
    return len(cell) > 4 and " " not in cell and shape_of(cell, is_number=cell.isdecimal()) is Shape.MIXED
