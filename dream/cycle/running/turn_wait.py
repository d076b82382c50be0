"""Tells whether a pass that reads conversations leaves new turns for later, until there are enough of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentcore.domain.temporal import to_text
from dream.domain.declaration import Reads
from dream.stores import dream_stores

if TYPE_CHECKING:
    from datetime import datetime

    from agentcore.stores.storage import ReadView
    from dream.options import DreamOptions


@dataclass(frozen=True, slots=True)
class TurnWait:
    """New turns that a pass leaves for later.

    Args:
        turns: How many there are.
        enough: So many are read at once.
        until: When they are read however few they are.
    """

    turns: int
    enough: int
    until: datetime

    def __str__(self) -> str:
        return f"{self.turns} of {self.enough} turns, read from {to_text(self.until)} on in any case"


def turn_wait(
    view: ReadView, options: DreamOptions, name: str, *, reads: Reads | None, now: datetime
) -> TurnWait | None:
    """Return what a pass waits for by the option `reading.wait_turns`; None if it has nothing to wait for.

    Args:
        view: The scope.
        options: The host's.
        name: The pass.
        reads: What it reads.
        now: The instant of the decision.
    """
    terms = options.reading
    if reads is not Reads.TURNS or not terms.wait_turns:
        return None
    cursors = dream_stores(view).cursors
    found = view.turns.material(after=cursors.position(name) or 0, also=cursors.reopened(name), limit=terms.wait_turns)
    if not found or len(found) >= terms.wait_turns:
        return None
    stored = view.turns.get_many([one.id for one in found])
    until = min(turn.recorded_at for turn in stored) + terms.wait_within
    return TurnWait(len(found), terms.wait_turns, until) if until > now else None
