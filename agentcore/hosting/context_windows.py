"""ContextWindows: what the agent still sees of what it was given before."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from agentcore.domain.memory import SourceRef
from agentcore.domain.scope import Scope
from agentcore.recall.results import ShownRecords

_SESSIONS: Final = 1_000
"""Conversations remembered; the one untouched for longest is forgotten, and given everything again."""


class _Given(NamedTuple):
    """A line that was given: at which turn, the record it tells whole, and what that was made of."""

    turn: int
    tells: SourceRef | None
    goes_back_to: frozenset[SourceRef]


@dataclass(slots=True)
class SessionWindow:
    """One conversation: what was given at which of its turns; one turn at a time."""

    turn: int = 0
    """Turns that were given a context."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _given: dict[str, _Given] = field(default_factory=dict[str, _Given])

    def begin(self, length: int) -> None:
        """Begin the next turn; what was given *length* turns ago is seen no longer."""
        self.turn += 1
        self._given = {line: given for line, given in self._given.items() if self.turn - given.turn < length}

    def shows(self, line: str) -> bool:
        """Tell whether the agent still sees this line."""
        return line in self._given

    def told(self) -> ShownRecords:
        """Return what the agent still sees of what was found for it."""
        told = ShownRecords()
        for given in self._given.values():
            if given.tells is not None:
                told.add(given.tells, given.goes_back_to)
        return told

    def give(self, line: str, tells: SourceRef | None, goes_back_to: frozenset[SourceRef]) -> None:
        """Note that the agent gets this line now, with the record it tells whole and what that was made of."""
        self._given[line] = _Given(self.turn, tells, goes_back_to)


class ContextWindows:
    """The windows of all conversations of a host; lives as long as it, in memory.

    A process that starts anew knows nothing of what was given before, and gives it again.
    """

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[Scope, str], SessionWindow] = OrderedDict()

    def of(self, scope: Scope, session_id: str) -> SessionWindow:
        """Return the window of a conversation, a new one if it has none."""
        window = self._sessions.setdefault((scope, session_id), SessionWindow())
        self._sessions.move_to_end((scope, session_id))
        while len(self._sessions) > _SESSIONS:
            self._sessions.popitem(last=False)
        return window

    def forget(self, scope: Scope, session_id: str) -> None:
        """Note that the agent sees nothing any more of what it was given in a conversation."""
        self._sessions.pop((scope, session_id), None)
