"""Turns beside those that a statement cites, whose numbers and acronyms it may name."""

from collections.abc import Iterable, Iterator, Sequence
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

_BORROWED: Final = frozenset({Kind.NUMBER, Kind.ACRONYM})
_NEAR: Final = 2
"""How far away a turn of the same speaker may stand: one of somebody else may lie between."""
_YES = regex.compile(
    r"\W*(?:yes|yeah|yep|yup|sure|right|exactly|correct|of course|indeed|ja|jawohl|genau|stimmt|oui|ouais|exact|sí|si"
    r"|claro|exacto|sim|isso|certo|sì|esatto|klopt|inderdaad)\b",
    regex.IGNORECASE,
)


def near_texts(cited: Sequence[Shown], shown: Iterable[Shown]) -> tuple[str, ...]:
    """Return what the turns beside the cited ones say: of the same speaker, and the question that one answers.

    Args:
        cited: Turns that count as evidence.
        shown: All turns of the prompt that are still as they were.
    """
    taken = {one.place for one in cited}
    others = [one for one in shown if one.place not in taken]
    return tuple(other.turn.content for other in others if any(_speaks_of(other, one) for one in cited))


def _speaks_of(other: Shown, one: Shown) -> bool:
    if other.turn.session_id != one.turn.session_id or other.turn.generated:
        return False
    if (other.turn.role, other.turn.speaker) == (one.turn.role, one.turn.speaker):
        return other.turn.role == "user" and abs(other.place - one.place) <= _NEAR
    return other.place == one.place - 1 and one.turn.role == "user" and _answers(one.turn.content, other.turn.content)


def _answers(reply: str, question: str) -> bool:
    if "?" not in question and "\uff1f" not in question:
        return False
    if _YES.match(reply):
        return True
    denies = negations_of(one_form(reply), language_of(reply))
    return not denies and not measures_of(reply).of(Kind.NUMBER)


def not_near(invented: Iterable[Specific], near: Sequence[str], vocabulary: Vocabulary) -> Iterator[Specific]:
    """Return those details that no turn beside holds; only numbers and acronyms are looked for there."""
    beside = Beside.of(near)
    told = Standing(near, [extract(text, vocabulary, beside=beside) for text in near], vocabulary)
    return (detail for detail in invented if detail.kind not in _BORROWED or not told.holds(detail))
