"""The question: turns as lines of data, and the shape of the answer that the host relies on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentcore.domain.conversation import Turn
from agentcore.llm.chat import ChatRequest, ResponseFormat
from dream.domain.batch import Batch
from dream.passes.prompting import build_request, fenced, quoted
from dream.passes.protocol import ModelContext

_TEXT: Final[Mapping[str, Any]] = {"type": "string"}
_TEXTS: Final[Mapping[str, Any]] = {"type": "array", "items": _TEXT}

_FORM: Final = ResponseFormat(
    name="facts",
    schema={
        "type": "object",
        "properties": {
            "facts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "content": _TEXT,
                        "category": _TEXT,
                        "tags": _TEXTS,
                        "importance": {"type": "number", "minimum": 0, "maximum": 1},
                        "subjectTime": _TEXT,
                        "sourceTurns": _TEXTS,
                        "quote": _TEXT,
                    },
                    "required": ["content", "category", "tags", "sourceTurns", "quote"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["facts"],
        "additionalProperties": False,
    },
)

CONTRACT: Final = """\
Answer with {"facts": [...]}; an empty list is a good answer when the turns hold nothing to remember. Each fact has:
- "content": one statement in the third person that can be understood alone, in the language of the turns;
- "category": a slash path such as "people/ana" or "general", and "tags": a list of words, or [];
- "importance": 0 to 1, may be left out;
- "subjectTime": when it is about, if the turns say so: "2025", "2025-06", "2025-06-14" or "2020..2023", "2020..?";
- "sourceTurns": the handles of the turns that say it, such as ["t3"]. At least one of them must be new, not marked
  as read before. What an assistant said counts only together with the later turn of the user who confirmed it;
- "quote": words copied from one of these turns, unchanged, that show it.
Names, numbers and dates must stand in the turns cited. A relative date such as "last Tuesday" may be written out: count
from the `at` of its turn."""
"""What the host reads of an answer, said here so that a directive of somebody's own cannot change it."""

_TITLE: Final = "Turns, by session, in the order they were said:"
_HANDLE: Final = "t9999"


@dataclass(frozen=True, slots=True)
class Shown:
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


def shown_turns(batch: Batch, stored: Mapping[str, Turn]) -> list[Shown]:
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
    return [Shown(handle, turn, is_new, place) for place, (handle, turn, is_new) in enumerate(ordered)]


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


def frame(marker: str) -> str:
    """Return the question without a turn."""
    return "\n\n".join((CONTRACT, fenced(marker, _TITLE, ())))


def question(context: ModelContext, shown: Sequence[Shown], *, directives: Sequence[str], purpose: str) -> ChatRequest:
    """Return the request about these turns."""
    lines = [line(one.handle, one.turn, is_new=one.is_new) for one in shown]
    return build_request(
        context,
        directives=directives,
        blocks=[CONTRACT, fenced(context.marker, _TITLE, lines)],
        answer=_FORM,
        purpose=purpose,
    )
