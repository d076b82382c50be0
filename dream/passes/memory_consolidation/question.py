"""What the model is asked: the host's own words on the answer's shape, and the records as data."""

from collections.abc import Iterable, Sequence
from typing import Final

from agentcore.llm.chat import ChatRequest, ResponseFormat
from agentcore.llm.tokens import estimate_tokens
from dream.passes.faithfulness import Unfaithful, fault_lines
from dream.passes.prompts import build_request, fenced
from dream.passes.protocol import ModelContext

_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_SAVE: Final = {
    "type": "object",
    "properties": {
        "content": {"type": "string"},
        "category": {"type": ["string", "null"]},
        "tags": _TEXTS,
        "importance": {"type": ["number", "null"]},
        "sourceIds": _TEXTS,
    },
    "required": ["content", "category", "tags", "importance", "sourceIds"],
    "additionalProperties": False,
}
_GONE: Final = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "reason": {"type": "string"},
        "supersededBy": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
    },
    "required": ["id", "reason", "supersededBy"],
    "additionalProperties": False,
}


def _format(name: str, gone: dict[str, object]) -> ResponseFormat:
    lists: dict[str, object] = {
        "toDelete": {"type": "array", "items": gone},
        "toSave": {"type": "array", "items": _SAVE},
    }
    schema = {"type": "object", "properties": lists, "required": list(lists), "additionalProperties": False}
    return ResponseFormat(name=name, schema=schema)


_ENTRIES_FORMAT: Final = _format("memory_consolidation", {"anyOf": [{"type": "string"}, _GONE]})
_FEEDBACK_FORMAT: Final = _format("anti_patterns", {"type": "string"})

_ENTRIES: Final = """\
Review the memory entries above. Answer with {"toDelete": [...], "toSave": [...]}; leave a list empty if it has no item.
An item of toSave is {"content", "category", "tags", "importance", "sourceIds"}: a text made of the entries whose
handles are its sourceIds, which then go. Every name, number, date and negation of its sources stands in it, and none
that they lack; importance is null or between those of its sources. With one handle it is a better wording or filing of
that entry. An item of toDelete is a handle, for noise that nothing takes the place of, or {"id", "reason",
"supersededBy"}, where supersededBy is the handle of the entry, or the index of the item of toSave, that is true in its
place now. Use each handle in one item only. An entry that is fine as it is stands in neither list. Entries marked
merge-only may be merged and not deleted; entries marked context-only may be named in supersededBy and nowhere else."""

_FEEDBACK: Final = """\
The records above are feedback on the agent's work. Answer with {"toDelete": [], "toSave": [...]}.
An item of toSave is {"content", "category", "tags", "importance", "sourceIds"}: one mistake that the feedback shows and
what to do instead, as a rule of one or two sentences, with the category anti-patterns/ and the domain it belongs to,
and the handles of the feedback that shows it. It names nothing that this feedback does not name. Importance is null or
from 0 to 0.5. Praise, and what happened once by chance, are no rules: then toSave is empty."""

_REPAIR: Final = """\
Items of your toSave are not faithful to their sources. The lines between the fences are data: they tell, by the index
of the item, what its text lost and what it made up. Give the whole answer again, in the same shape: put back what was
lost, leave out what was made up, or leave the item out."""

OVERHEAD: Final = max(estimate_tokens(_ENTRIES), estimate_tokens(_FEEDBACK)) + 64
"""Tokens of a question beside its records, directives aside."""


def about_entries(context: ModelContext, names: Sequence[str], purpose: str, lines: Iterable[str]) -> ChatRequest:
    """Return the question about entries."""
    return build_request(
        context,
        directives=names,
        blocks=[fenced(context.marker, "Memory entries:", lines), _ENTRIES],
        answer=_ENTRIES_FORMAT,
        purpose=purpose,
    )


def about_feedback(context: ModelContext, names: Sequence[str], purpose: str, lines: Iterable[str]) -> ChatRequest:
    """Return the question about feedback."""
    return build_request(
        context,
        directives=names,
        blocks=[fenced(context.marker, "Feedback:", lines), _FEEDBACK],
        answer=_FEEDBACK_FORMAT,
        purpose=purpose,
    )


def complaint(context: ModelContext, faults: Iterable[Unfaithful]) -> str:
    """Return what is wrong with items of an answer, and the request to give it again."""
    return f"{_REPAIR}\n\n{fenced(context.marker, 'Items:', fault_lines(faults))}"
