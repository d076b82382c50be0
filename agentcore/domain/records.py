"""Record kinds, and their images: the canonical mappings that journal, export and plan write.

An image holds everything a person could miss and nothing that only the store needs: no version, no decayed importance.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, cast

from agentcore.domain.conversation import Turn
from agentcore.domain.instants import from_text, to_text
from agentcore.domain.memory import Level, MemoryEntry, SourceRef, Status, Trust
from agentcore.domain.scope import Scope
from agentcore.domain.signals import FailureCategory, Feedback, FeedbackKind, Rating, WispRun
from agentcore.domain.skill import Skill, SkillUse
from agentcore.domain.subject_time import SubjectTime

Record = MemoryEntry | Turn | Skill | SkillUse | Feedback | WispRun
Image = dict[str, Any]


class RecordKind(StrEnum):
    """What a stored record is."""

    ENTRY = "entry"
    TURN = "turn"
    SKILL = "skill"
    SKILL_USE = "skill_use"
    FEEDBACK = "feedback"
    WISP_RUN = "wisp_run"


_TYPES: dict[RecordKind, type[Record]] = {
    RecordKind.ENTRY: MemoryEntry,
    RecordKind.TURN: Turn,
    RecordKind.SKILL: Skill,
    RecordKind.SKILL_USE: SkillUse,
    RecordKind.FEEDBACK: Feedback,
    RecordKind.WISP_RUN: WispRun,
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
        >>> from agentcore.domain.records import from_image, RecordKind
        >>> from agentcore import Scope
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
    return from_text(value) if name.endswith("_at") else value


def _strings(value: list[str]) -> tuple[str, ...]:
    return tuple(str(item) for item in value)


_CONVERTERS: dict[str, Any] = {
    "tags": _strings,
    "see_also": _strings,
    "absorbed": lambda value: tuple((str(entry), int(count)) for entry, count in value),
    "subject_time": SubjectTime.parse,
    "metadata": lambda value: {str(key): str(item) for key, item in value.items()},
    "level": Level,
    "status": Status,
    "sources": lambda value: tuple(sorted(SourceRef.parse(item) for item in value)),
    "trust": lambda value: Trust[value.upper()],
    "kind": FeedbackKind,
    "rating": Rating,
    "failure_category": FailureCategory,
    "base": float,
}
