"""Judges parts of a text by their look: which could be a password or a number that opens something."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import regex

from agentcore.lexicon.lazy_pattern import lazy_pattern

UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}"
_SIGNS: Final = "\"'`«»“”„‚‘’「」『』（）()\\[\\]{}<>|,;:，：、；=→・"
PART: Final = lazy_pattern(
    rf"(?P<digits>\d+(?:[ \u00a0-]\d+)*+)(?![^\W{UNSPACED}]|[@#$%&*+!]\w)"
    rf"|(?P<run>[{UNSPACED}ー]+)|(?P<word>[^\s{_SIGNS}{UNSPACED}]+)",
    regex.V0,
)
LONGEST_VALUE: Final = 256

_DATE: Final = lazy_pattern(r"((?:19|20)\d\d|\d\d?)[-./ ](\d\d?)[-./ ]((?:19|20)?\d\d?)")
_MEASURE: Final = lazy_pattern(
    r"\d+(?:st|nd|rd|th|er|e|[eè]me|º|ª|km|kg|g|cm|mm|m|h|min|[kmgt]b|kwh|kw|px|ms|s|x|k|€|\$)", regex.IGNORECASE
)
_NAMES_A_PLACE: Final = lazy_pattern(
    r"\w*://|www\.|[/~.]+/|[\w.+-]+@[\w-]+\.\w|v?\d+(?:\.\d+)+$|your[-_]|[\w-]*[-_](?:here|placeholder)$|[$%]|\*|•|x+$|\.+$|(?:os|env|process|config|settings)\."
    r"|.*\.(?:pdf|docx?|txt|py|js|ts|md|json|ya?ml|zip|exe|png|jpe?g|toml|csv|xlsx?|html?|com|org|net|de|fr|it|es|ru|jp|cn)$",
    regex.IGNORECASE,
)
_CHOSEN: Final = lazy_pattern(
    r"(?:\p{L}{3,}[!#$%&*+=~^]|\p{L}{6,}_|\p{Lu}\p{L}{3,}_|\p{L}{3,}(?:[-_.]\p{L}{3,})+[-_.!#$%&*+])\d{1,4}[!?#*$]?"
)
"""Words with a sign and digits behind, as people make them up: `Tram#41`, `amber-Otter-31`; not `Apollo-11`."""
_SYMBOL_INSIDE: Final = lazy_pattern(r"[^\W_].*[!@#$%^*+~].*[^\W_]")


class Shape(Enum):
    """What a part of a text looks like."""

    DIGITS = auto()
    MIXED = auto()
    """Letters with digits or symbols inside, as passwords have and words have not."""
    WORD = auto()


@dataclass(frozen=True, slots=True)
class ValuePart:
    """A part of a statement that could be a value."""

    start: int
    end: int
    text: str
    shape: Shape


def shape_of(text: str, *, is_number: bool) -> Shape | None:
    """Return what a part looks like; None for what is never a value."""
    if is_number:
        return None if _is_date(text) else Shape.DIGITS
    if len(text) > LONGEST_VALUE:
        text = text[:LONGEST_VALUE]
    if _NAMES_A_PLACE.match(text) is not None or _MEASURE.fullmatch(text) is not None:
        return None
    has_digit = any(one.isdigit() for one in text)
    has_letter = any(one.isalpha() for one in text)
    if has_letter and (has_digit or (len(text) > 5 and _SYMBOL_INSIDE.search(text) is not None)):
        return Shape.MIXED
    return Shape.WORD if has_letter and not has_digit else None


def _is_date(text: str) -> bool:
    date = _DATE.fullmatch(text)
    if date is None:
        return False
    first, second, third = (int(one) for one in date.groups())
    months = (second, third) if first > 31 else (first, second)
    return min(months) <= 12 and max(months) <= 31


def digits_in(text: str) -> int:
    """Count the digits."""
    return sum(one.isdigit() for one in text)


def is_long(part: ValuePart) -> bool:
    """Tell whether a part is long enough to be a secret by itself."""
    return digits_in(part.text) > 3 if part.shape is Shape.DIGITS else len(part.text) > 4


def looks_chosen(part: ValuePart) -> bool:
    """Tell whether a part has letters, digits and a sign between them, as rules for passwords ask."""
    return len(part.text) > 7 and _SYMBOL_INSIDE.search(part.text) is not None and digits_in(part.text) > 0


def is_made_up(text: str) -> bool:
    """Tell whether a text is made as people make up a password, and as nothing else is."""
    return len(text) <= LONGEST_VALUE and _CHOSEN.fullmatch(text) is not None


def gives_away(part: ValuePart) -> bool:
    """Tell whether a part looks like a password and like nothing else."""
    has_sign = "_" in part.text or _SYMBOL_INSIDE.search(part.text) is not None
    return has_sign and part.shape is Shape.MIXED and digits_in(part.text) > 0
