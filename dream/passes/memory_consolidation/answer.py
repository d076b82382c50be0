"""What the model said, taken apart: typed, and not yet believed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from agentcore.domain.text import clean_content
from agentcore.errors import InvalidContentError
from dream.domain.batch import Answer

_LONGEST_REASON: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveItem:
    """One item of `toSave`.

    Args:
        place: Its index.
        content: The text; None if it is no text.
        category: Where it goes; None if none was given.
        tags: As given.
        importance: None if none was given.
        sources: Handles, each once, as written.
    """

    place: int
    content: str | None
    category: str | None = None
    tags: tuple[str, ...] = ()
    importance: float | None = None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteItem:
    """One item of `toDelete`.

    Args:
        handle: What goes.
        reason: Why, in the model's words, on one line.
        successor: A handle, or an index into `toSave`; None if nothing takes its place.
    """

    handle: str
    reason: str = ""
    successor: str | int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """An answer in the shape asked for."""

    saves: tuple[SaveItem, ...] = ()
    deletes: tuple[DeleteItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Broken:
    """An answer of which nothing is used, and why not."""

    problem: str


class _MisshapenError(ValueError):
    pass


def parse(answer: Answer, most: int) -> Parsed | Broken:
    """Read an answer whole, or not at all.

    Args:
        answer: The JSON object.
        most: How many records were shown: no list may have more items.

    Example:
        >>> parse({"toDelete": ["e1"], "toSave": "none"}, 3)
        Broken(problem='toSave is no list')
        >>> parse({"toDelete": [{"id": "[e2]", "supersededBy": "e1"}], "toSave": []}, 3).deletes[0].handle
        'e2'
    """
    if "toSave" not in answer and "toDelete" not in answer:
        return Broken("it has neither toSave nor toDelete")
    try:
        saves = [_save(place, item) for place, item in enumerate(_items(answer, "toSave", most))]
        deletes = [_delete(item) for item in _items(answer, "toDelete", most)]
    except _MisshapenError as error:
        return Broken(str(error))
    return Parsed(saves=tuple(saves), deletes=tuple(deletes))


def is_clean(content: str | None) -> bool:
    """Tell whether a text can be stored.

    Example:
        >>> is_clean("Ana likes tea."), is_clean(" "), is_clean(None)
        (True, False, False)
    """
    try:
        clean_content(content)
    except InvalidContentError:
        return False
    return True


def _items(answer: Answer, name: str, most: int) -> Sequence[Any]:
    value = answer.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _MisshapenError(f"{name} is no list")
    items = cast("list[Any]", value)
    if len(items) > most:
        raise _MisshapenError(f"{name} lists {len(items)} items of {most} records")
    return items


def _save(place: int, item: Any) -> SaveItem:
    if not isinstance(item, Mapping):
        raise _MisshapenError("toSave lists something that is no object")
    fields = cast("Mapping[str, Any]", item)
    content, category, importance = fields.get("content"), fields.get("category"), fields.get("importance")
    return SaveItem(
        place=place,
        content=content if isinstance(content, str) else None,
        category=category if isinstance(category, str) and category.strip() else None,
        tags=_texts(fields.get("tags"), "tags"),
        importance=_number(importance),
        sources=tuple(dict.fromkeys(_handle(text) for text in _texts(fields.get("sourceIds"), "sourceIds"))),
    )


def _delete(item: Any) -> DeleteItem:
    if isinstance(item, str):
        return DeleteItem(handle=_handle(item))
    if not isinstance(item, Mapping):
        raise _MisshapenError("toDelete lists something that is neither a handle nor an object")
    fields = cast("Mapping[str, Any]", item)
    handle, reason, successor = fields.get("id"), fields.get("reason"), fields.get("supersededBy")
    if not isinstance(handle, str):
        raise _MisshapenError("an item of toDelete has no id")
    if successor is not None and (isinstance(successor, bool) or not isinstance(successor, str | int)):
        raise _MisshapenError("supersededBy is neither a handle nor an index")
    return DeleteItem(
        handle=_handle(handle),
        reason=" ".join(reason[:_LONGEST_REASON].split()) if isinstance(reason, str) else "",
        successor=_handle(successor) if isinstance(successor, str) else successor,
    )


def _texts(value: Any, name: str) -> tuple[str, ...]:
    if value is None:
        return ()
    items = cast("list[Any]", value) if isinstance(value, list) else [None]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items):
        raise _MisshapenError(f"{name} is no list of texts")
    return tuple(texts)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _handle(text: str) -> str:
    # Models copy the brackets of the line, or its spaces.
    return text.strip().removeprefix("[").removesuffix("]").strip()
