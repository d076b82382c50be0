"""Writes a person's changes into an entry, and retires one."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypedDict

from agentcore.domain.memory import MemoryEntry, Status, own_words
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.text import clean_category, clean_content, clean_tags
from agentcore.errors import RetiredEntryError, UnknownRecordError
from agentcore.hosting.checks import clean_importance, clean_metadata, clean_subject_time, refuse_unknown
from agentcore.stores.storage import UnitOfWork


class MemoryChanges(TypedDict, total=False):
    """What may be changed in an entry; whatever is not named stays as it is."""

    content: str
    """Its text."""
    category: str | None
    """Its place."""
    tags: Iterable[str]
    """All its tags."""
    importance: float
    """From 0 to 1 as of now: its fading starts anew."""
    subject_time: SubjectTime | str | None
    """The time it is about; None takes it away."""
    metadata: Mapping[str, str] | None
    """All its pairs."""
    pinned: bool
    """Whether dreams leave it alone."""


_CLEAN: Final[dict[str, Callable[[Any], object]]] = {
    "content": clean_content,
    "category": clean_category,
    "tags": clean_tags,
    "importance": clean_importance,
    "subject_time": clean_subject_time,
    "metadata": clean_metadata,
    "pinned": bool,
}


def checked(amendments: MemoryChanges) -> dict[str, Any]:
    """Return the fields of an entry that *amendments* set.

    Raises:
        InvalidInputError: something cannot be stored.
        TypeError: entries have no such field, or it cannot be changed.

    Example:
        >>> checked({"category": " people / ana ", "importance": 1})
        {'category': 'people/ana', 'base': 1.0}
    """
    refuse_unknown(amendments, _CLEAN)
    fields = {name: _CLEAN[name](value) for name, value in amendments.items()}
    return {("base" if name == "importance" else name): value for name, value in fields.items()}


def amend(unit: UnitOfWork, entry_id: str, fields: Mapping[str, Any]) -> MemoryEntry:
    """Write *fields* into an active entry; return it as it is now stored.

    Raises:
        UnknownRecordError: no entry has this id.
        InvalidContentError: the entry is not active.
    """
    before = _active(unit, entry_id)
    after = replace(before, **fields)
    if after.content != before.content and before.evidence:
        # What was said bears the old text; the new one is the word of whoever wrote it.
        after = replace(after, evidence=(own_words(after, unit.now, "host"),))
    if after == before and "base" not in fields:
        return before
    seen = unit.now if "base" in fields else before.last_seen_at
    unit.entries.replace([(before, replace(after, updated_at=unit.now, last_seen_at=seen))])
    return unit.entries.get(entry_id) or before


def retire(unit: UnitOfWork, entry_id: str, reason: str) -> MemoryEntry:
    """Archive an active entry; return it as it is now stored.

    Raises:
        UnknownRecordError: no entry has this id.
        InvalidContentError: the entry is not active.
    """
    before = _active(unit, entry_id)
    retired = replace(before, status=Status.ARCHIVED, status_reason=reason, status_at=unit.now)
    unit.entries.replace([(before, retired)])
    return unit.entries.get(entry_id) or retired


def _active(unit: UnitOfWork, entry_id: str) -> MemoryEntry:
    entry = unit.entries.get(entry_id)
    if entry is None:
        raise UnknownRecordError(kind="entry", value=entry_id)
    if not entry.is_active:
        raise RetiredEntryError(entry_id=entry_id, status=entry.status, successor=entry.successor)
    return entry
