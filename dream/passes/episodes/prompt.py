"""Asks the model for episodes, and reads its answer item by item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, cast

from agentcore.llm.chat import ChatRequest, ResponseFormat
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.answers import cited, read_listed
from dream.passes.prompts import build_request, fenced
from dream.passes.protocol import ModelContext

_MOST_EPISODES: Final = 100
"""More than this are no answer but a flood; it also bounds what one transaction changes."""


class EventType(StrEnum):
    """What kind of thing happened."""

    CONVERSATION = "conversation"
    TASK = "task"
    DECISION = "decision"
    DISCOVERY = "discovery"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeItem:
    """One episode as the model gave it: text where text is due, the rest not yet looked at.

    Args:
        number: Its place in the answer, from 1.
        content: What happened; blank where an episode is met again.
        existing: Handle of the episode that is met again; None for a new one.
        handles: Turns it cites, each once.
        quote: Words that shall stand in one of them.
        event_type: Whatever stood there.
        actor: Whatever stood there.
        tags: Whatever stood there.
        importance: Whatever stood there.
        subject_time: Whatever stood there.
    """

    number: int
    content: str
    existing: str | None
    handles: tuple[str, ...]
    quote: str
    event_type: object = None
    actor: object = None
    tags: object = None
    importance: object = None
    subject_time: object = None

    @property
    def label(self) -> str:
        """What refusals call it."""
        return f"episode {self.number}"


def read_items(answer: Mapping[str, Any]) -> tuple[list[EpisodeItem], list[Refusal]]:
    """Return the episodes that can be read, and why others cannot; nothing of an answer in another shape is used."""
    return read_listed(answer, "toSave", what="episodes", most=_MOST_EPISODES, read=_item)


def _item(number: int, value: object) -> EpisodeItem | Refusal:
    if not isinstance(value, dict):
        return Refusal(Refused.INVALID_CONTENT, f"episode {number} is no object")
    fields = cast("dict[str, object]", value)
    existing, content, quote = fields.get("existing"), fields.get("content"), fields.get("quote")
    if existing is not None and not isinstance(existing, str):
        return Refusal(Refused.UNKNOWN_HANDLE, f"episode {number} names something that is no handle")
    if not isinstance(content, str) and not existing:
        return Refusal(Refused.INVALID_CONTENT, f"episode {number} has no text as its content")
    if not isinstance(quote, str):
        return Refusal(Refused.QUOTE_NOT_FOUND, f"episode {number} has no text as its quote")
    handles = cited(fields.get("sourceTurns"))
    if not handles:
        code = Refused.NO_SOURCES if handles == () else Refused.UNKNOWN_HANDLE
        return Refusal(code, f"episode {number} cites no turn")
    return EpisodeItem(
        number=number,
        content=content if isinstance(content, str) else "",
        existing=existing.strip().strip("[]") if existing else None,
        handles=handles,
        quote=quote,
        event_type=fields.get("eventType"),
        actor=fields.get("actor"),
        tags=fields.get("tags"),
        importance=fields.get("importance"),
        subject_time=fields.get("subjectTime"),
    )


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
