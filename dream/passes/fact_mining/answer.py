"""The answer as the host reads it: untrusted, item by item."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.answers import read_listed

_MOST_FACTS: Final = 250
"""More than this are no answer but a flood; it also bounds what one transaction changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
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


def read_items(answer: Mapping[str, Any]) -> tuple[list[Item], list[Refusal]]:
    """Return the facts that can be read, and why others cannot; nothing of an answer in another shape is used."""
    return read_listed(answer, "facts", what="facts", most=_MOST_FACTS, read=_item)


def _item(number: int, value: object) -> Item | Refusal:
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
    return Item(
        number=number,
        content=content,
        handles=tuple(dict.fromkeys(handle.strip().strip("[]") for handle in handles if isinstance(handle, str))),
        quote=quote,
        category=fields.get("category"),
        tags=fields.get("tags"),
        importance=fields.get("importance"),
        subject_time=fields.get("subjectTime"),
    )
