"""Bounds the proposals that wait for a person: what waits, what else may, and which pass waits for a decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agentcore.workspace.folder import ARCHIVE, DREAMS, MEMORY
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.report import RunKind
from dream.stores import dream_stores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentcore.stores.storage import ReadView
    from dream.cycle.running.admission import Admission
    from dream.domain.change import ChangeSet
    from dream.options import ReviewOptions
    from dream.stores import DreamStores

_DOCUMENTS: Final = (MEMORY, DREAMS, ARCHIVE)


@dataclass(slots=True)
class ReviewQueue:
    """Room for proposals; lives as long as one transaction.

    Args:
        left: How many more may be made, by each bound; None where there is none.
        records: Records that a waiting proposal would change.
        marks: What a person declines by rejecting what waits.
    """

    left: dict[Refused, int | None]
    records: set[str]
    marks: set[str]

    @classmethod
    def as_it_stands(cls, view: ReadView, books: DreamStores, options: ReviewOptions) -> ReviewQueue:
        """Return the queue as the transaction finds it."""
        waiting = sum(books.proposals.counts().values())
        midnight = view.now.replace(hour=0, minute=0, second=0, microsecond=0)
        left = {
            Refused.QUEUE_FULL: None if options.max_waiting is None else options.max_waiting - waiting,
            Refused.REVIEW_BUDGET: None
            if options.per_day is None
            else options.per_day - books.runs.proposed_since(midnight),
        }
        marks = books.proposals.marks()
        records = {record for record, mark in marks if record is not None and not _is_edit(record, mark)}
        return cls(left, records, {mark for _, mark in marks if mark is not None})

    @property
    def full(self) -> Refused | None:
        """The bound that lets nothing more in; None if there is room."""
        return next((code for code, left in self.left.items() if left is not None and left <= 0), None)

    def admit(self, judged: Admission) -> None:
        """Leave in *judged* what of it may wait here for review; the rest is deferred there."""
        wanted, judged.for_review = judged.for_review, []
        for change_set in wanted:
            refusal = self._admit(change_set)
            if refusal is None:
                judged.for_review.append(change_set)
            else:
                judged.refused.append(refusal)
                judged.deferred.append((refusal.code, change_set))

    def _admit(self, change_set: ChangeSet) -> Refusal | None:
        """Take the place that *change_set* needs; where there is none, return why."""
        touched = [
            change.record_id
            for change in change_set.changes
            if change.before is not None
            and not _is_edit(change.record_id, change_set.fingerprints.get(change.record_id))
        ]
        held = sorted(self.records.intersection(touched)) or self._same(change_set)
        if held:
            return Refusal.of(Refused.AWAITS_REVIEW, held)
        if self.full is not None:
            return Refusal.of(self.full, [change.record_id for change in change_set.changes])
        self.left = {code: None if left is None else left - 1 for code, left in self.left.items()}
        self.records.update(touched)
        self.marks.update(change_set.fingerprints.values())
        return None

    def _same(self, change_set: ChangeSet) -> Sequence[str]:
        """Return the records of an operation that waits already, if by other ids: all its marks are there."""
        marks = set(change_set.fingerprints.values())
        return sorted(change_set.fingerprints) if marks and marks <= self.marks else ()


def _is_edit(record_id: str, mark: str | None) -> bool:
    """Tell whether a change is an edit of some items of a document, beside which others may wait."""
    return record_id in _DOCUMENTS and mark is not None


_LOOKED_BACK: Final = 20
"""Runs among which the pass's last one is looked for."""
_HAS_ROOM_LATER: Final = frozenset({Refused.REVIEW_BUDGET, Refused.SHARE_CAP, Refused.OUTPUT_CAP})


def is_full(view: ReadView, options: ReviewOptions) -> bool:
    """Tell whether so many proposals wait, or were made today, that no pass may make another."""
    return ReviewQueue.as_it_stands(view, dream_stores(view), options).full is not None


def awaits_review(view: ReadView, pass_name: str) -> bool:
    """Tell whether all that a pass left over in its last run waits for proposals that nobody decided since.

    Args:
        view: A view of the scope.
        pass_name: A pass that only proposes.
    """
    for run in dream_stores(view).runs.newest(limit=_LOOKED_BACK):
        if run.kind is RunKind.SKIPPED:
            continue
        if run.kind is not RunKind.DREAM:
            return False  # somebody decided, or took something back
        told = next((one for one in run.passes if one.name == pass_name), None)
        if told is not None:
            codes = {refusal.code for refusal in told.refused}
            return Refused.AWAITS_REVIEW in codes and not codes & _HAS_ROOM_LATER
    return False
