"""Asks the model for episodes, and reads its answer item by item."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, WithJsonSchema, field_validator

from agentcore.llm.chat import ChatRequest
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.answers import (
    IMPORTANCE,
    TEXT,
    TEXTS,
    AnswerItem,
    Handle,
    Handles,
    Otherwise,
    Text,
    answer_form,
    blank_if_known,
    choice_of,
    item_schema,
    read_items as read_list,
)
from dream.passes.prompts import ReaderPart, build_request, fenced
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


class EpisodeItem(AnswerItem):
    """One episode as the model gave it: text where text is due, the rest not yet looked at."""

    called: ClassVar[str] = "episode {}"

    existing: Annotated[Handle, Otherwise(Refused.UNKNOWN_HANDLE, "{} names something that is no handle")] = None
    """Handle of the episode that is met again; None for a new one."""
    content: Annotated[Text, Otherwise(Refused.INVALID_CONTENT, "{} has no text as its content")] = ""
    """What happened; blank where an episode is met again."""
    event_type: Annotated[object, WithJsonSchema(choice_of(EventType))] = Field(
        default=None, validation_alias="eventType"
    )
    actor: Annotated[object, WithJsonSchema(dict(TEXT))] = None
    tags: Annotated[object, WithJsonSchema(dict(TEXTS))] = None
    importance: Annotated[object, WithJsonSchema(dict(IMPORTANCE))] = None
    subject_time: Annotated[object, WithJsonSchema(dict(TEXT))] = Field(default=None, validation_alias="subjectTime")
    handles: Annotated[Handles, Otherwise(Refused.NO_SOURCES, "{} cites no turn")] = Field(
        validation_alias="sourceTurns"
    )
    """Turns that it cites."""
    quote: Annotated[Text, Otherwise(Refused.QUOTE_NOT_FOUND, "{} has no text as its quote")]
    """Words that stand in one of them."""

    _content = field_validator("content", mode="before")(blank_if_known)


_FORM: Final = answer_form("episodes", toSave=item_schema(EpisodeItem))


def read_items(answer: Mapping[str, Any]) -> tuple[list[EpisodeItem], list[Refusal]]:
    """Return the episodes that can be read, and why others cannot; nothing of an answer in another shape is used."""
    return read_list(answer, "toSave", EpisodeItem, what="episodes", most=_MOST_EPISODES)


CONTRACT: Final = """\
Answer with {"toSave": [...]}; an empty list is a good answer when nothing happened that is worth it. Each item has:
- "existing": the handle of an episode below, such as "e7", if the turns come back to it; leave it out for a new one;
- "content": one event: one sentence of at most 25 words in the third person and the past tense, in the turns' own words
  and language (a new one);
- "eventType": "conversation", "task", "decision", "discovery" or "problem" (a new one);
- "actor": the name of whoever it happened through, or "user" or "assistant" (a new one);
- "tags": a list of words, and "importance": 0.2 to 0.95; both may be left out;
- "subjectTime": when it happened, if the turns say so: "2025-06-14", "2025-06", "2020..2023";
- "sourceTurns": the handles of the turns that tell it, such as ["t3"]. At least one of them must be new, not marked as
  read before. What an assistant said counts only together with the later turn of the user who took it up;
- "quote": words copied from one of these turns, unchanged, that show it.
Another reader checks "content" against the turns cited."""
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


def part(context: ModelContext, known: Sequence[str], *, directives: Sequence[str], reader: str) -> ReaderPart:
    """Return what the pass adds to a question that it shares, with the episodes that are known."""
    blocks = [fenced(context.marker, _KNOWN, known)] if known else []
    return ReaderPart(reader=reader, instructions=directives, contract=CONTRACT, form=_FORM, blocks=blocks)
