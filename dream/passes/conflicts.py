"""Which of two entries gives way: confirmed by a person, then seen by many, then said last; else it is a question."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import Final

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import MemoryEntry, SourceKind, Trust
from agentcore.domain.subject_time import PartialDate, SubjectTime
from agentcore.domain.temporal import Observations, Temporal
from agentcore.stores.storage import ReadView

MANY: Final = 3
"""Distinct observations from which their number counts at all: two against one prove nothing."""
MANY_MORE: Final = 1.5
"""Times as many observations as the other side that decide."""
LATER: Final = timedelta(days=1)
"""Time apart from which what was said last decides, whoever said it."""


class ConflictVerdict(Enum):
    """Whether the old entry gives way."""

    GIVES_WAY = auto()
    STAYS = auto()
    CLOSE_CALL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEvidence:
    """What speaks for one side.

    Args:
        trust: The least of its texts.
        observations: Distinct observations.
        last_seen_at: When it was last said.
        about: The latest date that it is about, as coarse as it was given; None if it is about none.
        speakers: Who said it, as far as turns show it.
    """

    trust: Trust
    observations: Observations
    last_seen_at: datetime
    about: PartialDate | None = None
    speakers: frozenset[str] = frozenset()

    @classmethod
    def of(cls, entries: Sequence[MemoryEntry], speakers: Iterable[str] = ()) -> "SideEvidence":
        """Join what speaks for the entries."""
        joined = Temporal.merge([Temporal.of(entry) for entry in entries])
        return cls(
            trust=min(entry.trust for entry in entries),
            observations=joined.observations,
            last_seen_at=joined.last_seen_at,
            about=_latest(joined.subject_time),
            speakers=frozenset(speakers),
        )


def speakers_of(turns: Iterable[Turn]) -> frozenset[str]:
    """Return who speaks in those of the turns that people said; one without a name is the user."""
    return frozenset(turn.speaker or turn.role for turn in turns if turn.role == "user")


def speakers_by_entry(view: ReadView, entries: Iterable[MemoryEntry]) -> Mapping[str, frozenset[str]]:
    """Return who said each entry, by its id, as far as its turns are still there."""
    cited = {entry.id: {ref.id for ref in entry.sources if ref.kind is SourceKind.TURN} for entry in entries}
    turns = {turn.id: turn for turn in view.turns.get_many(set[str]().union(*cited.values()))}
    return {entry_id: speakers_of(turns[one] for one in ids if one in turns) for entry_id, ids in cited.items()}


def judge(old: SideEvidence, new: SideEvidence, as_of: datetime) -> ConflictVerdict:
    """Rank the evidence for an old entry and for what would take its place.

    In this order, the first that differs decides:

    1. A change of the world is no conflict: of two texts about different times that have come, the one about the later
       time holds, whichever day either was told; and a text about a time that has come takes the place of one about
       no certain time that was said before. A month or a year means the whole of it. Neither outweighs a text from a
       participant, or from whoever is trusted as much, unless it is from one too.
    2. Trust: confirmed by a person, stated, inferred, untrusted.
    3. Distinct observations, where one side has at least three and one and a half times as many as the other. What the
       new side took over from the old one does not count for it.
    4. What was said last, where a day or more lies between, or where the same person said both.

    Else it is a close call.
    """
    if _is_news(old, new, as_of):
        return ConflictVerdict.GIVES_WAY
    if _is_later(new, old, as_of):
        return ConflictVerdict.STAYS
    if old.trust is not new.trust:
        return ConflictVerdict.GIVES_WAY if new.trust > old.trust else ConflictVerdict.STAYS
    shared = {entry_id for entry_id, _ in old.observations}
    for_old = sum(count for _, count in old.observations)
    for_new = sum(count for entry_id, count in new.observations if entry_id not in shared)
    more, less = max(for_old, for_new), min(for_old, for_new)
    if more >= MANY and more >= MANY_MORE * less:
        return ConflictVerdict.GIVES_WAY if for_new > for_old else ConflictVerdict.STAYS
    apart = abs(new.last_seen_at - old.last_seen_at)
    # Who says two things within a day corrects the first one; two people within a day disagree.
    if apart >= LATER or (apart and old.speakers and old.speakers == new.speakers):
        return ConflictVerdict.GIVES_WAY if new.last_seen_at > old.last_seen_at else ConflictVerdict.STAYS
    return ConflictVerdict.CLOSE_CALL


def _is_news(old: SideEvidence, new: SideEvidence, as_of: datetime) -> bool:
    if old.about is not None or new.about is None:
        return _is_later(old, new, as_of)
    said_old, said_new = _naive(old.last_seen_at), _naive(new.last_seen_at)
    came = said_old < new.about.begins or (said_old < new.about.ends and said_old < said_new)
    return came and _counts(new, old, as_of)


def _is_later(one: SideEvidence, other: SideEvidence, as_of: datetime) -> bool:
    """Tell whether *other* is about a time after that of *one*."""
    return (
        one.about is not None
        and other.about is not None
        and one.about.ends <= other.about.begins
        and _counts(other, one, as_of)
    )


def _counts(later: SideEvidence, earlier: SideEvidence, as_of: datetime) -> bool:
    """Tell whether the later time has come, and who tells of it is trusted enough."""
    has_come = later.about is not None and later.about.begins <= _naive(as_of)
    return has_come and later.trust >= min(earlier.trust, Trust.STATED)


def _latest(time: SubjectTime | None) -> PartialDate | None:
    if time is None:
        return None
    starts = () if time.span is None or time.span.start is None else (time.span.start,)
    return max((*time.points, *starts), default=None)


def _naive(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(tzinfo=None)
