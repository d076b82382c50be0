"""Holds which turn follows which in each conversation, as arrays that a query can look up at once."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from agentcore.recall.bm25.arrays import Floats, Keys, Slots

NOWHERE: Final = 0
"""The place before the first turn of a session and after its last; nothing is ever there."""
NO_SESSION: Final = -1
"""The number of a session that has no turns, and of what is nowhere."""


@dataclass(slots=True)
class _SessionTurns:
    """One conversation: its number and the places of its turns."""

    number: int
    places: "array[int]" = field(default_factory=lambda: array("q"))


class Sessions:
    """The conversations of a scope; lives as long as the index of its turns.

    A turn is known by a number that stays, and has a place, which `close_gaps` may change. Turns of a session are in
    the order they were said, those of one instant in the order of their keys.

    Not thread-safe: the recall thread owns it.

    Example:
        >>> sessions = Sessions()
        >>> [sessions.add("s1", key=key, occurred_us=key * 10, length=5) for key in (7, 8, 9)]
        [0, 1, 2]
        >>> before, after = sessions.neighbours()
        >>> before.tolist(), after.tolist()
        ([0, 0, 1, 2], [0, 2, 3, 0])
    """

    def __init__(self) -> None:
        self._sessions: dict[str, _SessionTurns] = {}
        self._names: list[str] = []
        self._lengths: array[float] = array("d")
        self._place_of: array[int] = array("q")
        # Arrays of 8 bytes, for NumPy looks up by them as they are.
        self._keys: array[int] = array("q", [0])
        self._occurred: array[int] = array("q", [0])
        self._numbers: array[int] = array("q", [NO_SESSION])
        self._shares: array[float] = array("d", [0.0])
        self._before: array[int] = array("q", [NOWHERE])
        self._after: array[int] = array("q", [NOWHERE])
        self._disordered: set[str] = set()
        self.gone = 0
        """Places whose turn was removed."""

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        *,
        keys: Sequence[int],
        numbers: Sequence[int],
        occurred: Sequence[int],
        lengths: Sequence[float],
        shares: Sequence[float],
    ) -> "Sessions":
        """Return the sessions of turns that are numbered in the order they are given; each session has one.

        Args:
            names: The sessions by their numbers.
            keys: The key of each turn.
            numbers: The number of its session.
            occurred: When it was said.
            lengths: Its terms.
            shares: What its length leaves of its score.
        """
        made = cls()
        of_session, said = np.array(numbers, dtype=np.int64), np.array(occurred, dtype=np.int64)
        order = np.lexsort((np.array(keys, dtype=np.int64), said, of_session))
        places, sorted_numbers = order + 1, of_session[order]
        goes_on = sorted_numbers[1:] == sorted_numbers[:-1]
        before, after = np.zeros((2, len(order) + 1), dtype=np.int64)
        before[places[1:][goes_on]] = places[:-1][goes_on]
        after[places[:-1][goes_on]] = places[1:][goes_on]
        made._before, made._after = as_array(before), as_array(after)
        made._keys.extend(keys)
        made._occurred.extend(occurred)
        made._numbers.extend(numbers)
        made._shares.extend(shares)
        made._place_of = array("q", range(1, len(order) + 1))
        made._names = list(names)
        made._lengths = array("d", np.bincount(of_session, weights=np.array(lengths), minlength=len(names)))
        begins = np.flatnonzero(np.concatenate(([True], ~goes_on))) if len(order) else order
        made._sessions = {
            made._names[number]: _SessionTurns(number, as_array(held))
            for number, held in zip(sorted_numbers[begins].tolist(), np.split(places, begins[1:]), strict=False)
        }
        return made

    def __len__(self) -> int:
        return len(self._keys) - 1

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate."""
        return 56 * len(self._keys) + 8 * len(self._place_of) + 300 * len(self._sessions)

    def add(self, session_id: str, *, key: int, occurred_us: int, length: int, share: float = 1.0) -> int:
        """Give a turn its place; one said after all others of its session costs no more than that.

        Args:
            session_id: Its conversation.
            key: Its key in the store.
            occurred_us: When it was said.
            length: Its terms.
            share: What its length leaves of its score.

        Returns:
            The number it is known by.
        """
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = _SessionTurns(len(self._names))
            self._names.append(session_id)
            self._lengths.append(0.0)
        place = len(self._keys)
        last = session.places[-1] if session.places else NOWHERE
        in_order = last == NOWHERE or (self._occurred[last], self._keys[last]) < (occurred_us, key)
        self._keys.append(key)
        self._occurred.append(occurred_us)
        self._numbers.append(session.number)
        self._shares.append(share)
        self._before.append(last if in_order else NOWHERE)
        self._after.append(NOWHERE)
        if in_order and last != NOWHERE:
            self._after[last] = place
        session.places.append(place)
        if not in_order:
            self._disordered.add(session_id)
        self._lengths[session.number] += length
        self._place_of.append(place)
        return len(self._place_of) - 1

    def remove(self, turn: int, *, length: int) -> None:
        """Take a turn out; its neighbours become each other's."""
        place = self._place_of[turn]
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
        self._numbers[place] = NO_SESSION
        self._lengths[number] -= length
        self._place_of[turn] = NOWHERE
        self.gone += 1

    def places(self, turns: Slots) -> Slots:
        """The places of turns by their numbers."""
        return np.frombuffer(self._place_of, dtype=np.int64).take(turns)

    def neighbours(self) -> tuple[Slots, Slots]:
        """The places before and after each place, `NOWHERE` at a session's ends; shape (1 + places,) each.

        Not to be kept: while they are, no turn can be added.
        """
        for name in self._disordered:
            self._order(self._sessions[name])
        self._disordered.clear()
        return np.frombuffer(self._before, dtype=np.int64), np.frombuffer(self._after, dtype=np.int64)

    def numbers(self, places: Slots) -> Slots:
        """The numbers of the sessions of turns."""
        return np.frombuffer(self._numbers, dtype=np.int64).take(places)

    def shares(self, places: Slots) -> Floats:
        """What the length of each turn leaves of its score, above 0, at most 1."""
        return np.frombuffer(self._shares).take(places)

    def lengths(self) -> Floats:
        """The terms of each session by its number."""
        return np.array(self._lengths)

    def keys(self, places: Slots) -> Keys:
        """The keys of turns."""
        return np.frombuffer(self._keys, dtype=np.int64).take(places)

    def occurred(self, places: Slots) -> Keys:
        """When turns were said, microseconds since 1970."""
        return np.frombuffer(self._occurred, dtype=np.int64).take(places)

    def number_of(self, session_id: str) -> int:
        """The number of a session, `NO_SESSION` if it has none."""
        session = self._sessions.get(session_id)
        return NO_SESSION if session is None else session.number

    @property
    def names(self) -> list[str]:
        """The sessions by their numbers."""
        return self._names

    def close_gaps(self) -> None:
        """Take away the places and the sessions that hold nothing: about 30 ms for 200,000 turns."""
        self.neighbours()
        numbers = np.array(self._numbers)
        kept = np.concatenate(([NOWHERE], np.flatnonzero(numbers != NO_SESSION)))
        moved = np.zeros(len(numbers), dtype=np.int64)
        moved[kept] = np.arange(len(kept))
        held = [name for name, session in self._sessions.items() if session.places]
        renumbered = np.full(len(self._names) + 1, NO_SESSION, dtype=np.int64)
        renumbered[[self._sessions[name].number for name in held]] = np.arange(len(held))
        self._place_of = as_array(moved[np.array(self._place_of, dtype=np.int64)])
        self._keys, self._occurred = (
            as_array(np.array(one, dtype=np.int64)[kept]) for one in (self._keys, self._occurred)
        )
        self._before, self._after = (
            as_array(moved[np.array(one, dtype=np.int64)[kept]]) for one in (self._before, self._after)
        )
        self._numbers = as_array(renumbered[numbers[kept]])
        self._shares = array("d", np.array(self._shares)[kept].tobytes())
        self._lengths = array("d", [self._lengths[self._sessions[name].number] for name in held])
        self._names = held
        self._sessions = {
            name: _SessionTurns(number, as_array(moved[np.array(self._sessions[name].places, dtype=np.int64)]))
            for number, name in enumerate(held)
        }
        self.gone = 0

    def _order(self, session: _SessionTurns) -> None:
        order = sorted(session.places, key=lambda place: (self._occurred[place], self._keys[place]))
        session.places = array("q", order)
        following: Sequence[int] = [*order[1:], NOWHERE]
        for before, place, after in zip([NOWHERE, *order], order, following, strict=False):
            self._before[place], self._after[place] = before, after


def as_array(values: Slots) -> "array[int]":
    """Return whole numbers as an array that can grow."""
    made = array("q")
    made.frombytes(values.astype(np.int64, copy=False).tobytes())
    return made
