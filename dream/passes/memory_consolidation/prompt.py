"""Asks the model which entries to merge and to retire, and reads its answer."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final, cast

from pydantic import AfterValidator, BeforeValidator, Field, Strict, WithJsonSchema

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.text import clean_content
from agentcore.errors import InvalidContentError
from agentcore.llm.chat import ChatRequest, estimate_tokens
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer
from dream.domain.step import Batch
from dream.passes.answers import (
    NULLABLE_TEXT,
    TEXT,
    AnswerItem,
    BrokenAnswer,
    Handle,
    Otherwise,
    Text,
    TextList,
    answer_form,
    bare_handle,
    bare_handles,
    item_schema,
    one_line,
    optional_list,
    read_whole,
    text_or_none,
)
from dream.passes.prompts import build_request, fenced, handles
from dream.passes.protocol import ModelContext

_LONGEST_REASON: Final = 160


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    try:
        number = float(given)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _category(given: object) -> str | None:
    return given if isinstance(given, str) and given.strip() else None


def _additions(given: object) -> object:
    """Return pairs of a handle and a text, "" for all of it; None if something else stands there."""
    if given is None:
        return ()
    if not isinstance(given, list):
        return None
    found: list[tuple[str, str]] = []
    for one in cast("list[object]", given):
        fields = cast("dict[str, object]", one) if isinstance(one, dict) else {"from": one, "text": ""}
        handle, text = fields.get("from"), fields.get("text")
        if not isinstance(handle, str) or not isinstance(text, str):
            return None
        found.append((bare_handle(handle), text))
    return tuple(found)


_ADDITIONS: Final = {
    "type": ["array", "null"],
    "items": {
        "anyOf": [
            dict(TEXT),
            {
                "type": "object",
                "properties": {"from": dict(TEXT), "text": dict(TEXT)},
                "required": ["from", "text"],
                "additionalProperties": False,
            },
        ]
    },
}


class LessonItem(AnswerItem):
    """One item of `toSave` about feedback, numbered from 0."""

    misshapen: ClassVar[str] = "toSave lists something that is no object"

    content: Annotated[str | None, BeforeValidator(text_or_none), WithJsonSchema(dict(NULLABLE_TEXT))]
    """The text; None if it is no text."""
    category: Annotated[
        str | None,
        BeforeValidator(_category),
        WithJsonSchema(dict(NULLABLE_TEXT)),
    ]
    """Where it goes; None if none was given."""
    tags: Annotated[TextList, Otherwise(Refused.BROKEN_ANSWER, "tags is no list of texts")]
    importance: Annotated[float | None, BeforeValidator(_number), WithJsonSchema({"type": ["number", "null"]})]
    sources: Annotated[
        TextList, AfterValidator(bare_handles), Otherwise(Refused.BROKEN_ANSWER, "sourceIds is no list of texts")
    ] = Field(validation_alias="sourceIds")
    """Handles, each once."""


class SaveItem(LessonItem):
    """One item of `toSave` about entries."""

    content: Annotated[str | None, BeforeValidator(text_or_none), WithJsonSchema(dict(NULLABLE_TEXT))] = None
    """The text; None if it is put together."""
    category: Annotated[str | None, BeforeValidator(_category), WithJsonSchema(dict(NULLABLE_TEXT))] = None
    """Where it goes; None for where its oldest source is."""
    tags: Annotated[TextList, Otherwise(Refused.BROKEN_ANSWER, "tags is no list of texts")] = ()
    """Those beside the tags of its sources."""
    importance: Annotated[float | None, BeforeValidator(_number), WithJsonSchema({"type": ["number", "null"]})] = None
    keep: Handle = None
    """The source whose text stays whole; None if `content` tells all."""
    add: Annotated[tuple[tuple[str, str], ...] | None, BeforeValidator(_additions), WithJsonSchema(_ADDITIONS)] = ()
    """What is added to it: a handle, and what of that source, "" for all; None if that cannot be read."""

    @property
    def made_of(self) -> tuple[str, ...]:
        """Handles of all sources: those that it lists, and those whose words it keeps or adds."""
        kept = () if self.keep is None else (bare_handle(self.keep),)
        return tuple(dict.fromkeys((*self.sources, *kept, *(handle for handle, _ in self.add or ()))))


class DeleteItem(AnswerItem):
    """One item of `toDelete`."""

    misshapen: ClassVar[str] = "toDelete lists something that is neither a handle nor an object"
    short_for: ClassVar[str] = "id"

    handle: Annotated[
        Text, AfterValidator(bare_handle), Otherwise(Refused.BROKEN_ANSWER, "an item of toDelete has no id")
    ] = Field(validation_alias="id")
    """What goes."""
    reason: Annotated[
        str,
        BeforeValidator(lambda given: one_line(given[:_LONGEST_REASON]) if isinstance(given, str) else ""),
    ]
    """Why, in the model's words, on one line."""
    successor: Annotated[
        Handle | Annotated[int, Strict()],
        Otherwise(Refused.BROKEN_ANSWER, "supersededBy is neither a handle nor an index"),
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
    ] = Field(validation_alias="supersededBy")
    """A handle, or an index into `toSave`; None if nothing takes its place."""


