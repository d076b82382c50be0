"""What the model said, taken apart: a list of edits, typed, and not yet believed."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, cast

from dream.domain.batch import Answer

_LONGEST_REASON: Final = 160
_MARKS: Final = ("- ", "* ", "+ ")


class Op(StrEnum):
    """What an edit does."""

    KEEP = "keep"
    """The items stay as they are."""
    MERGE = "merge"
    """One text takes the place of several items."""
    REWRITE = "rewrite"
    """An item says the same in better words."""
    ARCHIVE = "archive"
    """Items move to memory-archive.md."""
    MOVE = "move"
    """Items go where another one stands."""
    ADD = "add"
    """A new item says what several others show together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenEdit:
    """One edit as it was given.

    Args:
        place: Its number in the list, from 0.
        op: What it does.
        items: Handles, each once, as written.
        text: The new text, on one line; empty if none was given.
        target: A handle: whose section to move to, or what is true in the place of what is archived.
        reason: Why, in the model's words, on one line.
    """

    place: int
    op: Op
    items: tuple[str, ...]
    text: str = ""
    target: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """An answer of which nothing is used, and why not."""

    problem: str


class _MisshapenError(ValueError):
    pass


def parse(answer: Answer, most: int) -> tuple[GivenEdit, ...] | Broken:
    """Read an answer whole, or not at all.

    Args:
        answer: The JSON object.
        most: How many edits it may list.

    Example:
        >>> parse({"edits": [{"op": "archive", "items": ["[i2]"], "reason": "over"}]}, 9)[0].items
        ('i2',)
        >>> parse({"memory": "# All new"}, 9)
        Broken(problem='it has no list "edits"')
    """
    given: object = answer.get("edits")
    if not isinstance(given, list):
        return Broken('it has no list "edits"')
    values = cast("list[object]", given)
    if len(values) > most:
        return Broken(f"it lists {len(values):,} edits, more than {most}")
    try:
        return tuple(_edit(place, value) for place, value in enumerate(values))
    except _MisshapenError as error:
        return Broken(str(error))


def _edit(place: int, value: object) -> GivenEdit:
    if not isinstance(value, Mapping):
        raise _MisshapenError("edits lists something that is no object")
    fields = cast("Mapping[str, Any]", value)
    op, items, target = fields.get("op"), fields.get("items"), fields.get("target")
    if not isinstance(op, str) or op not in set(Op):
        raise _MisshapenError(f"edit {place} does none of {', '.join(Op)}")
    if not isinstance(items, list) or not all(isinstance(item, str) for item in cast("list[object]", items)):
        raise _MisshapenError(f"the items of edit {place} are no list of handles")
    if target is not None and not isinstance(target, str):
        raise _MisshapenError(f"the target of edit {place} is no handle")
    return GivenEdit(
        place=place,
        op=Op(op),
        items=tuple(dict.fromkeys(_handle(item) for item in cast("list[str]", items))),
        text=_line(fields.get("text")),
        target=None if target is None else _handle(target),
        reason=_line(fields.get("reason"))[:_LONGEST_REASON].strip(),
    )


def _line(value: object) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else ""
    # Models copy the mark of a bullet, which would open a list within the item.
    return next((text.removeprefix(mark).strip() for mark in _MARKS if text.startswith(mark)), text)


def _handle(text: str) -> str:
    # Models copy the brackets of the line, or its spaces.
    return text.strip().removeprefix("[").removesuffix("]").strip()
