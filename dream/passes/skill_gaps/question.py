"""The question: what was said, by session, what recurs, and which skills there are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentcore.domain.conversation import Turn
from agentcore.domain.skill import Skill
from agentcore.llm.chat import ChatRequest
from dream.domain.batch import Batch
from dream.passes.prompts import build_request, fenced, quoted
from dream.passes.protocol import ModelContext
from dream.passes.skill_answers import answer_form
from dream.passes.skill_gaps.catalogue import catalogue_line
from dream.passes.skill_gaps.terms import Openings

SOURCES: Final = "sourceTurns"

_FORM: Final = answer_form("skill_gaps", sources=SOURCES, retires=False)
_CONTRACT: Final = """\
Answer with {"toSave": [...]}; an empty list is a good answer. Each item is a new skill:
- "name": a short lower-case path such as "summarize-emails" or "mail/summarize", which no skill of the catalogue has;
- "summary": one line that says when to use it;
- "content": the procedure in Markdown, as numbered steps;
- "sourceTurns": handles of the users' turns that ask for it, from two different sessions or more, such as
  ["t1", "t7"]; at least one of them is not marked as read before.
Propose one only for a request of the same type that users made in two sessions or more and that no skill of the
catalogue covers. Names, addresses and commands that no turn shown gives are left out."""

_TURNS: Final = "Conversation, by session:"
_TERMS: Final = "Recurring topics, counted by the host over the first message of each session (2 sessions or more):"
_CATALOGUE: Final = "Catalogue of skills:"
_NO_SKILLS: Final = "There is no skill yet."
_HANDLE: Final = "t9999"
_EARLIER: Final = " read-before"


@dataclass(frozen=True, slots=True)
class Shown:
    """A turn of a prompt.

    Args:
        handle: What the answer calls it.
        turn: It.
        is_new: Whether the batch settles it; else it is how another session began.
    """

    handle: str
    turn: Turn
    is_new: bool


def shown_turns(batch: Batch, stored: Mapping[str, Turn]) -> list[Shown]:
    """Return the turns of a batch that are as they were packed, by session, sessions in the order they began."""
    new = len(batch.members)
    found = [
        Shown(f"t{place}", stored[turn_id], place <= new)
        for place, (turn_id, version) in enumerate((*batch.members, *batch.beside), 1)
        if turn_id in stored and stored[turn_id].version == version
    ]
    began: dict[str, tuple[object, ...]] = {}
    for one in found:
        at = (one.turn.occurred_at, one.turn.session_id)
        began[one.turn.session_id] = min(at, began.get(one.turn.session_id, at))
    # The place in the batch tells turns of one instant apart: members stand in the order they were said.
    return sorted(found, key=lambda one: (began[one.turn.session_id], one.turn.occurred_at, int(one.handle[1:])))


def line(handle: str, turn: Turn, mark: str = "") -> str:
    """Return a turn as one line of data."""
    said_at = f"{turn.occurred_at:%Y-%m-%dT%H:%MZ}"
    return f"[{handle}] session={quoted(turn.session_id)} at={said_at} role={turn.role}{mark} {quoted(turn.content)}"


def longest_line(turn: Turn) -> str:
    """Return the line of a turn as it takes most room: what packing counts with."""
    return line(_HANDLE, turn, _EARLIER)


def frame(marker: str) -> str:
    """Return the question without any data."""
    blocks = (fenced(marker, title, ()) for title in (_TURNS, _TERMS, _CATALOGUE))
    return "\n\n".join((*blocks, f"{_hidden(99_999)}", _CONTRACT))


def question(
    context: ModelContext,
    shown: Sequence[Shown],
    *,
    recurring: Sequence[tuple[str, int]],
    openings: Openings,
    skills: Sequence[Skill],
    hidden: int,
    directives: Sequence[str],
    purpose: str,
) -> ChatRequest:
    """Return the request.

    Args:
        context: The run's.
        shown: The turns.
        recurring: Terms with the count of their sessions.
        openings: How those terms are written.
        skills: The part of the catalogue that is shown.
        hidden: How many other skills there are.
        directives: Names of the directives.
        purpose: The pass's name.
    """
    marker = context.marker
    turns = [line(one.handle, one.turn, "" if one.is_new else _EARLIER) for one in shown]
    terms = [f"- {quoted(openings.written(term))}: {count} sessions" for term, count in recurring]
    return build_request(
        context,
        directives=directives,
        blocks=[
            fenced(marker, _TURNS, turns),
            *([fenced(marker, _TERMS, terms)] if terms else []),
            fenced(marker, _CATALOGUE, [catalogue_line(skill) for skill in skills]) if skills else _NO_SKILLS,
            *([_hidden(hidden)] if hidden else []),
            _CONTRACT,
        ],
        answer=_FORM,
        purpose=purpose,
    )


def _hidden(count: int) -> str:
    return f"{count:,} more skills, less like this conversation, are not shown."
