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
from dream.passes.prompts import PartForm, ReaderPart, build_request, fenced
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
    quote: Annotated[Text | None, Otherwise(Refused.QUOTE_NOT_FOUND, "{} has no text as its quote")] = None
    """Words that stand in one of them; None for the sentence that has most words of the episode."""

    _content = field_validator("content", mode="before")(blank_if_known)


_FORM: Final = answer_form("episodes", toSave=item_schema(EpisodeItem))


def read_items(answer: Mapping[str, Any]) -> tuple[list[EpisodeItem], list[Refusal]]:
    """Return the episodes that can be read, and why others cannot; nothing of an answer in another shape is used."""
    return read_list(answer, "toSave", EpisodeItem, what="episodes", most=_MOST_EPISODES)


_NEW: Final = """\
At least one turn cited must be new. What an assistant said counts only beside the later turn of the user who took
it up."""
CONTRACT: Final = f"""\
Answer with {{"toSave": [...]}}; an empty list is a good answer. Each item has "sourceTurns", the handles of the
turns that tell it, such as ["t3"]; and for an episode that is known and met again "existing", its handle, such as
"e7"; for a new one "content", one event in one sentence of at most 25 words in the past tense; "eventType":
"conversation", "task", "decision", "discovery" or "problem"; "actor"; and, as far as they say something, "tags",
"importance" (0.2 to 0.95), "subjectTime" ("2025-06-14", "2020..2023") and "quote", words copied from one of these
turns.
{_NEW}"""
"""What the host reads of an answer, said here so that a directive of somebody's own cannot change it."""
_ROWS: Final = """\
A row: sourceTurns, content, eventType, actor, tags, importance, subjectTime if it is not the day of the turn. As in
["t3", "Ines had the plumber cancelled.", "decision", "Ines", "heating, house, repair", 0.6]
What is met again: its sourceTurns and its handle alone, as in ["t1", "e4"]."""
_PART: Final = PartForm(
    "toSave",
    columns=("sourceTurns", "content", "eventType", "actor", "tags", "importance", "subjectTime"),
    lists=frozenset({"sourceTurns", "tags"}),
    again="existing",
)

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
    return ReaderPart(reader=reader, instructions=directives, contract=_ROWS, form=_PART, blocks=blocks)