_ENTRIES_FORMAT: Final = answer_form(
    "memory_consolidation",
    toDelete={"anyOf": [TEXT, item_schema(DeleteItem)]},
    toSave=item_schema(SaveItem),
)
_FEEDBACK_FORMAT: Final = answer_form("anti_patterns", toDelete=TEXT, toSave=item_schema(LessonItem))

_ENTRIES: Final = """\
Review the memory entries above. Answer with {"toDelete": [...], "toSave": [...]}. An item of toSave has "sourceIds",
the handles of all entries that it is made of, at most five, which then go; "keep", the handle of the one whose text
stays whole, and "add", what the others tell beyond it: the handle of an entry for its whole text, or {"from": handle,
"text": sentences copied from it}; or else "content", a text in other words; and "category", "tags" and "importance"
where they shall be others. An item of toDelete is {"id", "reason", "supersededBy"}, where supersededBy is the handle of
the entry, or the index of the item of toSave, that is true in its place now; or a handle alone, for noise that nothing
takes the place of. Use each handle in one item only; what is fine as it is stands in neither list."""

_FEEDBACK: Final = """\
The records above are feedback on the agent's work. Answer with {"toDelete": [], "toSave": [...]}.
An item of toSave is {"content", "category", "tags", "importance", "sourceIds"}: one mistake that the feedback shows and
what to do instead, as a rule of one or two sentences in the words of the feedback, with the category anti-patterns/ and
the domain it belongs to, and the handles of the feedback that shows it. Importance is null or from 0 to 0.5. Praise,
and what happened once by chance, are no rules: then toSave is empty."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationAnswer:
    """An answer in the shape asked for; an item of `toDelete` has its number behind those of `toSave`."""

    saves: tuple[SaveItem, ...] = ()
    deletes: tuple[DeleteItem, ...] = ()


def parse(answer: Answer, most: int) -> ConsolidationAnswer | BrokenAnswer:
    """Read an answer whole, or not at all.

    Args:
        answer: The JSON object.
        most: How many records were shown: no list may have more items.

    Example:
        >>> parse({"toDelete": ["e1"], "toSave": "none"}, 3)
        BrokenAnswer(problem='toSave is no list')
        >>> parse({"toDelete": [{"id": "[e2]", "supersededBy": "e1"}], "toSave": []}, 3).deletes[0].handle
        'e2'
    """
    if "toSave" not in answer and "toDelete" not in answer:
        return BrokenAnswer("it has neither toSave nor toDelete")
    lists: dict[str, list[object]] = {}
    for name in ("toSave", "toDelete"):
        given = optional_list(answer, name)
        if given is None:
            return BrokenAnswer(f"{name} is no list")
        if len(given) > most:
            return BrokenAnswer(f"{name} lists {len(given)} items of {most} records")
        lists[name] = given
    saves, deletes = read_whole(SaveItem, lists["toSave"]), read_whole(DeleteItem, lists["toDelete"])
    if isinstance(saves, BrokenAnswer):
        return saves
    return deletes if isinstance(deletes, BrokenAnswer) else ConsolidationAnswer(saves=saves, deletes=deletes)


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
