"""Asks the model for edits of MEMORY.md, and reads its answer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, cast

from agentcore.llm.chat import ChatRequest, ResponseFormat
from agentcore.llm.tokens import estimate_tokens
from dream.domain.batch import Answer
from dream.domain.built_in_passes import DOCUMENT_CONSOLIDATION
from dream.passes.document_consolidation.items import DocumentItem
from dream.passes.faithfulness import Unfaithful, fault_lines
from dream.passes.prompts import CONTEXT_ONLY, build_request, fenced, quoted
from dream.passes.protocol import ModelContext

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
class BrokenEdits:
    """An answer of which nothing is used, and why not."""

    problem: str


class _BrokenEditError(ValueError):
    pass


def parse(answer: Answer, most: int) -> tuple[GivenEdit, ...] | BrokenEdits:
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
        return BrokenEdits('it has no list "edits"')
    values = cast("list[object]", given)
    if len(values) > most:
        return BrokenEdits(f"it lists {len(values):,} edits, more than {most}")
    try:
        return tuple(_edit(place, value) for place, value in enumerate(values))
    except _BrokenEditError as error:
        return BrokenEdits(str(error))


def _edit(place: int, value: object) -> GivenEdit:
    if not isinstance(value, Mapping):
        raise _BrokenEditError("edits lists something that is no object")
    fields = cast("Mapping[str, Any]", value)
    op, items, target = fields.get("op"), fields.get("items"), fields.get("target")
    if not isinstance(op, str) or op not in set(Op):
        raise _BrokenEditError(f"edit {place} does none of {', '.join(Op)}")
    if not isinstance(items, list) or not all(isinstance(item, str) for item in cast("list[object]", items)):
        raise _BrokenEditError(f"the items of edit {place} are no list of handles")
    if target is not None and not isinstance(target, str):
        raise _BrokenEditError(f"the target of edit {place} is no handle")
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


DIRECTIVE: Final = DOCUMENT_CONSOLIDATION.sent[0]

_TEXT: Final[Mapping[str, Any]] = {"type": "string"}
_EDIT: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "op": {"type": "string", "enum": [op.value for op in Op]},
        "items": {"type": "array", "items": _TEXT},
        "text": {"type": ["string", "null"]},
        "target": {"type": ["string", "null"]},
        "reason": {"type": ["string", "null"]},
    },
    "required": ["op", "items", "text", "target", "reason"],
    "additionalProperties": False,
}
_FORM: Final = ResponseFormat(
    name="document_consolidation",
    schema={
        "type": "object",
        "properties": {"edits": {"type": "array", "items": _EDIT}},
        "required": ["edits"],
        "additionalProperties": False,
    },
)
_CONTRACT: Final = """\
Review the items of MEMORY.md above. Answer with {"edits": [...]}: only what is to change, never the file itself.
An edit is {"op", "items", "text", "target", "reason"}; "items" are handles, and what an edit does not need is null:
- "merge": two or more items that say the same; "text" takes their place;
- "rewrite": one item; "text" says the same in better words;
- "archive": items that no longer hold; "target" is the handle of the item that holds now, if there is one;
- "move": items that belong elsewhere; "target" is the handle of an item of the section they belong to;
- "add": two or more items that show a pattern, or contradict each other; "text" says what, and they stay;
- "keep": items that are fine; items that stand in no edit are kept too.
A text is one line, without a bullet. Every name, number, date and negation of the items merged or rewritten stands in
it, and none that they lack; what is added names nothing that the items it cites do not. Except in "add", use each
handle in one edit only. Items marked context-only may be cited in "add", or be a target, and stay as they are."""
_REPAIR: Final = """\
Texts of your edits are not faithful to their items. The lines between the fences are data: they tell, by the number of
the edit from 0, what its text lost and what it made up. Give the whole answer again, in the same form: put back what
was lost, leave out what was made up, or leave the edit out."""

OVERHEAD: Final = estimate_tokens(_CONTRACT) + 64
"""Tokens of a question beside its items, directives aside."""


def item_line(handle: str, piece: DocumentItem) -> str:
    """Return the line of one item."""
    parts = [f"[{handle}]", f"section={quoted(' > '.join(piece.item.section))}"]
    if piece.above:
        parts.append(f"below={quoted(' > '.join(piece.above))}")
    parts.append("by=agent" if piece.is_own else "by=user")
    entry = piece.entry
    if entry is not None:
        parts.append(f"last={entry.last_seen_at:%Y-%m-%d} reinforced={entry.reinforcement_count}\u00d7")
        parts += [] if entry.is_active else [f"now={entry.status}"]
    if piece.is_fixed:
        parts.append(CONTEXT_ONLY)
    return " ".join([*parts, quoted(piece.said)])


def question(context: ModelContext, lines: Iterable[str], purpose: str) -> ChatRequest:
    """Return the question about items."""
    own = context.options.documents.prompt
    told = context if own is None else replace(context, directives={**context.directives, DIRECTIVE: own})
    return build_request(
        told,
        directives=(DIRECTIVE,),
        blocks=[fenced(context.marker, "Items of MEMORY.md:", lines), _CONTRACT],
        answer=_FORM,
        purpose=purpose,
    )


def complaint(context: ModelContext, faults: Iterable[Unfaithful]) -> str:
    """Return what is wrong with edits of an answer, and the request to give it again."""
    return f"{_REPAIR}\n\n{fenced(context.marker, 'Edits:', fault_lines(faults))}"
