"""Defines a cluster that was looked at and left as it is."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentcore.domain.instants import from_micros, to_micros


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
    def from_json(cls, values: list[Any]) -> "SettledCluster":
        """Read what `to_json` wrote."""
        fingerprint, record_ids, declines, declined_at = values
        return cls(
            fingerprint=fingerprint,
            record_ids=tuple(record_ids),
            declines=declines,
            declined_at=from_micros(declined_at),
        )


@dataclass(frozen=True, slots=True)
class ClusterChanges:
    """What a run did to the settled clusters of a pass.

    Args:
        settled: Those it left as they are.
        unsettled: Fingerprints of those that are no more.
    """

    settled: tuple[SettledCluster, ...] = ()
    unsettled: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether there is any."""
        return bool(self.settled or self.unsettled)

    @classmethod
    def between(cls, before: Collection[SettledCluster], after: Collection[SettledCluster]) -> "ClusterChanges":
        """Return what leads from the clusters *before* to those *after*."""
        left = {cluster.fingerprint for cluster in after}
        settled = tuple(cluster for cluster in after if cluster not in before)
        return cls(settled, tuple(cluster.fingerprint for cluster in before if cluster.fingerprint not in left))
