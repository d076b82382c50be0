"""A cluster that was looked at and left as it is."""

from dataclasses import dataclass
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
