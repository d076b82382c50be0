"""Defines a cluster that was looked at and left as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcore.domain.temporal import from_micros, to_micros

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledCluster:
    """Records that look alike and were left as they are.

    Args:
        fingerprint: Hash of the records and what they say; another text is another cluster.
        record_ids: The records, sorted.
        declines: How often they were left as they are.
        declined_at: When last, the `as_of` of that run.
    """

    fingerprint: str
    record_ids: tuple[str, ...]
    declines: int
    declined_at: datetime

    def to_json(self) -> list[Any]:
        """Return plain JSON values."""
        return [self.fingerprint, list(self.record_ids), self.declines, to_micros(self.declined_at)]

    @classmethod
    def from_json(cls, values: list[Any]) -> SettledCluster:
        """Read what `to_json` wrote."""
        fingerprint, record_ids, declines, declined_at = values
        return cls(
            fingerprint=fingerprint,
            record_ids=tuple(record_ids),
            declines=declines,
            declined_at=from_micros(declined_at),
        )
