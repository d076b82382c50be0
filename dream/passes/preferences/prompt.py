"""The question, and the shape of the answer that the host relies on."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentcore.llm.chat import ChatRequest, ResponseFormat
from dream.passes.preferences.answer import Sentiment
from dream.passes.prompts import build_request, fenced
from dream.passes.protocol import ModelContext

_TEXT: Final[Mapping[str, Any]] = {"type": "string"}
_TEXTS: Final[Mapping[str, Any]] = {"type": "array", "items": _TEXT}
_HANDLE: Final[Mapping[str, Any]] = {"type": ["string", "null"]}

_FORM: Final = ResponseFormat(
    name="preferences",
    schema={
        "type": "object",
        "properties": {
            "toSave": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "existing": _HANDLE,
                        "supersedes": _HANDLE,
                        "content": _TEXT,
                        "sentiment": {"type": "string", "enum": [one.value for one in Sentiment]},
                        "tags": _TEXTS,
                        "importance": {"type": "number", "minimum": 0, "maximum": 1},
                        "requiresUserPermission": {"type": "boolean"},
                        "sourceIds": _TEXTS,
                        "quote": _TEXT,
                    },
                    "required": ["sourceIds", "quote"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["toSave"],
        "additionalProperties": False,
    },
)

CONTRACT: Final = """\
Answer with {"toSave": [...]}; an empty list is a good answer when nobody showed a lasting preference. Each item has:
- "existing": the handle of a known preference, such as "e9", if it is shown again; leave it out for a new one;
- "supersedes": the handle of a known preference that the new one contradicts, if there is one;
- "content": the preference as one sentence in the third person, in the language of the turns (a new one);
- "sentiment": "irritated", "frustrated" or "casual" (a new one);
- "tags": a list of words, and "importance": 0 to 1; both may be left out;
- "requiresUserPermission": true if it is about security, credentials or money;
- "sourceIds": the handles of all turns and feedback that show it, such as ["t3", "f12"]. At least one of them must be a
  new turn, not marked as read before. Each turn of the user, and each correction or thumb, counts as one occasion; what
  the assistant said counts as none;
- "quote": words copied from one of them, unchanged, that show it.
Names, numbers and dates of "content" must stand in what is cited."""
"""What the host reads of an answer, said here so that a directive of somebody's own cannot change it."""

_KNOWN: Final = "Preferences that are known already:"
_FEEDBACK: Final = "Feedback, oldest first:"
_TURNS: Final = "Turns, by session, in the order they were said:"


def frame(marker: str) -> str:
    """Return the question without a record."""
    return "\n\n".join((CONTRACT, *(fenced(marker, title, ()) for title in (_KNOWN, _FEEDBACK, _TURNS))))


def question(
    context: ModelContext,
    *,
    known: Sequence[str],
    feedback: Sequence[str],
    turns: Sequence[str],
    directives: Sequence[str],
    purpose: str,
) -> ChatRequest:
    """Return the request about these lines."""
    titled = ((_KNOWN, known), (_FEEDBACK, feedback), (_TURNS, turns))
    blocks = [CONTRACT, *(fenced(context.marker, title, lines) for title, lines in titled if lines)]
    return build_request(context, directives=directives, blocks=blocks, answer=_FORM, purpose=purpose)
