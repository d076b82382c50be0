"""Turns beside those that a statement cites, whose numbers, dates and acronyms it may name."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import regex

from dream.guards.folding import one_form
from dream.guards.languages import language_of
from dream.guards.polarity import negations_of
from dream.guards.specific import Kind, Specific
from dream.guards.specifics import Beside, extract, measures_of
from dream.guards.standing import Standing
from dream.guards.vocabulary import Vocabulary
from dream.passes.conversation.lines import Shown

_BORROWED: Final = frozenset({Kind.NUMBER, Kind.DATE, Kind.TIME, Kind.WEEKDAY, Kind.ACRONYM})
_AFAR: Final = 2
"""How far away a turn of the same speaker may stand: one of somebody else may lie between."""
_YES = regex.compile(
    r"\W*(?:yes|yeah|yep|yup|sure|right|exactly|correct|of course|indeed|ja|jawohl|genau|stimmt|oui|ouais|exact|sí|si"
    r"|claro|exacto|sim|isso|certo|sì|esatto|klopt|inderdaad)\b",
    regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Near:
    """A turn beside the cited ones.

    Args:
        text: What it says.
        tells: Whether its numbers, dates and times belong to what is said; else only its acronyms do.
    """

    text: str
    tells: bool


def near_turns(cited: Sequence[Shown], shown: Iterable[Shown]) -> tuple[Near, ...]:
    """Return the turns beside the cited ones: of the same speaker, the question that one answers, the one before.

    Args:
        cited: Turns that count as evidence.
        shown: All turns of the prompt that are still as they were.
    """
    taken = {one.place for one in cited}
    near: list[Near] = []
    for other in shown:
        if other.place in taken or other.turn.generated:
            continue
        told = [_tells(other, one) for one in cited if other.turn.session_id == one.turn.session_id]
        known = [one for one in told if one is not None]
        if known:
            near.append(Near(other.turn.content, any(known)))
    return tuple(near)


def _tells(other: Shown, one: Shown) -> bool | None:
    """Tell whether the measures of a turn belong to what another says; None if none of its words do."""
    apart = abs(other.place - one.place)
    if other.turn.role == "user" and other.turn.speaker == one.turn.speaker:
        return True if apart <= _AFAR else None
    if other.place == one.place - 1 and one.turn.role == "user" and _answers(one.turn.content, other.turn.content):
        return True
    return False if apart == 1 and other.turn.role == "user" else None


def _answers(reply: str, question: str) -> bool:
    if "?" not in question and "\uff1f" not in question:
        return False
    if _YES.match(reply):
        return True
    denies = negations_of(one_form(reply), language_of(reply))
    return not denies and not measures_of(reply).of(Kind.NUMBER)


def not_near(invented: Iterable[Specific], near: Sequence[Near], vocabulary: Vocabulary) -> Iterator[Specific]:
    """Return those details that no turn beside holds; only numbers, dates, times and acronyms are looked for there."""
    around = _standing([one.text for one in near], vocabulary)
    telling = _standing([one.text for one in near if one.tells], vocabulary)
    for detail in invented:
        told = around if detail.kind is Kind.ACRONYM else telling
        if detail.kind not in _BORROWED or not told.holds(detail):
            yield detail


def _standing(texts: Sequence[str], vocabulary: Vocabulary) -> Standing:
    beside = Beside.of(texts)
    return Standing(texts, [extract(text, vocabulary, beside=beside) for text in texts], vocabulary)
