"""Tells whether a quote stands in a text, however its signs are spelt."""

from typing import Final
from unicodedata import normalize

_SPELLINGS: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc`\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        "\u2026": "...",
        "\u00ad": None,
        "\u200b": None,
        "\u200d": None,
        "\ufeff": None,
    }
)
_EDGES: Final = " \t\n\"'.,;:!?()[]-"
_IN_NUMBERS: Final = frozenset(".,:")


def on_one_line(quote: str) -> str:
    """Return a quote without line breaks and its own quotation marks."""
    return " ".join(quote.split()).strip(" \"'")


def holds_quote(text: str, quote: str) -> bool:
    """Tell whether a quote stands in a text, whatever the spelling of quotation marks, dashes, spaces and case.

    Example:
        >>> holds_quote("I`ve moved  to Lisbon!", "i've moved to Lisbon"), holds_quote("a catalogue", "cat")
        (True, False)
    """
    wanted, written = _plain(quote).strip(_EDGES), _plain(text)
    if not any(character.isalnum() for character in wanted):
        return False
    start = written.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if not (_cuts(written[max(0, start - 2) : start], wanted[:2]) or _cuts(wanted[-2:], written[end : end + 2])):
            return True
        start = written.find(wanted, start + 1)
    return False


def _plain(text: str) -> str:
    return " ".join(normalize("NFC", normalize("NFC", text.translate(_SPELLINGS)).casefold()).split())


def _cuts(left: str, right: str) -> bool:
    """Tell whether a boundary runs through a number, or through a word of a script that has spaces."""
    if not left or not right:
        return False
    if right[0] in _IN_NUMBERS:
        return left[-1].isdigit() and right[1:].isdigit()
    if left[-1] in _IN_NUMBERS:
        return left[:-1].isdigit() and right[0].isdigit()
    return _spaced(left[-1]) and _spaced(right[0])


def _spaced(character: str) -> bool:
    return character.isdigit() or (character.isalpha() and character.lower() != character.upper())
