"""What a pass proposes; only the runner writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from agentcore.domain.records import Record, RecordKind
from dream.domain.change import ChangeSet
from dream.domain.cluster import SettledCluster
from dream.domain.phases import PhaseHit
from dream.domain.promotion import Promotion


@dataclass(frozen=True, slots=True)
class Refusal:
    """A change that was not made, with its reason code and the particulars.

    Two are equal if these are: the rest tells of an item of an answer, for a repair and for `dream show --refused`.

    Args:
        code: Why.
        detail: The particulars.
        place: The item's number in its list, from 1; None if it is about no one item.
        text: What the model wrote, whole; "" if there is no text, or none that may be kept.
        cites: Ids of the records that it rests on.
    """

    code: str
    detail: str
    place: int | None = field(default=None, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)
    cites: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(cls, code: str, record_ids: Sequence[str]) -> "Refusal":
        """Name the records; of many the first three and how many more."""
        more = f" and {len(record_ids) - 3} more" if len(record_ids) > 3 else ""
        return cls(code, ", ".join(record_ids[:3]) + more)

    def at(self, place: int) -> "Refusal":
        """Return it as one of the item with this number."""
        return replace(self, place=place)


@dataclass(frozen=True, slots=True)
class PurgeRecords:
    """Remove retired entries or expired turns for good: what only retention may propose."""

    kind: RecordKind
    records: tuple[Record, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class PurgeSignals:
    """Remove at most *limit* signals stored before an instant or beyond the newest *keep*."""

    kind: RecordKind
    recorded_before: datetime
    keep: int
    limit: int
    reason: str


class HistoryKind(StrEnum):
    """Bookkeeping that retention bounds."""

    RUNS = "history_rows"
    """Finished runs with their steps, journal and answers, and plans."""
    FEED = "feed_rows"
    """The change feed."""
    PROPOSALS = "expired_proposals"
    """Changes that waited for a person, and nobody decided in time."""
    REFUSED = "refused_texts"
    """Texts that were refused."""


@dataclass(frozen=True, slots=True)
class PurgeHistory:
    """Remove at most *limit* rows of bookkeeping that ended before an instant."""

    what: HistoryKind
    before: datetime
    limit: int
    reason: str


Purge = PurgeRecords | PurgeSignals | PurgeHistory
Notes = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One step of a pass: committed whole, in one transaction.

    Args:
        change_sets: What to change.
        purges: What to remove for good (retention only).
        refused: What the pass itself held back, and why.
        notes: Findings for the report, plain JSON values.
        cursor: Position up to which the pass has now looked; None leaves its cursor where it is.
        looked_at: Ids the step dealt with; they leave the pass's reopened set.
        reopen: Ids behind the cursor that a later run has to look at again.
        fingerprint: Hash of what the pass judges by; it goes into the pass ledger.
        backlog: Items left for later runs.
        settled: Clusters that were left as they are.
        unsettled: Fingerprints of clusters that are no more.
        promotions: Entries that count as promoted though nothing changes.
        phases: Entries that a phase met; kept unless a change of the step is refused.
        done: Whether the pass has no further step in this run.
    """

    change_sets: tuple[ChangeSet, ...] = ()
    purges: tuple[Purge, ...] = ()
    refused: tuple[Refusal, ...] = ()
    notes: Notes = field(default_factory=dict[str, Any])
    cursor: int | None = None
    looked_at: tuple[str, ...] = ()
    reopen: tuple[str, ...] = ()
    fingerprint: str | None = None
    backlog: int = 0
    settled: tuple[SettledCluster, ...] = ()
    unsettled: tuple[str, ...] = ()
    promotions: tuple[Promotion, ...] = ()
    phases: tuple[PhaseHit, ...] = ()
    done: bool = True


@dataclass(frozen=True, slots=True)
class Work:
    """Whether a pass has something to do.

    Args:
        pending: Items past its cursor, reopened or in backlog, or due by date.
        reports: Whether it has something to say even with nothing pending.
        at: When it has something to do next though nothing new comes; None if that is not foreseen.
    """

    pending: int
    reports: bool = False
    at: datetime | None = None


def summed(notes: Sequence[Notes], *names: str) -> Notes:
    """Sum the named counts over the steps.

    Example:
        >>> summed([{"folded": 2}, {"folded": 1}], "folded")
        {'folded': 3}
    """
    return {name: sum(int(note.get(name, 0)) for note in notes) for name in names}
