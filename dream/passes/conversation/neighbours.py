"""Finds the records that are most like what a batch says, and those that it shows beside its turns."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Generic, TypeVar

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import MemoryEntry
from agentcore.llm.chat import estimate_tokens
from agentcore.stores.storage import ReadView
from dream.domain.step import Batch
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
