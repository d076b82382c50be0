"""The question, and the shape of the answer that the host relies on."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentcore.llm.chat import ChatRequest, ResponseFormat
from dream.passes.conversation.lines import Shown, line
from dream.passes.prompts import build_request, fenced
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
  as read before. What an assistant said counts only together with the next turn of the user, who confirmed it;
- "quote": words copied from one of these turns, unchanged, that show it.
Names, numbers and dates must stand in the turns cited. A relative date such as "last Tuesday" may be written out: count
from the `at` of its turn."""
"""What the host reads of an answer, said here so that a directive of somebody's own cannot change it."""

_TITLE: Final = "Turns, by session, in the order they were said:"


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
