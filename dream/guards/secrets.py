"""Secrets do not belong in a memory: passwords, keys, tokens and card numbers are recognised by their shape.

Each pattern reads a text in time that grows with its length and no faster: no text must stall a dream.

A shape can be missed, and an unusual name can look like one; the guard errs towards refusing, since what was refused
still stands in the conversation.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

import regex

from dream.guards.folding import words_in
from dream.guards.patterns import lazy_pattern

_KEY_BLOCK = lazy_pattern(r"-----BEGIN [A-Z ]*(?:PRIVATE KEY|CERTIFICATE)", regex.IGNORECASE)
_PREFIXED = lazy_pattern(
    r"(?<![\w-])(?:"
    r"(?:sk|pk|rk)[-_](?:live|test|ant|proj|or)?[-_]?[A-Za-z0-9_-]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{20,}"
    r"|pypi-[\w-]{20,}|dop_v1_[a-f0-9]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|whsec_\w{16,}"
    r"|(?:AC|SK)[a-f0-9]{32}|[a-f0-9]{32}-us\d{1,2}|sq0[a-z]{3}-[\w-]{22,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r")"
)
_HOOK = lazy_pattern(
    r"hooks\.slack\.com/(?:services|workflows|triggers)/\w+/\w+|discord(?:app)?\.com/api/webhooks/\d+/[\w-]+",
    regex.IGNORECASE,
)
_PASSPHRASE = lazy_pattern(r"\bpass ?phrase\s*[:=]\s*(?:\w+[ -]){3,}\w+")
_CURL = lazy_pattern(r"(?P<curl>\bcurl\b)|(?P<user>\s(?:-u|--user)[ =]*[^\s:]+:[^\s:])|\n")
# Of the scheme the last character is enough: a longer one would be read again from each of its characters.
_IN_URL = lazy_pattern(r"[a-z0-9+.-]://[^\s/:@]*:[^\s/@]+@", regex.IGNORECASE)
_NAMED = lazy_pattern(
    r"(?:pass(?:word|code|phrase|wort)|pwd|kennwort|mot de passe|contraseña|senha|palavra-passe"
    r"|(?:api|access|secret|private|auth|account)[ _-]?(?:key|token)|bearer|client[ _-]?secret|secret|token"
    r"|pin(?:[ -]?(?:code|number))?|cvv|cvc|tan)"
    r"(?:(?:\s+(?:for|to|of|für|para|pour)(?:\s+[\p{L}\p{N}'-]+){1,4}?)?"
    r"\s*(?:\b(?:is|was|ist|est|es|é|are)\b|=|:|->)\s*|\s+)"
    r"(?:(?P<open>[\"'`“„«])(?P<value>[^\"'`”“»\n]{1,80})[\"'`”“»]|(?P<value>[^\s\"'`”»]{1,256}+))"
    r"(?=(?P<stop>\s*(?:[.,;!?)]|$))?)",
    regex.IGNORECASE,
)
_LINK = lazy_pattern(r"(?:is|was|ist|est|es|é|=|:|->)\s*[\"'`“„«]?$", regex.IGNORECASE)
_DIGITS = lazy_pattern(r"(?<![\d.,-])\d(?:[ -]?\d){12,18}(?![\d.,-]*\d)")
_RANDOM = lazy_pattern(r"(?<![\w/.-])(?:[A-Za-z0-9+_-]{24,}={0,2}(?![\w/-])|[A-Za-z0-9+/]{40,}={0,2}(?![\w/-]))")

_ORDINARY: Final = words_in(
    "weak strong wrong right safe unsafe expired required correct incorrect secret unknown known lost gone reset "
    "changed new old long short missing empty invalid valid needed stolen leaked public private shared forgotten it "
    "there here this that mine hers his theirs ours me him her them"
)
_SHORTEST: Final = 4
_LONGEST: Final = 256
"""Characters of a value that are read, as in the pattern; no ordinary word is as long."""


def secret_in(text: str) -> str | None:
    """Return what kind of secret a text seems to hold, or None.

    Example:
        >>> secret_in("Ana's password is hunter2."), secret_in("Ana forgot her password again.")
        ('password', None)
    """
    return next((kind for kind, holds in _KINDS if holds(text)), None)


def _signs_in(text: str) -> bool:
    """Tell whether a line calls curl with a user and a password; each line is read once, however often it says curl."""
    is_called = False
    for match in _CURL.finditer(text, overlapped=True):
        if is_called and match["user"] is not None:
            return True
        # What begins with a line's end may name a user for the line before it alone.
        is_called = match["curl"] is not None or (is_called and not match.group().startswith("\n"))
    return False


def _has_named_value(text: str) -> bool:
    return any(_is_value(match) for match in _NAMED.finditer(text, overlapped=True))


def _is_value(match: "regex.Match[str]") -> bool:
    """Tell whether what follows a word such as `password` is one: told as such, and no ordinary word."""
    value = match["value"].strip(".,;!?()")
    told = _LINK.search(match.group()[: match.start("value") - match.start()]) is not None
    if len(value) < _SHORTEST and not (value.isdecimal() and len(value) > 2):
        return False
    if any(character.isdigit() for character in value):
        return told or not value.isdecimal() or match.group().casefold().startswith(("pin", "cvv", "cvc", "tan"))
    if not told or value.casefold() in _ORDINARY:
        return False
    return match["open"] is not None or match["stop"] is not None or len(match["value"]) == _LONGEST


def _has_card_number(text: str) -> bool:
    return any(_passes_luhn(number) for number in _numbers(text))


def _numbers(text: str) -> Iterator[str]:
    for match in _DIGITS.finditer(text):
        yield "".join(character for character in match.group() if character.isdigit())


def _passes_luhn(number: str) -> bool:
    """Check the last digit of a card number (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(number)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0 and len(set(number)) > 1


def _has_random_token(text: str) -> bool:
    return any(_looks_random(match.group()) for match in _RANDOM.finditer(text))


def _looks_random(token: str) -> bool:
    """Tell whether capitals, small letters and digits change places as in no word, name or identifier."""
    kinds = ["d" if one.isdigit() else "u" if one.isupper() else "l" for one in token if one.isalnum()]
    turns = sum(one != other for one, other in pairwise(kinds))
    return len(set(kinds)) == 3 and turns * 3 >= len(kinds)


_KINDS: Final[tuple[tuple[str, Callable[[str], bool]], ...]] = (
    ("private key", lambda text: _KEY_BLOCK.search(text) is not None),
    ("key or token", lambda text: _PREFIXED.search(text) is not None),
    ("key or token", lambda text: _HOOK.search(text) is not None),
    ("password in an address", lambda text: _IN_URL.search(text) is not None),
    ("password", lambda text: _PASSPHRASE.search(text) is not None),
    ("password", _signs_in),
    ("password", _has_named_value),
    ("card number", _has_card_number),
    ("key or token", _has_random_token),
)
