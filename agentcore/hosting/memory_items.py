"""Defines items of MEMORY.md as a turn sees them, and tells which entries they tell."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.skill import Skill
from agentcore.domain.text import fold_key


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """One item of MEMORY.md.

    Args:
        text: What it says, without the comment that names its sources.
        entry_ids: Entries that it names as its sources.
    """

    text: str
    entry_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TellingItems:
    """Items that the agent sees, so that what they tell need not be given again.

    Args:
        keys: What their texts are told by from others.
        entry_ids: Entries that they name as their sources.
    """

    keys: frozenset[str]
    entry_ids: frozenset[str]

    @classmethod
    def of(cls, items: Iterable[MemoryItem]) -> Self:
        """Return what these items tell."""
        given = list(items)
        named = frozenset[str]().union(*(item.entry_ids for item in given))
        return cls(frozenset(fold_key(item.text) for item in given), named)

    def tell(self, record: MemoryEntry | Turn | Skill) -> bool:
        """Tell whether one of the items says what an entry says."""
        if not isinstance(record, MemoryEntry) or not (self.keys or self.entry_ids):
            return False
        return record.id in self.entry_ids or fold_key(record.content) in self.keys
