"""Asks the model for preferences, and reads its answer item by item."""

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

_MOST_ITEMS: Final = 50
"""More than this are no answer but a flood; it also bounds what one transaction changes."""
_SHOWN: Final = 20


class Sentiment(StrEnum):
    """How strongly a preference was voiced."""

    IRRITATED = "irritated"
    FRUSTRATED = "frustrated"
    CASUAL = "casual"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceItem:
    """One preference as the model gave it: text where text is due, the rest not yet looked at.

    Args:
        number: Its place in the answer, from 1.
        content: The preference; blank where a known one is met again.
        existing: Handle of the known preference that is met again; None for a new one.
        supersedes: Handle of the known preference that it contradicts.
        handles: Turns and feedback it cites, each once.
        quote: Words that shall stand in one of them.
        sentiment: How strongly it was voiced; casual unless the model says otherwise in so many words.
        asks_permission: Whether the model would have the assistant ask before it acts on it.
        tags: Whatever stood there.
        importance: Whatever stood there.
    """

    number: int
    content: str
    existing: str | None
    supersedes: str | None
    handles: tuple[str, ...]
    quote: str
    sentiment: Sentiment
    asks_permission: bool
    tags: object = None
    importance: object = None

    @property
    def label(self) -> str:
        """What refusals call it."""
        return f"preference {self.number}"


def read_items(answer: Mapping[str, Any]) -> tuple[list[PreferenceItem], list[Refusal]]:
    """Return the preferences that can be read, and why others cannot; an answer in another shape is used in no part."""
    items, refused = read_listed(answer, "toSave", what="preferences", most=_MOST_ITEMS, read=_item)
    is_whole = not any(one.code == Refused.BROKEN_ANSWER for one in refused)
    return items, [*refused, *(_deletions(answer.get("toDelete")) if is_whole else ())]


def _item(number: int, value: object) -> PreferenceItem | Refusal:
    label = f"preference {number}"
    if not isinstance(value, dict):
        return Refusal(Refused.INVALID_CONTENT, f"{label} is no object")
    fields = cast("dict[str, object]", value)
    existing, supersedes = fields.get("existing"), fields.get("supersedes")
    if not all(one is None or isinstance(one, str) for one in (existing, supersedes)):
        return Refusal(Refused.UNKNOWN_HANDLE, f"{label} names something that is no handle")
    content, quote = fields.get("content"), fields.get("quote")
    if not isinstance(content, str) and not existing:
        return Refusal(Refused.INVALID_CONTENT, f"{label} has no text as its content")
    if not isinstance(quote, str):
        return Refusal(Refused.QUOTE_NOT_FOUND, f"{label} has no text as its quote")
    handles = cited(fields.get("sourceIds"))
    if not handles:
        return Refusal(Refused.NO_SOURCES if handles == () else Refused.UNKNOWN_HANDLE, f"{label} cites nothing")
    return PreferenceItem(
        number=number,
        content=content if isinstance(content, str) else "",
        existing=_handle(existing),
        supersedes=_handle(supersedes),
        handles=handles,
        quote=quote,
        sentiment=next((one for one in Sentiment if one == fields.get("sentiment")), Sentiment.CASUAL),
        # Whatever is not plainly a no is a yes.
        asks_permission=fields.get("requiresUserPermission") not in {None, False, "", "false", "no"}
        if isinstance(fields.get("requiresUserPermission"), str | bool | None)
        else True,
        tags=fields.get("tags"),
        importance=fields.get("importance"),
    )


def _handle(given: object) -> str | None:
    return given.strip().strip("[]") or None if isinstance(given, str) else None


def _deletions(given: object) -> list[Refusal]:
    """Refuse what would go with nothing in its place."""
    values = cast("list[object]", given) if isinstance(given, list) else []
    named = [str(value)[:_SHOWN] for value in values]
    return [Refusal.of(Refused.NO_SUCCESSOR, named)] if named else []


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
