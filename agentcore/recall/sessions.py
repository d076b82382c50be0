"""Which turn follows which: the order within each conversation, as arrays that a query can look up at once."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from agentcore.recall.postings import Floats, Keys, Slots

NOWHERE: Final = -1


@dataclass(slots=True)
class _Session:
    """One conversation: its number and the places of its turns."""

    number: int
    places: "array[int]" = field(default_factory=lambda: array("i"))


class Sessions:
    """The conversations of a scope; lives as long as the index of its turns.

    A turn has a place, given in the order of arrival and never reused. Turns of a session are in the order they were
    said, those of one instant in the order of their keys.

    Not thread-safe: the recall thread owns it.

    Example:
        >>> sessions = Sessions()
        >>> [sessions.add("s1", key=key, occurred_us=key * 10, length=5) for key in (7, 8, 9)]
        [0, 1, 2]
        >>> before, after = sessions.neighbours()
        >>> before.tolist(), after.tolist()
        ([-1, 0, 1], [1, 2, -1])
    """

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}
        self._names: list[str] = []
        self._lengths: list[int] = []
        self._keys: array[int] = array("q")
        self._occurred: array[int] = array("q")
        self._numbers: array[int] = array("i")
        self._before: array[int] = array("i")
        self._after: array[int] = array("i")
        self._disordered: set[str] = set()
        self.gone = 0
        """Places whose turn was removed."""

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate."""
        return 40 * len(self._keys) + 300 * len(self._sessions)

    def add(self, session_id: str, *, key: int, occurred_us: int, length: int) -> int:
        """Give a turn its place; one said after all others of its session costs no more than that.

        Args:
            session_id: Its conversation.
            key: Its key in the store.
            occurred_us: When it was said.
            length: Its terms.
        """
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = _Session(len(self._names))
            self._names.append(session_id)
            self._lengths.append(0)
        place = len(self._keys)
        last = session.places[-1] if session.places else NOWHERE
        in_order = last == NOWHERE or (self._occurred[last], self._keys[last]) < (occurred_us, key)
        self._keys.append(key)
        self._occurred.append(occurred_us)
        self._numbers.append(session.number)
        self._before.append(last if in_order else NOWHERE)
        self._after.append(NOWHERE)
        if in_order and last != NOWHERE:
            self._after[last] = place
        session.places.append(place)
        if not in_order:
            self._disordered.add(session_id)
        self._lengths[session.number] += length
        return place

    def remove(self, place: int, *, length: int) -> None:
        """Take a turn out; its neighbours become each other's."""
        before, after = self._before[place], self._after[place]
        number = self._numbers[place]
        name = self._names[number]
        self._sessions[name].places.remove(place)
        if name not in self._disordered:
            if before != NOWHERE:
                self._after[before] = after
            if after != NOWHERE:
                self._before[after] = before
        self._before[place] = self._after[place] = NOWHERE
        self._lengths[number] -= length
        self.gone += 1

    def neighbours(self) -> tuple[Slots, Slots]:
        """The places before and after each place, `NOWHERE` at a session's ends; shape (places,) each."""
        for name in self._disordered:
            self._order(self._sessions[name])
        self._disordered.clear()
        return (
            np.frombuffer(self._before, dtype=np.intc).astype(np.intp),
            np.frombuffer(self._after, dtype=np.intc).astype(np.intp),
        )

    def numbers(self) -> Slots:
        """The number of each place's session, shape (places,)."""
        return np.frombuffer(self._numbers, dtype=np.intc).astype(np.intp)

    def lengths(self) -> Floats:
        """The terms of each session by its number."""
        return np.array(self._lengths, dtype=np.float64)

    def keys(self, places: Slots) -> Keys:
        """The keys of turns."""
        return np.frombuffer(self._keys, dtype=np.int64).take(places)

    def occurred(self, places: Slots) -> Keys:
        """When turns were said, microseconds since 1970."""
        return np.frombuffer(self._occurred, dtype=np.int64).take(places)

    def number_of(self, session_id: str) -> int:
        """The number of a session, `NOWHERE` if it has none."""
        session = self._sessions.get(session_id)
        return NOWHERE if session is None else session.number

    def turns(self) -> Iterable[tuple[str, int, int, int]]:
        """Every turn that is here, session by session: its session, place, key, and when it was said."""
        for name, session in self._sessions.items():
            for place in session.places:
                yield name, place, self._keys[place], self._occurred[place]

    def _order(self, session: _Session) -> None:
        order = sorted(session.places, key=lambda place: (self._occurred[place], self._keys[place]))
        session.places = array("i", order)
        for before, place, after in zip([NOWHERE, *order], order, [*order[1:], NOWHERE], strict=False):
            self._before[place], self._after[place] = before, after
