"""Record kinds, and their images: the canonical mappings that journal, export and plan write.

An image holds everything a person could miss and nothing that only the store needs: no version, no decayed importance.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar, cast

from agentcore.domain.conversation import Turn
from agentcore.domain.document import StoredDocument
from agentcore.domain.instants import from_text, to_text
from agentcore.domain.memory import Level, MemoryEntry, SourceRef, Status, Trust
from agentcore.domain.scope import Scope
from agentcore.domain.signals import FailureCategory, Feedback, FeedbackKind, Rating, ToolCall, WispRun
from agentcore.domain.skill import Skill, SkillUse
from agentcore.domain.subject_time import SubjectTime

Record = MemoryEntry | Turn | Skill | SkillUse | Feedback | WispRun | ToolCall | StoredDocument
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


_TYPES: dict[RecordKind, type[Record]] = {
    RecordKind.ENTRY: MemoryEntry,
    RecordKind.TURN: Turn,
    RecordKind.SKILL: Skill,
    RecordKind.SKILL_USE: SkillUse,
    RecordKind.FEEDBACK: Feedback,
    RecordKind.WISP_RUN: WispRun,
    RecordKind.TOOL_CALL: ToolCall,
    RecordKind.DOCUMENT: StoredDocument,
}
_KINDS = {cls: kind for kind, cls in _TYPES.items()}
_STORE_ONLY = frozenset({"scope", "version", "importance"})
_FIELDS = {cls: tuple(name for name in cls.__dataclass_fields__ if name not in _STORE_ONLY) for cls in _KINDS}


def kind_of(record: Record) -> RecordKind:
    """Return the kind of *record*."""
    return _KINDS[type(record)]


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
    for name in _FIELDS[type(record)]:
        value = getattr(record, name)
        if value is not None:
            image[name] = _plain(value)
    return image


def from_image(kind: RecordKind, scope: Scope, image: Mapping[str, Any]) -> Record:
    """Build the record that *image* describes; KeyError, ValueError or TypeError if it describes none."""
    known = _FIELDS[_TYPES[kind]]
    values = {name: _typed(name, image[name]) for name in known if image.get(name) is not None}
    return _TYPES[kind](scope=scope, **values)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_text(value)
    if isinstance(value, Trust):
        return value.name.lower()
    if isinstance(value, (SubjectTime, SourceRef)):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[Any, ...]", value)]
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, str]", value)
        return {key: mapping[key] for key in sorted(mapping)}
    return value


def _typed(name: str, value: Any) -> Any:
    convert = _CONVERTERS.get(name)
    if convert is not None:
        return convert(value)
    return from_text(_text(value)) if name.endswith("_at") else _text(value)


def _text(value: Any) -> str:
    return _checked(value, str)


def _whole(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{value} stands where a number belongs")
    return _checked(value, int)


def _flag(value: Any) -> bool:
    return _checked(value, bool)


def _items(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return list(cast("tuple[Any, ...]", value))
    return cast("list[Any]", _checked(value, list))


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(item) for item in _items(value))


def _counts(value: Any) -> tuple[tuple[str, int], ...]:
    return tuple((_text(entry), _whole(count)) for entry, count in _items(value))


def _pairs(value: Any) -> dict[str, str]:
    return {_text(key): _text(item) for key, item in cast("dict[Any, Any]", _checked(value, dict)).items()}


def _sources(value: Any) -> tuple[SourceRef, ...]:
    return tuple(sorted(SourceRef.parse(_text(item)) for item in _items(value)))


def _subject_time(value: Any) -> SubjectTime:
    return SubjectTime.parse(_text(value))


def _trust(value: Any) -> Trust:
    return Trust[_text(value).upper()]


def _checked(value: Any, wanted: type[T]) -> T:
    if not isinstance(value, wanted):
        raise TypeError(f"{type(value).__name__} stands where {wanted.__name__} belongs")
    return value


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "tags": _texts,
    "see_also": _texts,
    "own": _texts,
    "absorbed": _counts,
    "subject_time": _subject_time,
    "metadata": _pairs,
    "level": Level,
    "status": Status,
    "sources": _sources,
    "trust": _trust,
    "kind": FeedbackKind,
    "rating": Rating,
    "failure_category": FailureCategory,
    "base": float,
    "own_count": _whole,
    "step_count": _whole,
    "steps_completed": _whole,
    "duration_ms": _whole,
    "pinned": _flag,
    "generated": _flag,
    "succeeded": _flag,
}


def entry_json(entry: MemoryEntry) -> dict[str, Any]:
    """Return an entry as people's JSON shows it: its image with the importance as of now."""
    image = to_image(entry)
    return {**image, "importance": round(entry.importance, 6), "reinforcement_count": entry.reinforcement_count}
