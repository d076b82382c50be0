"""Spellings of one word that people do not keep apart when they ask."""

import unicodedata
from typing import Final

import regex

_ACCENTS = regex.compile(r"\p{M}+")

_LETTERS: Final = str.maketrans(
    {
        "\u0110": "d",
        "\u0111": "d",  # đ
        "\u00f0": "d",  # ð
        "\u0127": "h",  # ħ
        "\u0131": "i",  # dotless i
        "\u0142": "l",  # ł
        "\u00f8": "o",  # ø
        "\u0167": "t",  # ŧ
        "\u00e6": "ae",  # æ
        "\u0153": "oe",  # œ
        "\u00fe": "th",  # þ
    }
)
"""Letters that people write without their stroke, and that Unicode does not take apart."""

_ARABIC: Final = str.maketrans(
    {
        "\u0622": "\u0627",
        "\u0623": "\u0627",
        "\u0625": "\u0627",
        "\u0671": "\u0627",  # alef, bare
        "\u0629": "\u0647",  # teh marbuta as heh
        "\u0649": "\u064a",
        "\u06cc": "\u064a",  # alef maksura and Farsi yeh as yeh
        "\u06a9": "\u0643",  # keheh as kaf
    }
)
"""Letters of the Arabic script that are typed one for the other."""

_ARTICLE = regex.compile("^(?:\u0627\u0644|\u0644\u0644)(?=..)|^[\u0648\u0628\u0643\u0641]\u0627\u0644(?=...)")
"""The article before two letters or more, and behind `and`, `in`, `as` and `so` before three; `for the` is one word."""


def without_accents(word: str) -> str:
    """Return a folded Latin word as somebody types it who has no accents at hand.

    Words that differ in nothing else become one; which of them is meant, the words beside it tell better than an accent
    that many leave out.

    Example:
        >>> [without_accents(word) for word in ("reuni\u00e3o", "k\u00f6nigstrasse", "\u0142\u00f3d\u017a", "plain")]
        ['reuniao', 'konigstrasse', 'lodz', 'plain']
    """
    if word.isascii():
        return word
    return _ACCENTS.sub("", unicodedata.normalize("NFD", word.translate(_LETTERS)))


def without_article(word: str) -> str:
    """Return a word of the Arabic script without the definite article, letters typed one for the other being one.

    After the normalisation and the prefixes of the stemmers in Larkey, Ballesteros and Connell, "Light Stemming for
    Arabic Information Retrieval", 2007; endings stay, as not every language of the script has those of Arabic.

    Example:
        >>> without_article("\u0627\u0644\u0642\u0647\u0648\u0629") == without_article("\u0642\u0647\u0648\u0647")
        True
    """
    return _ARTICLE.sub("", word.translate(_ARABIC))
