"""Which of two entries gives way: confirmed by a person, then seen by many, then said last; else it is a question."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import Final

from agentcore.domain.memory import MemoryEntry, Trust
from agentcore.domain.temporal import Observations, Temporal

MANY: Final = 3
"""Distinct observations from which their number counts at all: two against one prove nothing."""
MANY_MORE: Final = 1.5
"""Times as many observations as the other side that decide."""
LATER: Final = timedelta(days=1)
"""Time apart from which what was said last decides."""


class Verdict(Enum):
    """Whether the old entry gives way."""

    GIVES_WAY = auto()
    STAYS = auto()
    CLOSE_CALL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What speaks for one side.

    Args:
        trust: The least of its texts.
        observations: Distinct observations.
        last_seen_at: When it was last said.
        subject_from: Begin of the time that it is about, naive; None if it is about none.
    """

    trust: Trust
    observations: Observations
    last_seen_at: datetime
    subject_from: datetime | None

    @classmethod
    def of(cls, entries: Sequence[MemoryEntry]) -> "Evidence":
        """Join what speaks for the entries."""
        joined = Temporal.merge([Temporal.of(entry) for entry in entries])
        points = () if joined.subject_time is None else joined.subject_time.points
        return cls(
            trust=min(entry.trust for entry in entries),
            observations=joined.observations,
            last_seen_at=joined.last_seen_at,
            subject_from=max((point.begins for point in points), default=None),
        )


def judge(old: Evidence, new: Evidence, as_of: datetime) -> Verdict:
    """Rank the evidence for an old entry and for what would take its place.

    In this order, the first that differs decides:

    1. A change of the world is no conflict: if the new text is about a time that has come, after the old one was last
       said, and is from a participant or from whoever is trusted as much, the old one gives way.
    2. Trust: confirmed by a person, stated, inferred, untrusted.
    3. Distinct observations, where one side has at least three and one and a half times as many as the other. What the
       new side took over from the old one does not count for it.
    4. What was said last, where a day or more lies between.

    Else it is a close call.
    """
    if _is_news(old, new, as_of):
        return Verdict.GIVES_WAY
    if old.trust is not new.trust:
        return Verdict.GIVES_WAY if new.trust > old.trust else Verdict.STAYS
    shared = {entry_id for entry_id, _ in old.observations}
    for_old = sum(count for _, count in old.observations)
    for_new = sum(count for entry_id, count in new.observations if entry_id not in shared)
    more, less = max(for_old, for_new), min(for_old, for_new)
    if more >= MANY and more >= MANY_MORE * less:
        return Verdict.GIVES_WAY if for_new > for_old else Verdict.STAYS
    if abs(new.last_seen_at - old.last_seen_at) >= LATER:
        return Verdict.GIVES_WAY if new.last_seen_at > old.last_seen_at else Verdict.STAYS
    return Verdict.CLOSE_CALL


def _is_news(old: Evidence, new: Evidence, as_of: datetime) -> bool:
    if new.subject_from is None or new.trust < min(old.trust, Trust.STATED):
        return False
    last_said, now = (instant.astimezone(UTC).replace(tzinfo=None) for instant in (old.last_seen_at, as_of))
    return last_said < new.subject_from <= now and (old.subject_from is None or new.subject_from > old.subject_from)
