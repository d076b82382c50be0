"""Turns as lines of data: what a prompt shows of a conversation, and what its handles stand for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentcore.domain.conversation import Turn
from dream.domain.step import Batch
from dream.passes.prompts import quoted

_HANDLE: Final = "t9999"


@dataclass(frozen=True, slots=True)
class PromptTurn:
    """A turn of a prompt.

    Args:
        handle: What the answer calls it.
        turn: It.
        is_new: Whether the batch settles it; else it was read before and is shown for what others refer to.
        place: Where it stands in the prompt, from 0: later turns of a session stand later.
    """

    handle: str
    turn: Turn
    is_new: bool
    place: int


def shown_turns(batch: Batch, stored: Mapping[str, Turn]) -> list[PromptTurn]:
    """Return the turns of a batch that are still as they were packed, in the order of the prompt.

    Args:
        batch: Which turns, in which version.
        stored: Turns as they are now, by id.
    """
    sessions: dict[str, list[tuple[str, Turn, bool]]] = {}
    # Beside come the turns that were said before the members of their session.
    numbered = [(f"t{place}", *version) for place, version in enumerate((*batch.members, *batch.beside), 1)]
    new = len(batch.members)
    for handle, turn_id, version in (*numbered[new:], *numbered[:new]):
        turn = stored.get(turn_id)
        if turn is not None and turn.version == version:
            is_new = int(handle[1:]) <= new
            sessions.setdefault(turn.session_id, []).append((handle, turn, is_new))
    ordered = [one for turns in sessions.values() for one in turns]
    return [PromptTurn(handle, turn, is_new, place) for place, (handle, turn, is_new) in enumerate(ordered)]


def line(handle: str, turn: Turn, *, is_new: bool) -> str:
    """Return a turn as one line of data: nothing in it can break the line or the fence."""
    said_at = f"{turn.occurred_at:%Y-%m-%dT%H:%MZ %A}"
    speaker = "" if turn.speaker is None else f" speaker={quoted(turn.speaker)}"
    read = "" if is_new else " read-before"
    session = f"session={quoted(turn.session_id)}"
    return f"[{handle}] {session} at={said_at}{speaker} role={turn.role}{read} {quoted(turn.content)}"


def longest_line(turn: Turn) -> str:
    """Return the line of a turn as it takes most room: what packing counts with."""
    return line(_HANDLE, turn, is_new=False)
