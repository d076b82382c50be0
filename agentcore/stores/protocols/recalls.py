"""Recall hits: which entries were needed, and how often."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from agentcore.domain.signals import RecallHit, RecallUse


class RecallHitReader(Protocol):
    """Read what needs recalled; no records, so neither `records` nor the change feed knows of them."""

    def uses(self, *, since: datetime | None = None, entry_ids: Collection[str] | None = None) -> list[RecallUse]:
        """Return how often entries were recalled, by id; those that never were are left out.

        Args:
            since: Count only what was recalled at or after this instant.
            entry_ids: Only these entries; None for all.
        """
        ...

    def count(self) -> int:
        """Count hits."""
        ...


class RecallHitStore(RecallHitReader, Protocol):
    """Write them; deleting an entry for good deletes its hits, and neither revision nor change feed moves."""

    def append(self, hits: Sequence[RecallHit]) -> None:
        """Append hits; those of entries that are not there are left out."""
        ...

    def drop_expired(self, *, recalled_before: datetime, limit: int) -> int:
        """Remove at most *limit* hits from before that instant, oldest first; return how many."""
        ...
