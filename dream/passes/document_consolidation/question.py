"""What the model is asked: the host's own words on the form of the answer, and the items as data."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from agentcore.llm.chat import ChatRequest, ResponseFormat
from agentcore.llm.tokens import estimate_tokens
from dream.domain.built_in_passes import DOCUMENT_CONSOLIDATION
from dream.passes.document_consolidation.answer import Op
from dream.passes.document_consolidation.memory import Piece
from dream.passes.faithfulness import Unfaithful, fault_lines
from dream.passes.prompts import CONTEXT_ONLY, build_request, fenced, quoted
from dream.passes.protocol import ModelContext

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


def piece_line(handle: str, piece: Piece) -> str:
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
