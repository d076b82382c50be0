"""Turns what is said into new entries, or reinforces the entries that already say it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias, TypedDict

from agentcore.domain.memory import MemoryEntry, SourceRef, Trust
from agentcore.domain.scope import Scope
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.temporal import absorb, foldable
from agentcore.domain.text import clean_category, clean_tags, fold_key
from agentcore.hosting.checks import (
    clean_importance,
    clean_instant,
    clean_metadata,
    clean_sources,
    clean_subject_time,
    clean_trust,
    refuse_unknown,
)
from agentcore.ids import IdFactory
from agentcore.stores.storage import UnitOfWork


class MemoryFields(TypedDict, total=False):
    """What may be said beside a text; whatever is not takes the value in brackets."""

    category: str | None
    """Slash path such as `people/ana`, repaired where needed (`general`)."""
    tags: Iterable[str]
    """Any number of words (none)."""
    importance: float
    """From 0 to 1 (0.5)."""
    subject_time: SubjectTime | str | None
    """The time the text is about, such as `2025-05` or `1995..2003` (none)."""
    occurred_at: datetime | None
    """When it was said, aware (now)."""
    metadata: Mapping[str, str] | None
    """Pairs of text to keep with it (none)."""
    pinned: bool
    """Whether dreams leave it alone (False)."""
    trust: Trust
    """How far its origin is trusted (`Trust.STATED`)."""
    sources: Iterable[SourceRef]
    """Records it comes from (none)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Checked particulars, ready for any number of texts; fields as in `MemoryEntry`."""

    category: str
    tags: tuple[str, ...]
    base: float
    subject_time: SubjectTime | None
    occurred_at: datetime | None
    metadata: Mapping[str, str]
    pinned: bool
    trust: Trust
    sources: tuple[SourceRef, ...]

    @classmethod
    def of(cls, said: MemoryFields) -> "Observation":
        """Check *said* and fill in what is not.

        Raises:
            InvalidInputError: something cannot be stored.
            TypeError: there is no such particular.

        Example:
            >>> Observation.of({"category": "people/ana"}).base
            0.5
        """
        refuse_unknown(said, MemoryFields.__annotations__)
        return cls(
            category=clean_category(said.get("category")),
            tags=clean_tags(said.get("tags", ())),
            base=clean_importance(said.get("importance", 0.5)),
            subject_time=clean_subject_time(said.get("subject_time")),
            occurred_at=clean_instant(said.get("occurred_at")),
            metadata=clean_metadata(said.get("metadata")),
            pinned=bool(said.get("pinned", False)),
            trust=clean_trust(said.get("trust", Trust.STATED)),
            sources=clean_sources(said.get("sources", ())),
        )

    def entry(self, content: str, *, scope: Scope, now: datetime, entry_id: str = "") -> MemoryEntry:
        """Return the entry that *content* makes if nobody knows it yet.

        Args:
            content: Checked text.
            scope: Whose memory it is.
            now: When it is stored; an observation dated later counts as seen now.
            entry_id: Its id; empty while it is not known whether it needs one.
        """
        created_at = self.occurred_at or now
        return MemoryEntry(
            id=entry_id,
            scope=scope,
            content=content,
            category=self.category,
            tags=self.tags,
            base=self.base,
            created_at=created_at,
            recorded_at=now,
            last_seen_at=min(created_at, now),
            subject_time=self.subject_time,
            metadata=dict(self.metadata),
            sources=self.sources,
            trust=self.trust,
            pinned=self.pinned,
        )


def reinforced(known: MemoryEntry, repeat: MemoryEntry) -> MemoryEntry:
    """Return *known* after the same was said again as *repeat* says it.

    It counts once more and was seen later; tags, metadata and sources are united; a more trusted repeat raises the
    trust. A less trusted one reinforces nothing and gives only its protections (see `temporal.absorb`): whoever
    repeats a page often enough would else decide what stays.
    """
    joined = absorb(known, [repeat])
    if repeat.trust < known.trust:
        return joined
    return replace(joined, own_count=known.own_count + 1, absorbed=known.absorbed, trust=repeat.trust)


Entries: TypeAlias = list[MemoryEntry]


class MemoryWriter:
    """Takes texts into one scope's memory; lives as long as one transaction.

    Args:
        unit: The transaction.
        observation: What is said beside the texts.
        ids: Names new entries.
    """

    def __init__(self, unit: UnitOfWork, observation: Observation, ids: IdFactory) -> None:
        self._unit = unit
        self._observation = observation
        self._ids = ids
        self._stored: dict[str, MemoryEntry] = {}
        self._current: dict[str, MemoryEntry] = {}
        self._same_text: dict[str, list[str]] = {}

    def take(self, contents: Sequence[str]) -> Entries:
        """Store checked *contents*, or reinforce what is known; return the entry of each, as it is now stored."""
        keys = [fold_key(content) for content in contents]
        for entry in self._unit.entries.with_fold_keys(set(keys)):
            self._stored[entry.id] = entry
            self._note(entry, fold_key(entry.content))
        taken = [self._take(content, key) for content, key in zip(contents, keys, strict=True)]
        self._write()
        stored = {entry.id: entry for entry in self._unit.entries.get_many(taken)}
        return [stored[entry_id] for entry_id in taken]

    def _take(self, content: str, key: str) -> str:
        now, scope = self._unit.now, self._unit.scope
        repeat = self._observation.entry(content, scope=scope, now=now)
        for known in map(self._current.__getitem__, self._same_text.get(key, ())):
            if foldable(known, repeat):
                self._current[known.id] = reinforced(known, repeat)
                return known.id
        new = self._observation.entry(content, scope=scope, now=now, entry_id=self._ids.new())
        self._note(new, key)
        return new.id

    def _note(self, entry: MemoryEntry, key: str) -> None:
        self._current[entry.id] = entry
        self._same_text.setdefault(key, []).append(entry.id)

    def _write(self) -> None:
        stored = self._stored
        changed = [(before, self._current[before.id]) for before in stored.values()]
        self._unit.entries.replace([(before, after) for before, after in changed if before != after])
        self._unit.entries.add([entry for entry in self._current.values() if entry.id not in stored])
