"""Limits turned round: what is before a time or below a number in one text, and after or above it in another."""

from collections.abc import Iterable, Iterator
from typing import Final

import regex

from dream.guards.folding import fold, one_form
from dream.guards.languages import language_of
from dream.guards.late import late
from dream.guards.number_words import WORDS
from dream.guards.numerals import Quantity
from dream.guards.polarity import negations_of
from dream.guards.specific import Kind, Specific

_LOW: Final = (
    "before|until|till|under|below|less than|at most|up to|vor|bis|unter|hochstens|maximal|weniger als|avant|jusqu'a"
    "|moins de|au plus|antes|hasta|menos de|ate|prima|fino|meno di|voor|tot|minder dan|hoogstens"
)
_HIGH: Final = (
    "after|from|since|over|above|more than|at least|nach|ab|seit|uber|mindestens|mehr als|apres|des|depuis|plus de"
    "|au moins|despues|desde|mas de|a partir|depois|mais de|dopo|piu di|na|vanaf|sinds|meer dan|minstens"
)
_LITTLE: Final = "(?:(?:the|about|dem|den|der|de|las?|los?|les?|las|as|das|di|delle|alle|a|um|om|um) )*"
_EACH: Final = "every|each|jede[nrsm]?|alle|chaque|tous les|cada|todos los|todas las|ogni|elke|iedere"
_OTHER: Final = "other|second|2nd|zweite[nrs]?|deux|dos|dois|duas|due|tweede|andere|twee|zwei"
_MARK = late(
    rf"(?<!\p{{L}})(?:(?:(?P<low>{_LOW})|(?P<high>{_HIGH})) {_LITTLE}|(?:{_EACH}) (?P<other>(?:{_OTHER}) )?)"
    r"(?P<what>(?P<h>\d{1,2})(?:(?:[:.](?P<m>\d\d))? ?(?P<half>[ap])\.?m\b|[:.](?P<m>\d\d)(?!\d)|(?= ?(?:uhr|h|uur)\b))"
    r"|\d+|\p{L}+)"
)
_SENTENCE = late(r"[.!?;](?=\s|$)|\n|。")


def turned_limits(text: str, sources: Iterable[str]) -> list[Specific]:
    """Return the limits of a text that its sources tell the other way round.

    Example:
        >>> [str(one) for one in turned_limits("Opens after 10:00.", ["It opens before 10."])]
        ["number 'after 10:00'"]
        >>> turned_limits("Opens after 10:00.", ["It does not open before 10."])
        []
    """
    told = {(side, denied, what) for source in sources for side, denied, what, _ in _limits(source)}
    return [
        Specific(Kind.NUMBER, written, Quantity((written,)))
        for side, denied, what, written in _limits(text)
        if (-side, denied, what) in told and (side, denied, what) not in told
    ]


def _limits(text: str) -> Iterator[tuple[int, bool, str, str]]:
    folded = fold(one_form(text))
    language = language_of(folded)
    for sentence in _SENTENCE.split(folded):
        found = list(_MARK.finditer(" ".join(sentence.split())))
        denied = bool(found and negations_of(sentence, language))
        for match in found:
            side = 1 if match["low"] else -1 if match["high"] else 2 if match["other"] else -2
            yield side, denied, _what(match, language), match.group()


def _what(match: "regex.Match[str]", language: str) -> str:
    if match["h"] is None:
        return str(WORDS[language].get(match["what"], match["what"]))
    hour = int(match["h"]) % 12 + (12 if match["half"] == "p" else 0) if match["half"] else int(match["h"])
    return f"{hour}" if match["m"] in {None, "00"} else f"{hour}:{match['m']}"
