"""Finds values that were invented as secrets are: passwords made of words and signs, spelled ones, lists of codes."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import regex

from agentcore.lexicon.lazy_pattern import lazy_pattern
from agentcore.secrets.secret_lists import function_words, says_number
from agentcore.secrets.secret_values import UNSPACED, shape_of
from agentcore.secrets.secret_words import FoldedText, Mark

_TOKEN: Final = lazy_pattern(rf"[^\s\"'`«»“”„‚‘’()\[\]{{}}<>|,;/\\{UNSPACED}]{{8,}}")
_SHORTEST: Final = 8
_LONGEST: Final = 40
_EDGES: Final = ".,!?:;…。！？-*_"
_STRONG: Final = lazy_pattern(r"\p{L}(?!==)[!#$%&*+=¿^~]+[\p{L}\d]|\d[!#$%&*+=¿^~]+\p{L}|\p{L}:\d+\p{L}")
"""A sign inside that joins no words elsewhere."""
_ESCAPED: Final = lazy_pattern(r"%[0-9A-Fa-f]{2}")
_LETTERS: Final = lazy_pattern(r"\p{L}{3,}")
_WEAK: Final = lazy_pattern(r"[^\W_][._-][^\W_]")
_CASES: Final = lazy_pattern(r"\p{Lu}\p{Ll}{2,}|\p{Ll}\p{Lu}")
_INNER: Final = lazy_pattern(r"\p{Ll}\p{Lu}")
_INTERCOM: Final = lazy_pattern(r"(?<![\w.,/-])\d{1,3}[kк]\d{3,5}(?!\w)")
"""What Russian intercoms open by: the flat, a letter, and the code."""
_AROUND: Final = 90
"""Characters between an invented value and what tells what it is for at most."""
_BESIDE: Final = 45
_FOR: Final = frozenset({"logins", "locks", "passwords", "keys", "as_before"})
_DOING: Final = frozenset({"entering", "opening", "changed", "using", "with", "into"})
_SPELLING: Final = frozenset({"spelling", "signs"})
_GAP: Final = 60
"""Characters between two words that spell at most."""
_SINGLE: Final = lazy_pattern(r"(?<![^\W_])[^\W\d_](?![^\W_'’])")
_KEYED: Final = lazy_pattern(
    rf"(?<![^\W{UNSPACED}]|[.,:/#№-]|[$€£¥]\s?)(?!(?:(?:19|20)\d\d|[012]\d(?:00|15|30|45))(?!\d))"
    rf"(?:\d{{4,8}}|\d(?:[ -]\d){{3,7}}|\d{{2,3}}(?: \d{{2,3}}){{1,2}})"
    rf"(?![^\W{UNSPACED}]|[.,:/%-]\d|\s?[€$£¥%円元₺₽])",
    regex.V0,
)
_CODE: Final = lazy_pattern(r"(?<![\w-])(?:[A-Za-z\d]{4,8}(?:[ -][A-Za-z\d]{4})?)(?![\w-])")
_LEAST_CODES: Final = 3


def has_invented_value(text: FoldedText, marks: Sequence[Mark]) -> bool:
    """Tell whether a text holds a password made up of words, digits and signs, beside what it is for.

    Example:
        >>> from agentcore.secrets.secret_words import marks_of
        >>> said = FoldedText.of("My mail is now Marrow7!Tugboat, keep that.")
        >>> has_invented_value(said, marks_of(said.folded))
        True
    """
    what_for = sorted(mark.start for mark in marks if mark.kind in _FOR)
    done = sorted({*(mark.start for mark in marks if mark.kind in _DOING), *(m.end for m in marks if m.kind in _DOING)})
    if not what_for and not done:
        return False
    spelled = [mark.start for mark in marks if mark.kind == "spelling"]
    for match in _TOKEN.finditer(text.plain):
        token = match.group().strip(_EDGES)
        if not _SHORTEST <= len(token) <= _LONGEST or shape_of(token, is_number=False) is None or "@" in token:
            continue
        start = match.start()
        if is_invented(token):
            is_told = _is_within(what_for, start, _AROUND) or _is_within(done, start, _BESIDE)
        else:
            is_told = _is_put_together(token) and _is_within(what_for, start, _AROUND)
            is_told = is_told and (_is_within(done, start, _BESIDE) or _is_within(done, match.end(), _BESIDE))
        is_told = is_told or (_is_joined(token) and _is_within(spelled, start, _AROUND))
        if is_told and (is_invented(token) or _is_within(what_for, start, _AROUND)):
            return True
    return False


def _is_joined(token: str) -> bool:
    """Tell whether words are written as one, with digits or with capitals between them."""
    has_digits = any(map(str.isdigit, token)) and _LETTERS.search(token) is not None
    return has_digits or len(_INNER.findall(token)) > 1


def is_invented(token: str) -> bool:
    """Tell whether letters, digits and a sign stand together as in no name, number or word.

    Example:
        >>> [is_invented(one) for one in ("Kelp!forest_0622", "issue#1234", "Apollo-11", "a&b2")]
        [True, False, False, False]
    """
    sign = _STRONG.search(token)
    if sign is None or _LETTERS.search(token) is None or _ESCAPED.search(token) is not None:
        return False
    has_digit = any(map(str.isdigit, token))
    behind = token[sign.end() - 1 :]
    return has_digit and not ("#" in sign.group() and behind.isdigit()) and not ("=" in token and token.islower())


def _is_put_together(token: str) -> bool:
    """Tell whether words in capitals and small letters are joined to digits, as a name of a thing seldom is."""
    words = _LETTERS.findall(token)
    has_both = sum(map(str.isdigit, token)) > 1 and _CASES.search(token) is not None
    return has_both and len(words) > 1 and _WEAK.search(token) is not None


def spells_out(text: FoldedText, marks: Sequence[Mark]) -> bool:
    """Tell whether letters, words and signs are told one by one, with capitals and gaps, beside what they open."""
    told = [mark for mark in marks if mark.kind in _SPELLING]
    what_for = sorted(mark.start for mark in marks if mark.kind in _FOR | {"opening", "entering"})
    for run in _runs(told):
        words, kinds = {text.folded[mark.start : mark.end] for mark in run}, {mark.kind for mark in run}
        begin, end = max(0, run[0].start - _GAP), run[-1].end + _GAP
        said = text.folded[begin:end]
        if len(words) < 2 or not (says_number(said) or _letters_in(said) > 2):
            continue
        if _is_within(what_for, run[0].start, 2 * _AROUND) or (len(kinds) > 1 and len(words) > 3):
            return True
    return False


_PIECES: Final = (
    lazy_pattern(r"(?<![\w+])[^\s+]{1,12}(?: \+ [^\s+]{1,12}){2,}+"),
    lazy_pattern(rf"(?<![^\s\"'«“「:：,、，{UNSPACED}])[_!&*]\d{{2,6}}(?!\w)"),
    lazy_pattern(r"(?<!\w)\p{L}\s(?P<then>\p{L}{2,6})\s\p{L}\s(?P=then)\s\p{L}(?!\w)"),
    lazy_pattern(r"(?<!\w)(?P<a>\p{L})\s(?P<as>\p{L}{2,5})\s(?P=a)\p{L}+\W{1,3}(?P<b>\p{L})\s(?P=as)\s(?P=b)\p{L}"),
)
"""Sums of pieces, a piece that begins with a sign, letters one after the other, letters as in words."""


def is_in_pieces(text: FoldedText, marks: Sequence[Mark]) -> bool:
    """Tell whether pieces of a password are told one by one, behind a word for it.

    Example:
        >>> from agentcore.secrets.secret_words import marks_of
        >>> said = FoldedText.of("Password, in pieces: Pan + try + 5 + Blue")
        >>> is_in_pieces(said, marks_of(said.folded))
        True
    """
    named = sorted(mark.end for mark in marks if mark.kind == "passwords")
    if not named:
        return False
    for pattern in _PIECES:
        for run in pattern.finditer(text.folded):
            is_behind = _is_within(named, run.start(), _AROUND, 0)
            if is_behind and (pattern is not _PIECES[0] or _is_mixed(run.group())):
                return True
    return False


def _is_mixed(run: str) -> bool:
    return any(map(str.isdigit, run)) and any(map(str.isalpha, run))


def _letters_in(folded: str) -> int:
    return sum(one not in function_words() for one in _SINGLE.findall(folded))


def _runs(told: Sequence[Mark]) -> Iterator[list[Mark]]:
    run: list[Mark] = []
    for mark in told:
        if run and mark.start - run[-1].end > _GAP:
            yield run
            run = []
        run.append(mark)
    if run:
        yield run


def is_keyed_in(text: FoldedText, marks: Sequence[Mark]) -> bool:
    """Tell whether digits stand between what they open and what is done with them, as on a keypad.

    Example:
        >>> from agentcore.secrets.secret_words import marks_of
        >>> said = FoldedText.of("Press 4417 and the gate opens.")
        >>> is_keyed_in(said, marks_of(said.folded))
        True
    """
    locks = sorted(mark.start for mark in marks if mark.kind == "locks")
    done = sorted(mark.start for mark in marks if mark.kind in {"entering", "opening"})
    if any(_is_within(locks, one.start(), _AROUND) for one in (_INTERCOM.finditer(text.folded) if locks else ())):
        return True
    if not locks or not done:
        return False
    for keyed in _KEYED.finditer(text.plain):
        place = keyed.start()
        line = text.plain.rfind("\n", max(0, place - _AROUND), place)
        end = text.plain.find("\n", place, place + _AROUND)
        behind = _AROUND if line < 0 else place - line
        before = _AROUND if end < 0 else end - place
        if _is_within(done, place, min(_BESIDE, behind), before) and _is_within(locks, place, behind, before):
            return True
    return False


def lists_codes(text: FoldedText, marks: Sequence[Mark]) -> bool:
    """Tell whether codes of one form stand in a row behind a word for them: those that one keeps for a lost phone."""
    named = [mark.end for mark in marks if mark.kind in {"codes", "passwords"}]
    last = [end for end, following in pairwise((*named, len(text.plain) + _AROUND)) if following - end > _BESIDE]
    return any(_is_row_of_codes(text.plain[end : end + 4 * _AROUND]) for end in last)


def _is_row_of_codes(behind: str) -> bool:
    codes = [one.group() for one in _CODE.finditer(behind)]
    mixed = [one for one in codes if any(map(str.isdigit, one)) and any(map(str.isalpha, one))]
    forms = [tuple(map(len, regex.split(r"[ -]", one))) for one in mixed]
    return len(mixed) >= _LEAST_CODES and len(set(forms)) == 1 and all(map(_alternates, mixed))


def _alternates(code: str) -> bool:
    kinds = [one.isdigit() for one in code if one.isalnum()]
    return sum(one != other for one, other in pairwise(kinds)) > 2


def _is_within(places: Sequence[int], start: int, far: int, after: int | None = None) -> bool:
    found = bisect_left(places, start - far)
    return found < len(places) and places[found] <= start + (far if after is None else min(far, after))
