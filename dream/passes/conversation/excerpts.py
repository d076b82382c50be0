"""Shortens what an assistant said at length to what people could have answered to."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from agentcore.domain.conversation import Turn
from dream.passes.conversation.sentences import sentences_in
from dream.passes.prompts import PromptTurn
from dream.passes.terms import terms_of

ASSISTANT: Final = "assistant"
_PART: Final = 200
"""Characters of a part at most."""
_MOST_ANSWERED: Final = 2
"""Parts that a person answers to, the opening and the end aside."""
_SHORT: Final = 3 * _PART
"""What is no longer than this is shown whole."""
LONGEST: Final = (2 + _MOST_ANSWERED) * _PART + 40
"""Characters of an excerpt at most, the marks of what is left out among them."""
_GAP: Final = " [...] "
_NEIGHBOURS: Final = 2
"""Turns of people before and after, whose words tell what they answer to."""
_LEAST_SHARED: Final = 2


def excerpts(shown: Sequence[PromptTurn]) -> list[PromptTurn]:
    """Return turns as they are shown to readers: of an assistant's long ones the parts that people may refer to.

    These are the opening, the sentences that share most words with what people said right before and after it, and the
    end, which is what is answered most often; each at most 200 characters. A quote is held against the whole turn.
    """
    return [
        replace(one, turn=replace(one.turn, content=_excerpt(one.turn.content, _around(shown, place))))
        if one.turn.role == ASSISTANT and len(one.turn.content) > _SHORT
        else one
        for place, one in enumerate(shown)
    ]


def _around(shown: Sequence[PromptTurn], place: int) -> list[str]:
    """Return what people said nearest to a turn, in its session."""
    session = shown[place].turn.session_id
    before = (one.turn for one in reversed(shown[:place]))
    after = (one.turn for one in shown[place + 1 :])
    return [text for side in (before, after) for text in _first(side, session)]


def _first(turns: Iterable[Turn], session: str) -> list[str]:
    said: list[str] = []
    for turn in turns:
        if turn.session_id != session or len(said) == _NEIGHBOURS:
            break
        if turn.role != ASSISTANT:
            said.append(turn.content)
    return said


def _excerpt(text: str, around: Sequence[str]) -> str:
    """Return the opening, what is answered to, and the end of a long text, in its order.

    Example:
        >>> long = "One thing first. " + "Nothing here. " * 70 + "Try the blue ferry to Ons. " + "Nothing there. " * 70
        >>> "blue ferry to Ons" in _excerpt(long, ["The blue ferry it is"])
        True
    """
    sentences = [one[:_PART] for one in sentences_in(text)]
    opening = _taken(sentences)
    end = _taken(list(reversed(sentences[opening:])))
    middle = range(opening, len(sentences) - end)
    wanted = {term for said in around for term in terms_of(said)}
    common = Counter(term for sentence in sentences for term in set(terms_of(sentence)))
    shared = {place: wanted.intersection(terms_of(sentences[place])) for place in middle}
    weight = {place: sum(1 / common[term] for term in terms) for place, terms in shared.items()}
    answered = [place for place in middle if len(shared[place]) >= _LEAST_SHARED]
    best = sorted(sorted(answered, key=lambda place: (-weight[place], place))[:_MOST_ANSWERED])
    parts = [" ".join(sentences[:opening]), *(sentences[place] for place in best)]
    return _GAP.join([*parts, " ".join(sentences[len(sentences) - end :])])


def _taken(sentences: Sequence[str]) -> int:
    """Return how many sentences make up a part, one at least."""
    room, count = _PART, 0
    for sentence in sentences:
        room -= len(sentence) + 1
        if count and room < 0:
            break
        count += 1
    return count
