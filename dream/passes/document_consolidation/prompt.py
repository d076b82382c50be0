"""Asks the model for edits of MEMORY.md, and reads its answer."""

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, ClassVar, Final, cast

from pydantic import BeforeValidator, WithJsonSchema

from agentcore.llm.chat import ChatRequest, estimate_tokens
from dream.domain.built_in_passes import DOCUMENT_CONSOLIDATION
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer
from dream.passes.answers import (
    NULLABLE_TEXT,
    AnswerItem,
    BrokenAnswer,
    Handle,
    HandleList,
    Otherwise,
    answer_form,
    choice_of,
    item_schema,
    one_line,
    read_whole,
)
from dream.passes.document_consolidation.items import DocumentItem
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


def operation_of(op: Op) -> str:
    """Return what an edit is called in the journal."""
    return f"document-{op}"


def _line(given: object) -> str:
    text = one_line(given)
    # Models copy the mark of a bullet, which would open a list within the item.
    return next((text.removeprefix(mark).strip() for mark in _MARKS if text.startswith(mark)), text)


class GivenEdit(AnswerItem):
    """One edit as it was given, numbered from 0."""

    called: ClassVar[str] = "edit {}"
    misshapen: ClassVar[str] = "edits lists something that is no object"

    op: Annotated[
        Op, WithJsonSchema(choice_of(Op)), Otherwise(Refused.BROKEN_ANSWER, f"{{}} does none of {', '.join(Op)}")
    ]
    items: Annotated[HandleList, Otherwise(Refused.BROKEN_ANSWER, "the items of {} are no list of handles")]
    """Handles, each once, as written."""
    text: Annotated[str, BeforeValidator(_line), WithJsonSchema(dict(NULLABLE_TEXT))]
    """The new text, on one line; empty if none was given."""
    target: Annotated[Handle, Otherwise(Refused.BROKEN_ANSWER, "the target of {} is no handle")]
    """Whose section to move to, or what is true in the place of what is archived."""
    reason: Annotated[
        str,
        BeforeValidator(lambda given: _line(given)[:_LONGEST_REASON].strip()),
        WithJsonSchema(dict(NULLABLE_TEXT)),
    ]
    """Why, in the model's words, on one line."""


def parse(answer: Answer, most: int) -> tuple[GivenEdit, ...] | BrokenAnswer:
    """Read an answer whole, or not at all.

    Args:
        answer: The JSON object.
        most: How many edits it may list.

    Example:
        >>> parse({"edits": [{"op": "archive", "items": ["[i2]"], "reason": "over"}]}, 9)[0].items
        ('i2',)
        >>> parse({"memory": "# All new"}, 9)
        BrokenAnswer(problem='it has no list "edits"')
    """
    given: object = answer.get("edits")
    if not isinstance(given, list):
        return BrokenAnswer('it has no list "edits"')
    values = cast("list[object]", given)
    if len(values) > most:
        return BrokenAnswer(f"it lists {len(values):,} edits, more than {most}")
    return read_whole(GivenEdit, values)


DIRECTIVE: Final = DOCUMENT_CONSOLIDATION.sent[0]

_FORM: Final = answer_form("document_consolidation", edits=item_schema(GivenEdit))
_CONTRACT: Final = """\
Review the items of MEMORY.md above. Answer with {"edits": [...]}: only what is to change, never the file itself.
An edit is {"op", "items", "text", "target", "reason"}; "items" are handles, and what an edit does not need is null:
- "merge": two or more items that say the same; "text" takes their place;
- "rewrite": one item; "text" says the same in better words;
- "archive": items that no longer hold; "target" is the handle of the item that holds now, if there is one;
- "move": items that belong elsewhere; "target" is the handle of an item of the section they belong to;
- "add": two or more items that show a pattern, or contradict each other; "text" says what, and they stay;
- "keep": items that are fine; items that stand in no edit are kept too.
A text is one line, without a bullet. It tells all that the items merged or rewritten tell, as surely as they do, and
nothing else; what is added tells only what the items it cites show. Except in "add", use each
handle in one edit only. Items marked context-only may be cited in "add", or be a target, and stay as they are."""

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
