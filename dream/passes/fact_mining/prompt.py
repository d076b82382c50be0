"""Asks the model for facts, and reads its answer item by item."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, WithJsonSchema

from agentcore.llm.chat import ChatRequest
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.answers import (
    IMPORTANCE,
    TEXT,
    TEXTS,
    AnswerItem,
    Handles,
    Otherwise,
    Text,
    answer_form,
    item_schema,
    read_items as read_list,
)
from dream.passes.prompts import PartForm, ReaderPart, build_request, fenced, quoted
from dream.passes.protocol import ModelContext

_MOST_FACTS: Final = 250
"""More than this are no answer but a flood; it also bounds what one transaction changes."""


class FactItem(AnswerItem):
    """One fact as the model gave it: text where text is due, the rest not yet looked at."""

    called: ClassVar[str] = "fact {}"

    content: Annotated[Text, Otherwise(Refused.INVALID_CONTENT, "{} has no text as its content")]
    category: Annotated[object, WithJsonSchema(dict(TEXT))]
    tags: Annotated[object, WithJsonSchema(dict(TEXTS))]
    importance: Annotated[object, WithJsonSchema(dict(IMPORTANCE))] = None
    subject: Annotated[object, WithJsonSchema(dict(TEXT))] = None
    topic: Annotated[object, WithJsonSchema(dict(TEXT))] = None
    subject_time: Annotated[object, WithJsonSchema(dict(TEXT))] = Field(default=None, validation_alias="subjectTime")
    handles: Annotated[
        Handles, Otherwise(Refused.NO_SOURCES, "{} cites no turn", if_no_handle="{} cites something that is no handle")
    ] = Field(validation_alias="sourceTurns")
    """Turns that it cites."""
    quote: Annotated[Text | None, Otherwise(Refused.QUOTE_NOT_FOUND, "{} has no text as its quote")] = None
    """Words that stand in one of them; None for the sentence that has most words of the fact."""


_FORM: Final = answer_form("facts", facts=item_schema(FactItem))


def read_items(answer: Mapping[str, Any]) -> tuple[list[FactItem], list[Refusal]]:
    """Return the facts that can be read, and why others cannot; nothing of an answer in another shape is used."""
    return read_list(answer, "facts", FactItem, what="facts", most=_MOST_FACTS)


_NEW: Final = """\
At least one turn cited must be new. What an assistant said counts only beside the later turn of the user who took
it up."""
CONTRACT: Final = f"""\
Answer with {{"facts": [...]}}; an empty list is a good answer. Each fact has "content", one claim in one sentence
of at most 25 words in the third person; "category" and "tags"; "sourceTurns", the handles of the turns that say it,
such as ["t3"]; and, as far as they say something, "subject", "topic", "importance" (0 to 1), "subjectTime" ("2025",
"2025-06-14", "2020..?") and "quote", words copied from one of these turns.
{_NEW}"""
"""What the host reads of an answer, said here so that a directive of somebody's own cannot change it."""
_ROWS: Final = """\
A row: sourceTurns, content, category, subject, topic, tags, subjectTime, importance if it is not 0.5. As in
["t2 t3", "Rui has hay fever.", "health", "Rui", "allergies", "allergy, pollen, illness, outdoors", "", 0.9]"""
_PART: Final = PartForm(
    "facts",
    columns=("sourceTurns", "content", "category", "subject", "topic", "tags", "subjectTime", "importance"),
    lists=frozenset({"sourceTurns", "tags"}),
)

_TITLE: Final = "Turns, by session, in the order they were said:"
_TOPICS: Final = "Topics in use:"


def frame(marker: str, topics: Sequence[str]) -> str:
    """Return the question without a turn."""
    return "\n\n".join((*_introduced(marker, topics), fenced(marker, _TITLE, ())))


def question(
    context: ModelContext,
    turns: Sequence[str],
    topics: Sequence[str],
    *,
    directives: Sequence[str],
    purpose: str,
) -> ChatRequest:
    """Return the request about the turns on these lines, with the topics that entries have."""
    return build_request(
        context,
        directives=directives,
        blocks=[*_introduced(context.marker, topics), fenced(context.marker, _TITLE, turns)],
        answer=_FORM,
        purpose=purpose,
    )


def part(context: ModelContext, topics: Sequence[str], *, directives: Sequence[str], reader: str) -> ReaderPart:
    """Return what fact mining adds to a question that it shares."""
    blocks = _introduced(context.marker, topics)[1:]
    return ReaderPart(reader=reader, instructions=directives, contract=_ROWS, form=_PART, blocks=blocks)


def _introduced(marker: str, topics: Sequence[str]) -> list[str]:
    in_use = [fenced(marker, _TOPICS, [", ".join(map(quoted, topics))])] if topics else []
    return [CONTRACT, *in_use]
