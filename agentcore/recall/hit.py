"""Hit: an entry that answers a query."""

from dataclasses import dataclass

from agentcore.domain.memory import MemoryEntry


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer of recall.

    Args:
        entry: The entry, its importance as of now.
        score: BM25 weighted by importance, above 0; comparable within one answer only.
    """

    entry: MemoryEntry
    score: float
