"""The question, and the shape of the answer that the host relies on."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentcore.llm.chat import ChatRequest, ResponseFormat
from dream.passes.episodes.episode import EventType
from dream.passes.prompts import build_request, fenced
from dream.passes.protocol import ModelContext

_TEXT: Final[Mapping[str, Any]] = {"type": "string"}
_TEXTS: Final[Mapping[str, Any]] = {"type": "array", "items": _TEXT}

_FORM: Final = ResponseFormat(
    name="episodes",
    schema={
        "type": "object",
        "properties": {
            "toSave": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "existing": {"type": ["string", "null"]},
                        "content": _TEXT,
                        "eventType": {"type": "string", "enum": [kind.value for kind in EventType]},
                        "actor": _TEXT,
                        "tags": _TEXTS,
                        "importance": {"type": "number", "minimum": 0, "maximum": 1},
                        "subjectTime": _TEXT,
                        "sourceTurns": _TEXTS,
                        "quote": _TEXT,
                    },
                    "required": ["sourceTurns", "quote"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["toSave"],
        "additionalProperties": False,
    },
)

CONTRACT: Final = """\
Answer with {"toSave": [...]}; an empty list is a good answer when nothing happened that is worth it. Each item has:
- "existing": the handle of an episode below, such as "e7", if the turns come back to it; leave it out for a new one;
- "content": what happened, in the third person and the past tense, in the language of the turns (a new one);
- "eventType": "conversation", "task", "decision", "discovery" or "problem" (a new one);
- "actor": the name of whoever it happened through, or "user" or "assistant" (a new one);
- "tags": a list of words, and "importance": 0.2 to 0.95; both may be left out;
- "subjectTime": when it happened, if the turns say so: "2025-06-14", "2025-06", "2020..2023";
- "sourceTurns": the handles of the turns that tell it, such as ["t3"]. At least one of them must be new, not marked as
  read before. What an assistant said counts only together with the next turn of the user, who confirmed it;
- "quote": words copied from one of these turns, unchanged, that show it.
Names, numbers and dates of "content" must stand in the turns cited."""
"""What the host reads of an answer, said here so that a directive of somebody's own cannot change it."""

_KNOWN: Final = "Episodes that are known already and may be met again:"
_TURNS: Final = "Turns, by session, in the order they were said:"


def frame(marker: str) -> str:
    """Return the question without a record."""
    return "\n\n".join((CONTRACT, fenced(marker, _KNOWN, ()), fenced(marker, _TURNS, ())))


def question(
    context: ModelContext, known: Sequence[str], turns: Sequence[str], *, directives: Sequence[str], purpose: str
) -> ChatRequest:
    """Return the request about these lines."""
    blocks = [
        CONTRACT,
        *([fenced(context.marker, _KNOWN, known)] if known else []),
        fenced(context.marker, _TURNS, turns),
    ]
    return build_request(context, directives=directives, blocks=blocks, answer=_FORM, purpose=purpose)
