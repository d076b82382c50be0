"""The answer as the host reads it: untrusted, item by item."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.answers import cited, read_listed

_MOST_EPISODES: Final = 100
"""More than this are no answer but a flood; it also bounds what one transaction changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
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


def read_items(answer: Mapping[str, Any]) -> tuple[list[Item], list[Refusal]]:
    """Return the episodes that can be read, and why others cannot; nothing of an answer in another shape is used."""
    return read_listed(answer, "toSave", what="episodes", most=_MOST_EPISODES, read=_item)


def _item(number: int, value: object) -> Item | Refusal:
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
    return Item(
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
