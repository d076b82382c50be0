"""Asks the model which entries to merge and to retire, and reads its answer."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.text import clean_content
from agentcore.errors import InvalidContentError
from agentcore.llm.chat import ChatRequest, ResponseFormat
from agentcore.llm.tokens import estimate_tokens
from dream.domain.batch import Answer, Batch
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.faithfulness import Unfaithful, fault_lines
from dream.passes.prompts import build_request, fenced, handles
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
class ConsolidationAnswer:
    """An answer in the shape asked for."""

    saves: tuple[SaveItem, ...] = ()
    deletes: tuple[DeleteItem, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokenConsolidation:
    """An answer of which nothing is used, and why not."""

    problem: str


class _BrokenConsolidationError(ValueError):
    pass


def parse(answer: Answer, most: int) -> ConsolidationAnswer | BrokenConsolidation:
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
        return BrokenConsolidation("it has neither toSave nor toDelete")
    try:
        saves = [_save(place, item) for place, item in enumerate(_items(answer, "toSave", most))]
        deletes = [_delete(item) for item in _items(answer, "toDelete", most)]
    except _BrokenConsolidationError as error:
        return BrokenConsolidation(str(error))
    return ConsolidationAnswer(saves=tuple(saves), deletes=tuple(deletes))


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
        raise _BrokenConsolidationError(f"{name} is no list")
    items = cast("list[Any]", value)
    if len(items) > most:
        raise _BrokenConsolidationError(f"{name} lists {len(items)} items of {most} records")
    return items


def _save(place: int, item: Any) -> SaveItem:
    if not isinstance(item, Mapping):
        raise _BrokenConsolidationError("toSave lists something that is no object")
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
        raise _BrokenConsolidationError("toDelete lists something that is neither a handle nor an object")
    fields = cast("Mapping[str, Any]", item)
    handle, reason, successor = fields.get("id"), fields.get("reason"), fields.get("supersededBy")
    if not isinstance(handle, str):
        raise _BrokenConsolidationError("an item of toDelete has no id")
    if successor is not None and (isinstance(successor, bool) or not isinstance(successor, str | int)):
        raise _BrokenConsolidationError("supersededBy is neither a handle nor an index")
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
        raise _BrokenConsolidationError(f"{name} is no list of texts")
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


_SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationHandles:
    """The entries of one batch by handle.

    Args:
        ids: The record id of each handle.
        entries: Those that are as they were packed, by handle.
        members: Handles that may be changed.
    """

    ids: Mapping[str, str]
    entries: Mapping[str, MemoryEntry] = field(default_factory=dict[str, MemoryEntry])
    members: frozenset[str] = frozenset()

    @classmethod
    def of(cls, batch: Batch, stored: Iterable[MemoryEntry]) -> "ConsolidationHandles":
        """Find the entries of *batch* among *stored*."""
        found = {entry.id: entry for entry in stored}
        ids = handles(batch.record_ids)
        packed = dict((*batch.members, *batch.beside))
        settled = set(batch.member_ids)
        return cls(
            ids=ids,
            entries={
                handle: found[record_id]
                for handle, record_id in ids.items()
                if record_id in found and found[record_id].is_active and found[record_id].version == packed[record_id]
            },
            members=frozenset(handle for handle, record_id in ids.items() if record_id in settled),
        )

    def fault(self, names: Iterable[str]) -> Refusal | None:
        """Return why these handles cannot be changed, or None."""
        given = list(names)
        unknown = [name[:_SHOWN] for name in given if name not in self.ids]
        if unknown:
            return Refusal.of(Refused.UNKNOWN_HANDLE, unknown)
        fixed = [self.ids[name] for name in given if name not in self.members]
        if fixed:
            return Refusal.of(Refused.CONTEXT_ONLY, fixed)
        stale = [self.ids[name] for name in given if name not in self.entries]
        return Refusal.of(Refused.STALE_SOURCE, stale) if stale else None

    def named(self, names: Iterable[str]) -> list[str]:
        """Return the record ids behind handles, for people; what was never shown as it was written."""
        return [self.ids.get(name, name[:_SHOWN]) for name in names]
