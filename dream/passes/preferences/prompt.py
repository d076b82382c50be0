"""Asks the model for preferences, and reads its answer item by item."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, cast

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator

from agentcore.llm.chat import ChatRequest
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.answers import (
    IMPORTANCE,
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

_MOST_ITEMS: Final = 50
"""More than this are no answer but a flood; it also bounds what one transaction changes."""
_SHOWN: Final = 20


class Sentiment(StrEnum):
    """How strongly a preference was voiced."""

    IRRITATED = "irritated"
    FRUSTRATED = "frustrated"
    CASUAL = "casual"


def _sentiment(given: object) -> Sentiment:
    # Casual unless the model says otherwise in so many words.
    return next((one for one in Sentiment if one == given), Sentiment.CASUAL)


def _asks(given: object) -> bool:
    # Whatever is not plainly a no is a yes.
    return not isinstance(given, str | bool | None) or given not in {None, False, "", "false", "no"}


class PreferenceItem(AnswerItem):
    """One preference as the model gave it: text where text is due, the rest not yet looked at."""

    called: ClassVar[str] = "preference {}"

    existing: Annotated[Handle, Otherwise(Refused.UNKNOWN_HANDLE, "{} names something that is no handle")] = None
    """Handle of the known preference that is met again; None for a new one."""
    supersedes: Annotated[Handle, Otherwise(Refused.UNKNOWN_HANDLE, "{} names something that is no handle")] = None
    """Handle of the known preference that it contradicts."""
    content: Annotated[Text, Otherwise(Refused.INVALID_CONTENT, "{} has no text as its content")] = ""
    """The preference; blank where a known one is met again."""
    sentiment: Annotated[Sentiment, BeforeValidator(_sentiment), WithJsonSchema(choice_of(Sentiment))] = (
        Sentiment.CASUAL
    )
    """How strongly it was voiced."""
    tags: Annotated[object, WithJsonSchema(dict(TEXTS))] = None
    importance: Annotated[object, WithJsonSchema(dict(IMPORTANCE))] = None
    asks_permission: Annotated[bool, BeforeValidator(_asks)] = Field(
        default=False, validation_alias="requiresUserPermission"
    )
    """Whether the model would have the assistant ask before it acts on it."""
    handles: Annotated[Handles, Otherwise(Refused.NO_SOURCES, "{} cites nothing")] = Field(validation_alias="sourceIds")
    """Turns and feedback that it cites."""
    quote: Annotated[Text, Otherwise(Refused.QUOTE_NOT_FOUND, "{} has no text as its quote")]
    """Words that stand in one of them."""

    _content = field_validator("content", mode="before")(blank_if_known)


_FORM: Final = answer_form("preferences", toSave=item_schema(PreferenceItem))


def read_items(answer: Mapping[str, Any]) -> tuple[list[PreferenceItem], list[Refusal]]:
    """Return the preferences that can be read, and why others cannot; an answer in another shape is used in no part."""
    items, refused = read_list(answer, "toSave", PreferenceItem, what="preferences", most=_MOST_ITEMS)
    is_whole = not any(one.code == Refused.BROKEN_ANSWER for one in refused)
    return items, [*refused, *(_deletions(answer.get("toDelete")) if is_whole else ())]


def _deletions(given: object) -> list[Refusal]:
    """Refuse what would go with nothing in its place."""
    values = cast("list[object]", given) if isinstance(given, list) else []
    named = [str(value)[:_SHOWN] for value in values]
    return [Refusal.of(Refused.NO_SUCCESSOR, named)] if named else []


_FIELDS: Final = """\
Each item has "sourceIds", the handles of all turns and feedback that show it, such as ["t3", "f12"], and "quote", words
copied from one of them; one that is known and shown again "existing", its handle, such as "e9"; a new one "content",
"sentiment" ("irritated", "frustrated" or "casual") and, as far as they say something, "tags", "importance",
"requiresUserPermission" and "supersedes", a handle."""
CONTRACT: Final = f"""\
Answer with {{"toSave": [...]}}; an empty list is a good answer. {_FIELDS}"""
"""What the host reads of an answer, said here so that a directive of somebody's own cannot change it."""
_ITEMS: Final = f"Items, no rows. {_FIELDS}"
_PART: Final = PartForm("toSave", item_schema(PreferenceItem))

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
    beside = _beside(context.marker, known, feedback)
    blocks = [CONTRACT, *beside, *([fenced(context.marker, _TURNS, turns)] if turns else [])]
    return build_request(context, directives=directives, blocks=blocks, answer=_FORM, purpose=purpose)


def part(
    context: ModelContext, *, known: Sequence[str], feedback: Sequence[str], directives: Sequence[str], reader: str
) -> ReaderPart:
    """Return what the pass adds to a question that it shares, with the preferences that are known and feedback."""
    blocks = _beside(context.marker, known, feedback)
    return ReaderPart(reader=reader, instructions=directives, contract=_ITEMS, form=_PART, blocks=blocks)


def _beside(marker: str, known: Sequence[str], feedback: Sequence[str]) -> list[str]:
    titled = ((_KNOWN, known), (_FEEDBACK, feedback))
    return [fenced(marker, title, lines) for title, lines in titled if lines]
