"""Finds what stands near the turns of a batch: the turns beside a cited one, and the most similar records."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Generic, TypeVar

import regex

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import MemoryEntry
from agentcore.llm.chat import estimate_tokens
from agentcore.stores.storage import ReadView
from dream.domain.step import Batch
from dream.guards.detail import Detail, DetailKind
from dream.guards.details import ComparedTexts, TextIndex, details_of, measures_of
from dream.guards.folding import one_form
from dream.guards.languages import language_of
from dream.guards.names import Vocabulary
from dream.guards.negations import negations_of
from dream.passes.prompts import PromptTurn
from dream.passes.terms import terms_of

T = TypeVar("T")


class Surrounding(Generic[T]):
    """Records that may be shown beside batches, cut into words once for all of them; lives as long as a packing.

    Args:
        records: Them.
        text_of: Returns what one of them says.

    Example:
        >>> Surrounding(["The car is red.", "A bike ride."], str).nearest(["My bike is broken."], 5)
        ['A bike ride.']
    """

    def __init__(self, records: Sequence[T], text_of: Callable[[T], str]) -> None:
        self._records = records
        self._holders: defaultdict[str, list[int]] = defaultdict(list)
        for place, record in enumerate(records):
            for term in set(terms_of(text_of(record))):
                self._holders[term].append(place)

    def nearest(self, said: Iterable[str], most: int, *, without: Callable[[T], bool] = lambda _: False) -> list[T]:
        """Return at most *most* records that share a word with what was said, nearest first.

        A shared word weighs more the fewer of the records hold it; ties keep the order of the records.

        Args:
            said: Texts.
            most: How many.
            without: Tells which records are left out.
        """
        weights: defaultdict[int, float] = defaultdict(float)
        for term in sorted({term for text in said for term in terms_of(text)} & self._holders.keys()):
            holders = self._holders[term]
            weight = math.log1p(len(self._records) / len(holders))
            for place in holders:
                weights[place] += weight
        ranked = sorted(weights, key=lambda place: (-weights[place], place))
        left = (self._records[place] for place in ranked)
        return list(islice((record for record in left if not without(record)), most))


def fitting(records: Iterable[T], line_of: Callable[[T], str], room: int) -> list[T]:
    """Return the first records whose lines take *room* tokens at most together."""
    fit: list[T] = []
    for record in records:
        room -= estimate_tokens(line_of(record) + "\n")
        if room < 0:
            break
        fit.append(record)
    return fit


def handles_of(batch: Batch, letter: str, *, without: Collection[str] = ()) -> Mapping[str, str]:
    """Return the record id of each handle that begins with *letter*: its place among all that the batch shows.

    Args:
        batch: What is shown.
        letter: Tells the kinds of record apart.
        without: Ids of records of another kind.

    Example:
        >>> batch = Batch(number="1", kind="turns", members=(("a", 1),), beside=(("b", 1),))
        >>> handles_of(batch, "e", without={"a"})
        {'e2': 'b'}
    """
    numbered = enumerate(batch.record_ids, 1)
    return {f"{letter}{place}": record_id for place, record_id in numbered if record_id not in without}


def stored_beside(view: ReadView, batch: Batch) -> tuple[dict[str, Turn], dict[str, MemoryEntry]]:
    """Return the turns and the entries of a batch as they are now, by id."""
    turns = {turn.id: turn for turn in view.turns.get_many(batch.record_ids)}
    entries = {entry.id: entry for entry in view.entries.get_many([one for one, _ in batch.beside if one not in turns])}
    return turns, entries


def are_related(one: Iterable[str], other: str) -> bool:
    """Tell whether some texts share a word with another one that is not too common to tell anything."""
    return not {term for text in one for term in terms_of(text)}.isdisjoint(terms_of(other))


_BORROWED: Final = frozenset(
    {DetailKind.NUMBER, DetailKind.DATE, DetailKind.TIME, DetailKind.WEEKDAY, DetailKind.ACRONYM}
)
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


def near_turns(cited: Sequence[PromptTurn], shown: Iterable[PromptTurn]) -> tuple[Near, ...]:
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


def _tells(other: PromptTurn, one: PromptTurn) -> bool | None:
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
    return not denies and not measures_of(reply).of(DetailKind.NUMBER)


def not_near(invented: Iterable[Detail], near: Sequence[Near], vocabulary: Vocabulary) -> Iterator[Detail]:
    """Return those details that no turn beside holds; only numbers, dates, times and acronyms are looked for there."""
    around = _standing([one.text for one in near], vocabulary)
    telling = _standing([one.text for one in near if one.tells], vocabulary)
    for detail in invented:
        told = around if detail.kind is DetailKind.ACRONYM else telling
        if detail.kind not in _BORROWED or not told.holds(detail):
            yield detail


def _standing(texts: Sequence[str], vocabulary: Vocabulary) -> TextIndex:
    beside = ComparedTexts.of(texts)
    return TextIndex(texts, [details_of(text, vocabulary, beside=beside) for text in texts], vocabulary)
