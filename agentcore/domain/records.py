"""Defines the kinds of records, and their images: the canonical mappings that journal, export and plan write.

`RECORD_TYPES` is the one table of kinds: what stores, journal, exports, imports, `forget` and reports ask of a kind
stands there. `agentcore.stores.sql.unit` says where each kind is stored, `dream.guards.change_guards` what guards it.

An image holds everything a person could miss and nothing that only the store needs: no version, no decayed importance.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import StrEnum
from itertools import repeat
from operator import call
from typing import Any, TypeVar, cast

from agentcore.domain.card import CardLine
from agentcore.domain.claim import Claim
from agentcore.domain.conversation import Turn
from agentcore.domain.document import StoredDocument
from agentcore.domain.evidence import SourceRef
from agentcore.domain.hypothesis import (
    Hypothesis,
)
from agentcore.domain.memory import Level, MemoryEntry, Status
from agentcore.domain.off_limits import OffLimitsTopic
from agentcore.domain.question import Question
from agentcore.domain.record_fields import (
    CONVERTERS_OF_CLAIMS,
    CONVERTERS_OF_HYPOTHESES,
    plain_value,
    typed_value,
)
from agentcore.domain.scope import Scope
from agentcore.domain.signals import Feedback, ToolCall, WispRun
from agentcore.domain.skill import Skill, SkillUse

_Signal = SkillUse | Feedback | WispRun | ToolCall
Record = (
    MemoryEntry | Turn | Skill | _Signal | StoredDocument | OffLimitsTopic | Question | CardLine | Hypothesis | Claim
)
Image = dict[str, Any]
T = TypeVar("T")


class RecordKind(StrEnum):
    """What a stored record is."""

    ENTRY = "entry"
    TURN = "turn"
    SKILL = "skill"
    SKILL_USE = "skill_use"
    FEEDBACK = "feedback"
    WISP_RUN = "wisp_run"
    TOOL_CALL = "tool_call"
    DOCUMENT = "document"
    OFF_LIMITS_TOPIC = "off_limits_topic"
    QUESTION = "question"
    CARD_LINE = "card_line"
    CLAIM = "claim"
    HYPOTHESIS = "hypothesis"


_STORE_ONLY = frozenset({"scope", "version", "importance"})
_OWN_CONVERTERS = {RecordKind.CLAIM: CONVERTERS_OF_CLAIMS, RecordKind.HYPOTHESIS: CONVERTERS_OF_HYPOTHESES}
_SPARSE = frozenset({"evidence", "premises", "observers", "weighed"})
"""Fields that an image leaves out when they are empty, as images did before there were such fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordType:
    """Everything that differs from one kind of record to another.

    Args:
        record: The class of its records. Its fields are stored, journalled and exported under their own names.
        singular: What people call one of them.
        plural: What people call several of them.
        text: The field whose text a person can ask to forget; None if it has no such text of its own.
        is_read: Whether passes read it, each with a cursor of its own.
        is_signal: Whether it is only ever appended, and dropped after a while.
        dreams_add: Whether dreams add and remove it.
        dreams_change: Whether dreams change it.
        stands_alone: Whether a change set is taken back without it when it is gone or has changed since.
        journalled: The fields that the journal keeps of it beside its id; None for all of them.
        exported_as: What an export calls fields whose own names mean something else there.
    """

    record: type[Record]
    singular: str
    plural: str
    text: str | None = None
    is_read: bool = False
    is_signal: bool = False
    dreams_add: bool = False
    dreams_change: bool = False
    stands_alone: bool = False
    journalled: tuple[str, ...] | None = None
    exported_as: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of what an image holds."""
        return tuple(one.name for one in fields(self.record) if one.name not in _STORE_ONLY)

    @property
    def required(self) -> tuple[str, ...]:
        """Those of them without which there is no record."""
        without = {one.name for one in fields(self.record) if one.default is MISSING and one.default_factory is MISSING}
        return tuple(name for name in self.fields if name in without)


RECORD_TYPES: Mapping[RecordKind, RecordType] = {
    RecordKind.ENTRY: RecordType(
        record=MemoryEntry,
        singular="entry",
        plural="entries",
        text="content",
        is_read=True,
        dreams_add=True,
        dreams_change=True,
    ),
    RecordKind.TURN: RecordType(
        record=Turn,
        singular="turn",
        plural="turns",
        text="content",
        is_read=True,
        dreams_change=True,
        stands_alone=True,
        # Its words never change.
        journalled=("consumed_at",),
    ),
    RecordKind.SKILL: RecordType(
        record=Skill,
        singular="skill",
        plural="skills",
        text="content",
        is_read=True,
        dreams_add=True,
        dreams_change=True,
    ),
    RecordKind.SKILL_USE: RecordType(
        record=SkillUse, singular="use of a skill", plural="uses of skills", is_signal=True
    ),
    RecordKind.FEEDBACK: RecordType(
        record=Feedback,
        singular="piece of feedback",
        plural="pieces of feedback",
        text="summary",
        is_read=True,
        is_signal=True,
        exported_as={"kind": "feedback_kind"},
    ),
    RecordKind.WISP_RUN: RecordType(record=WispRun, singular="wisp run", plural="wisp runs", is_signal=True),
    RecordKind.TOOL_CALL: RecordType(record=ToolCall, singular="tool call", plural="tool calls", is_signal=True),
    RecordKind.DOCUMENT: RecordType(
        record=StoredDocument,
        singular="document",
        plural="documents",
        dreams_add=True,
        dreams_change=True,
        stands_alone=True,
    ),
    RecordKind.OFF_LIMITS_TOPIC: RecordType(
        record=OffLimitsTopic, singular="off-limits topic", plural="off-limits topics"
    ),
    RecordKind.QUESTION: RecordType(
        record=Question, singular="question", plural="questions", dreams_add=True, dreams_change=True
    ),
    RecordKind.CARD_LINE: RecordType(
        record=CardLine, singular="card line", plural="card lines", text="content", dreams_add=True, dreams_change=True
    ),
    RecordKind.CLAIM: RecordType(
        record=Claim, singular="claim", plural="claims", text="quote", dreams_add=True, dreams_change=True
    ),
    RecordKind.HYPOTHESIS: RecordType(
        record=Hypothesis,
        singular="hypothesis",
        plural="hypotheses",
        text="hypothesis",
        dreams_add=True,
        dreams_change=True,
    ),
}
"""The table of kinds, in the order in which an export has them."""

SIGNALS = tuple(kind for kind, of in RECORD_TYPES.items() if of.is_signal)
"""Kinds that are only ever appended."""

_KINDS = {of.record: kind for kind, of in RECORD_TYPES.items()}
_FIELDS = {kind: of.fields for kind, of in RECORD_TYPES.items()}


def kind_of(record: Record) -> RecordKind:
    """Return the kind of *record*."""
    return _KINDS[type(record)]


def type_of(record: Record) -> RecordType:
    """Return the line of the table for the kind of *record*."""
    return RECORD_TYPES[_KINDS[type(record)]]


def version_of(record: Record | None) -> int | None:
    """Return the version of a record that changes under versions; None for a signal, or where there is no record."""
    return getattr(record, "version", None)


def cited_by(record: Record | None) -> tuple[SourceRef, ...]:
    """Return the records that *record* was made of; nothing of a kind that names none."""
    return getattr(record, "sources", ())


def text_of(record: Record) -> str | None:
    """Return the text of *record* that a person can ask to forget, or None."""
    name = type_of(record).text
    return None if name is None else getattr(record, name)


def to_image(record: Record) -> Image:
    """Return the canonical mapping of *record*, ready for JSON.

    Example:
        >>> from agentcore.domain.scope import Scope
        >>> image = {"id": "a", "skill_name": "mail", "session_id": "s", "occurred_at": "2025-01-01T00:00:00Z",
        ...          "recorded_at": "2025-01-01T00:00:00Z"}
        >>> to_image(from_image(RecordKind.SKILL_USE, Scope.default(), image)) == image
        True
    """
    image: Image = {}
    for name in _FIELDS[kind_of(record)]:
        value = getattr(record, name)
        if value is not None and (value or name not in _SPARSE):
            image[name] = value if value.__class__ in _AS_IT_IS else plain_value(value)
    return image


def from_image(kind: RecordKind, scope: Scope, image: Mapping[str, Any]) -> Record:
    """Build the record that *image* describes; KeyError, ValueError or TypeError if it describes none."""
    own = _OWN_CONVERTERS.get(kind, {})
    values = {name: typed_value(name, image[name], own) for name in _FIELDS[kind] if image.get(name) is not None}
    return RECORD_TYPES[kind].record(scope=scope, **values)


def with_image(record: T, names: Collection[str], image: Mapping[str, Any]) -> T:
    """Return *record* with the fields *names* as *image* has them; None where it has none."""
    found = {name: None if image.get(name) is None else typed_value(name, image[name]) for name in names}
    return replace(cast("Any", record), **found)


_AS_IT_IS = frozenset({str, int, float, bool, Level, Status})


def entry_json(entry: MemoryEntry) -> dict[str, Any]:
    """Return an entry as people's JSON shows it: its image with the importance as of now."""
    image = to_image(entry)
    return {**image, "importance": round(entry.importance, 6), "reinforcement_count": entry.reinforcement_count}


Built = TypeVar("Built")


def builder(record_type: type[Built]) -> Callable[[Iterable[Any]], Built]:
    """Return what builds a record of the values of all its fields, in their order.

    A frozen dataclass sets its fields by name through `object.__setattr__`, which is most of what a turn's thirty
    records cost. Here each slot is set by its own descriptor. Nothing is checked: values come from a row, and were
    checked before they were written.

    Args:
        record_type: A frozen dataclass with slots.

    Example:
        >>> from agentcore.domain.memory import SourceKind, SourceRef
        >>> builder(SourceRef)([SourceKind.TURN, "t1"]) == SourceRef(SourceKind.TURN, "t1")
        True
    """
    named: dict[str, object] = getattr(record_type, "__dataclass_fields__")  # noqa: B009 - no type knows it
    setters = [getattr(record_type, name).__set__ for name in named]
    new, put = object.__new__, cast("Callable[..., None]", call)

    def build(values: Iterable[Any]) -> Built:
        record = new(record_type)
        deque(map(put, setters, repeat(record), values), maxlen=0)  # twice as fast as a loop
        return record

    return build
