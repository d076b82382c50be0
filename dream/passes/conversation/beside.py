"""What is shown beside the turns of a batch: the records that are nearest to them, as many as have room."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import MemoryEntry
from agentcore.llm.tokens import estimate_tokens
from agentcore.recall.tokenizer import Tokenizer
from agentcore.stores.protocols import ReadView
from dream.domain.batch import Batch

T = TypeVar("T")


def nearest(said: Iterable[str], records: Sequence[T], text_of: Callable[[T], str], most: int) -> list[T]:
    """Return at most *most* records that share a word with what was said, nearest first.

    A shared word weighs more the fewer of the records hold it; ties keep the order of *records*.

    Example:
        >>> nearest(["My bike is broken."], ["The car is red.", "A bike ride."], str, 5)
        ['A bike ride.']
    """
    tokenizer = Tokenizer()
    wanted = {token for text in said for token in tokenizer.tokens(text)}
    shared = [wanted.intersection(tokenizer.tokens(text_of(record))) for record in records]
    frequency = Counter(token for tokens in shared for token in tokens)
    weights = [sum(math.log1p(len(records) / frequency[token]) for token in sorted(tokens)) for tokens in shared]
    best = sorted((place for place, weight in enumerate(weights) if weight > 0), key=lambda place: -weights[place])
    return [records[place] for place in best[:most]]


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
    tokenizer = Tokenizer()
    return not {token for text in one for token in tokenizer.tokens(text)}.isdisjoint(tokenizer.tokens(other))
