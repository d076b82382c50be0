"""Asks the model for facts, and reads its answer item by item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from agentcore.llm.chat import ChatRequest, ResponseFormat
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.answers import read_listed
from dream.passes.conversation.lines import PromptTurn, line
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


def question(
    context: ModelContext, shown: Sequence[PromptTurn], *, directives: Sequence[str], purpose: str
) -> ChatRequest:
    """Return the request about these turns."""
    lines = [line(one.handle, one.turn, is_new=one.is_new) for one in shown]
    return build_request(
        context,
        directives=directives,
        blocks=[CONTRACT, fenced(context.marker, _TITLE, lines)],
        answer=_FORM,
        purpose=purpose,
    )


_MOST_FACTS: Final = 250
"""More than this are no answer but a flood; it also bounds what one transaction changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactItem:
    """One fact as the model gave it: text where text is due, the rest not yet looked at.

    Args:
        number: Its place in the answer, from 1.
        content: The statement.
        handles: Turns it cites, each once.
        quote: Words that shall stand in one of them.
        category: Whatever stood there.
        tags: Whatever stood there.
        importance: Whatever stood there.
        subject_time: Whatever stood there.
    """

    number: int
    content: str
    handles: tuple[str, ...]
    quote: str
    category: object = None
    tags: object = None
    importance: object = None
    subject_time: object = None

    @property
    def label(self) -> str:
        """What refusals call it."""
        return f"fact {self.number}"


def read_items(answer: Mapping[str, Any]) -> tuple[list[FactItem], list[Refusal]]:
    """Return the facts that can be read, and why others cannot; nothing of an answer in another shape is used."""
    return read_listed(answer, "facts", what="facts", most=_MOST_FACTS, read=_item)


def _item(number: int, value: object) -> FactItem | Refusal:
    if not isinstance(value, dict):
        return Refusal(Refused.INVALID_CONTENT, f"fact {number} is no object")
    fields = cast("dict[str, object]", value)
    content, quote, cited = fields.get("content"), fields.get("quote"), fields.get("sourceTurns")
    if not isinstance(content, str):
        return Refusal(Refused.INVALID_CONTENT, f"fact {number} has no text as its content")
    if not isinstance(quote, str):
        return Refusal(Refused.QUOTE_NOT_FOUND, f"fact {number} has no text as its quote")
    if not isinstance(cited, list) or not cited:
        return Refusal(Refused.NO_SOURCES, f"fact {number} cites no turn")
    handles = cast("list[object]", cited)
    if not all(isinstance(handle, str) for handle in handles):
        return Refusal(Refused.UNKNOWN_HANDLE, f"fact {number} cites something that is no handle")
    return FactItem(
        number=number,
        content=content,
        handles=tuple(dict.fromkeys(handle.strip().strip("[]") for handle in handles if isinstance(handle, str))),
        quote=quote,
        category=fields.get("category"),
        tags=fields.get("tags"),
        importance=fields.get("importance"),
        subject_time=fields.get("subjectTime"),
    )
