"""Intake: where new memories meet the known ones."""

from collections.abc import Sequence
from typing import TypeAlias

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.temporal import foldable
from agentcore.domain.text import fold_key
from agentcore.hosting.observation import Observation, reinforced
from agentcore.ids import IdFactory
from agentcore.stores.storage import UnitOfWork

Entries: TypeAlias = list[MemoryEntry]


class Intake:
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
