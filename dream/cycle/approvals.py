"""Has proposals wait again once their approval is taken back, and wait no longer once it is made again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from dream.cycle.running.admission import stored_records
from dream.domain.proposal import Refusal
from dream.domain.reasons import NotUndone
from dream.stores import dream_stores

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from agentcore.stores.storage import UnitOfWork
    from dream.domain.change import ChangeSet, JournalRow
    from dream.domain.waiting import WaitingProposal

ChangeKey = frozenset[tuple[str, str | None]]
"""The records of a change set, each with what a person declines by undoing it; a proposal and the journal share it."""


def change_key(change_set: ChangeSet) -> ChangeKey:
    """Return what tells a change set from the others that were approved with it."""
    ids = [change.record_id for change in change_set.changes]
    return frozenset((record_id, change_set.fingerprints.get(record_id)) for record_id in ids)


@dataclass(slots=True)
class Approvals:
    """The proposals of one transaction of an undo; lives as long as it.

    Args:
        unit: The transaction.
        is_redo: Whether approvals are made again, not taken back.
        by_key: The proposals that may be among what is taken back.
        turned: Those that were.
        refused: Those that have expired meanwhile, and are gone.
    """

    unit: UnitOfWork
    is_redo: bool
    by_key: dict[ChangeKey, WaitingProposal]
    turned: list[WaitingProposal] = field(default_factory=list["WaitingProposal"])
    refused: list[Refusal] = field(default_factory=list[Refusal])

    @classmethod
    def among(cls, unit: UnitOfWork, ids: Collection[str], *, is_redo: bool) -> Self:
        """Return those of *ids* that were approved, or for a redo those that wait."""
        proposals = dream_stores(unit).proposals
        found = proposals.get_many(ids) if is_redo else proposals.approved(ids)
        return cls(unit, is_redo, {change_key(one.change_set): one for one in found})

    def turn(self, rows: Sequence[JournalRow]) -> bool:
        """Note that a change set was taken back; tell whether it was approved, so that a person decides again."""
        found = self.by_key.pop(frozenset((row.record_id, row.fingerprint) for row in rows), None)
        if found is None:
            return False
        if not self.is_redo and found.expires_at <= self.unit.now:
            dream_stores(self.unit).proposals.remove([found.proposal_id])
            self.refused.append(Refusal(NotUndone.PROPOSAL_EXPIRED, found.proposal_id))
            return False
        self.turned.append(found)
        return True

    def settle(self) -> None:
        """Have them wait again on the records that are back, or wait no longer."""
        proposals = dream_stores(self.unit).proposals
        if self.is_redo:
            proposals.approve([one.proposal_id for one in self.turned])
            return
        for one in self.turned:
            proposals.reopen(replace(one, change_set=_as_stored(self.unit, one.change_set)))


def _as_stored(unit: UnitOfWork, change_set: ChangeSet) -> ChangeSet:
    """Return a change set on the records as an undo brought them back: as they were read, with another version."""
    present = stored_records(unit, [change_set])
    changes = [
        replace(change, before=stored) if stored is not None and stored == change.before else change
        for change in change_set.changes
        for stored in [present[change.kind, change.record_id]]
    ]
    return replace(change_set, changes=tuple(changes))
