"""What a pass proposes; only the runner writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from agentcore.domain.question import Question
from agentcore.domain.records import RecordKind, from_image, to_image
from agentcore.domain.temporal import from_text, to_text
from dream.domain.change import ChangeSet
from dream.domain.cluster import SettledCluster
from dream.domain.phases import PhaseHit
from dream.domain.promotion import Promotion

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from agentcore.domain.records import Record
    from agentcore.domain.scope import Scope


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
    def of(cls, code: str, record_ids: Sequence[str]) -> Refusal:
        """Name the records; of many the first three and how many more."""
        more = f" and {len(record_ids) - 3} more" if len(record_ids) > 3 else ""
        return cls(code, ", ".join(record_ids[:3]) + more)

    def at(self, place: int) -> Refusal:
        """Return it as one of the item with this number."""
        return replace(self, place=place)

    def to_json(self) -> list[Any]:
        """Return plain JSON values: the code, the particulars, and what is told of the item."""
        return [self.code, self.detail, self.text, list(self.cites)]

    @classmethod
    def from_json(cls, values: Sequence[Any]) -> Refusal:
        """Read what `to_json` wrote."""
        code, detail, text, cites = values
        return cls(code, detail, text=text, cites=tuple(cites))


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


def purge_to_json(purge: Purge) -> dict[str, Any]:
    """Return plain JSON values."""
    if isinstance(purge, PurgeRecords):
        records = [[to_image(record), getattr(record, "version", None)] for record in purge.records]
        return {"kind": purge.kind.value, "records": records, "reason": purge.reason}
    if isinstance(purge, PurgeSignals):
        bounds = {"before": to_text(purge.recorded_before), "keep": purge.keep, "limit": purge.limit}
        return {"kind": purge.kind.value, **bounds, "reason": purge.reason}
    return {"what": purge.what.value, "before": to_text(purge.before), "limit": purge.limit, "reason": purge.reason}


def purge_from_json(scope: Scope, values: Mapping[str, Any]) -> Purge:
    """Read what `purge_to_json` wrote."""
    reason: str = values["reason"]
    if "what" in values:
        return PurgeHistory(HistoryKind(values["what"]), from_text(values["before"]), values["limit"], reason)
    kind = RecordKind(values["kind"])
    if "records" not in values:
        return PurgeSignals(kind, from_text(values["before"]), values["keep"], values["limit"], reason)
    records = [(from_image(kind, scope, image), version) for image, version in values["records"]]
    return PurgeRecords(
        kind,
        tuple(
            record if version is None else replace(cast("Any", record), version=version) for record, version in records
        ),
        reason,
    )


def _question(scope: Scope, image: Mapping[str, Any]) -> Question:
    return cast("Question", from_image(RecordKind.QUESTION, scope, image))


Notes = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One step of a pass: committed whole, in one transaction.

    Args:
        change_sets: What to change.
        for_review: What a person has to decide first, whatever the pass's mode: nobody read whether it is true.
        purges: What to remove for good (retention only).
        questions: What only a person can answer. No cap counts them, and one that is asked already is not asked again
            (`agentcore.domain.question.Question`).
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
        waits: Why the exchange with the model cannot end now, a code of `Refused`: it is kept with its answers, and a
            later run goes on with it. None if it ended.
        undecided: Change sets that wait with the exchange, for the pass to decide about when it goes on.
        done: Whether the pass has no further step in this run.
    """

    change_sets: tuple[ChangeSet, ...] = ()
    for_review: tuple[ChangeSet, ...] = ()
    purges: tuple[Purge, ...] = ()
    questions: tuple[Question, ...] = ()
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
    waits: str | None = None
    undecided: tuple[ChangeSet, ...] = ()
    done: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: all of it, as a plan keeps it."""
        return {
            "change_sets": [one.to_json() for one in self.change_sets],
            "for_review": [one.to_json() for one in self.for_review],
            "purges": [purge_to_json(one) for one in self.purges],
            "questions": [to_image(one) for one in self.questions],
            "refused": [one.to_json() for one in self.refused],
            "notes": dict(self.notes),
            "cursor": self.cursor,
            "looked_at": list(self.looked_at),
            "reopen": list(self.reopen),
            "fingerprint": self.fingerprint,
            "backlog": self.backlog,
            "settled": [one.to_json() for one in self.settled],
            "unsettled": list(self.unsettled),
            "promotions": [one.to_json() for one in self.promotions],
            "phases": [one.to_json() for one in self.phases],
            "waits": self.waits,
            "undecided": [one.to_json() for one in self.undecided],
            "done": self.done,
        }

    @classmethod
    def from_json(cls, scope: Scope, values: Mapping[str, Any]) -> Proposal:
        """Read what `to_json` wrote."""
        return cls(
            change_sets=tuple(ChangeSet.from_json(scope, one) for one in values["change_sets"]),
            for_review=tuple(ChangeSet.from_json(scope, one) for one in values.get("for_review", ())),
            purges=tuple(purge_from_json(scope, one) for one in values["purges"]),
            questions=tuple(_question(scope, one) for one in values.get("questions", ())),
            refused=tuple(map(Refusal.from_json, values["refused"])),
            notes=values["notes"],
            cursor=values["cursor"],
            looked_at=tuple(values["looked_at"]),
            reopen=tuple(values["reopen"]),
            fingerprint=values["fingerprint"],
            backlog=values["backlog"],
            settled=tuple(map(SettledCluster.from_json, values["settled"])),
            unsettled=tuple(values["unsettled"]),
            promotions=tuple(map(Promotion.from_json, values["promotions"])),
            phases=tuple(map(PhaseHit.from_json, values["phases"])),
            waits=values["waits"],
            undecided=tuple(ChangeSet.from_json(scope, one) for one in values["undecided"]),
            done=values["done"],
        )


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
