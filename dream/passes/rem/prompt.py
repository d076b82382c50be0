"""The question, and the shape of the answer that the host relies on."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentcore.domain.memory import MemoryEntry
from agentcore.llm.chat import ChatRequest, ResponseFormat
from agentcore.llm.tokens import estimate_tokens
from dream.domain.phases import Phase
from dream.passes.prompts import build_request, entry_line, fenced, importance_at
from dream.passes.protocol import ModelContext
from dream.passes.rem.answer import LONGEST

TOLD_BEFORE: Final = "told-before"
"""Marks entries that earlier summaries rest on."""

_FORM: Final = ResponseFormat(
    name="themes",
    schema={
        "type": "object",
        "properties": {
            "themes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string"},
                        "sourceIds": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["text", "sourceIds"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["themes"],
        "additionalProperties": False,
    },
)

_CONTRACT: Final = """\
Answer with {{"themes": [...]}}, {limit} at most, the most telling first; an empty list is a good answer. Each item has:
- "text": the theme in one sentence of {longest} characters at most, in the language of the entries;
- "sourceIds": the handles of all entries behind it, two or more, such as ["e2", "e7"]; at least one of them is not
  marked {told}. Each must have a word in common with the text.
Names, numbers and dates of "text" must stand in what is cited."""

_ENTRIES: Final = "Entries that were recalled lately:"


async def lines_of(context: ModelContext, shown: Mapping[str, MemoryEntry]) -> list[str]:
    """Return the line of each entry, given by handle."""
    importance = await context.read(lambda view: importance_at(view.decay, context.as_of))
    told = await context.read(lambda view: view.books.phases.met(Phase.REM))
    return [
        entry_line(handle, entry, importance, TOLD_BEFORE if entry.id in told else "")
        for handle, entry in shown.items()
    ]


async def fitting(context: ModelContext, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Return as many of the entries as one prompt has room for, the first first."""
    named = {f"e{place}": entry for place, entry in enumerate(entries, 1)}
    room, fit = context.options.model.prompt_tokens - estimate_tokens(_asked(context, ())), list[MemoryEntry]()
    for entry, line in zip(entries, await lines_of(context, named), strict=True):
        needed = estimate_tokens(f"{line}\n")
        if needed <= room:
            room -= needed
            fit.append(entry)
    return fit


def question(context: ModelContext, lines: Sequence[str], *, directives: Sequence[str], purpose: str) -> ChatRequest:
    """Return the request about these lines."""
    return build_request(context, directives=directives, blocks=[_asked(context, lines)], answer=_FORM, purpose=purpose)


def _asked(context: ModelContext, lines: Sequence[str]) -> str:
    values: Mapping[str, Any] = {"limit": context.options.rem.limit, "longest": LONGEST, "told": TOLD_BEFORE}
    return f"{_CONTRACT.format(**values)}\n\n{fenced(context.marker, _ENTRIES, lines)}"
