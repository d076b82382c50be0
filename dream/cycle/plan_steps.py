"""Applying the rows of a plan."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from agentcore.domain.document import StoredDocument
from agentcore.domain.records import Record, RecordKind
from agentcore.stores.storage import UnitOfWork
from agentcore.stores.values import Lease
from dream.cycle.running.step_writer import apply_changes
from dream.domain.change import Change, ChangeSet
from dream.domain.cluster import ClusterChanges
from dream.domain.declaration import Reads
from dream.domain.journal import JournalRow, image_text
from dream.domain.phases import Phase, PhaseHit
from dream.domain.promotion import Promotion
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused, Skip
from dream.domain.report import PassOutcome, PassReport
from dream.domain.step import StepReport
from dream.stores import dream_stores
from dream.stores.journal import PURGE
from dream.stores.runs import StepRow


@dataclass(slots=True)
class Applied:
    """What the transactions of a plan did for one pass, summed.

    Args:
        accepted: Changes made.
        purged: Records removed for good.
        refused: Changes not made, and why.
        stale: Ids of records that moved since the plan was made.
    """

    accepted: int = 0
    purged: int = 0
    refused: list[Refusal] = field(default_factory=list[Refusal])
    stale: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class PlanWriter:
    """Applies what a plan holds for one pass; lives as long as that takes.

    Args:
        run_id: The run that applies the plan.
        pass_name: The pass.
        lease: The right to dream, checked in every transaction.
        reads: What the pass's cursor counts, as on the copy; None if it has none there.
    """

    run_id: str
    pass_name: str
    lease: Lease
    reads: Reads | None = None

    def apply(self, unit: UnitOfWork, rows: Sequence[JournalRow], applied: Applied) -> None:
        """Make planned changes, change set by change set; a set whose records moved is refused."""
        unit.leases.assert_held(self.lease)
        change_sets: list[ChangeSet] = []
        for _, group in groupby(rows, key=lambda row: row.number):
            planned = list(group)
            if planned[0].operation == PURGE:
                self._purge(unit, planned, applied)
                continue
            change_set, moved = _as_planned(unit, planned)
            if moved:
                applied.refused.append(Refusal.of(Refused.STALE_SOURCE, moved))
                applied.stale += [row.record_id for row in planned]
                continue
            apply_changes(unit, change_set.changes)
            dream_stores(unit).outbox.post(self.run_id, self.pass_name, change_set.changes)
            change_sets.append(change_set)
            applied.accepted += len(change_set.changes)
        books = dream_stores(unit)
        books.journal.write(self.run_id, books.runs.next_step(self.run_id), self.pass_name, change_sets)

    def promote(self, unit: UnitOfWork, planned: PassReport, stale: Collection[str]) -> None:
        """Remember what the plan promoted, as far as it was changed as planned."""
        unit.leases.assert_held(self.lease)
        told = [*planned.notes.get("promoted", ()), *planned.notes.get("already_said", ())]
        found = [one for one in told if one[0] not in stale]
        dream_stores(unit).promotions.record(
            [
                Promotion(entry_id=entry_id, score=score, hits=hits, run_id=self.run_id, promoted_at=unit.now)
                for entry_id, score, hits in found
            ]
        )

    def tell(self, unit: UnitOfWork, planned: PassReport) -> None:
        """Remember which entries the planned summary rests on, once the diary is changed."""
        unit.leases.assert_held(self.lease)
        found = {entry_id for theme in planned.notes.get("themes", ()) for entry_id in theme}
        found.update(planned.notes.get("truths", ()))
        dream_stores(unit).phases.record([PhaseHit(entry_id, Phase.REM, unit.now) for entry_id in sorted(found)])

    def settle(
        self,
        unit: UnitOfWork,
        position: int | None,
        settled: Sequence[str],
        clusters: ClusterChanges,
        applied: Applied,
    ) -> None:
        """Bring the pass's cursor to where the plan left it, unless it is further; have what moved looked at again.

        Clusters that the plan left as they are count as left: of those with a record that moved, nothing is kept.
        """
        unit.leases.assert_held(self.lease)
        books = dream_stores(unit)
        before = books.cursors.position(self.pass_name)
        after = max(before or 0, position or 0) if position is not None else before
        books.cursors.move(self.pass_name, after, self.reads)
        books.clusters.remove(clusters.unsettled, pass_name=self.pass_name)
        kept = [one for one in clusters.settled if not set(one.record_ids) & set(applied.stale)]
        books.clusters.put(kept, pass_name=self.pass_name, run_id=self.run_id)
        consumed = books.cursors.settle(self.pass_name, settled)
        reopened = books.cursors.reopen(self.pass_name, applied.stale)
        books.runs.add_step(
            self.run_id,
            StepRow(
                number=books.runs.next_step(self.run_id),
                pass_name=self.pass_name,
                batch=[],
                cursor_before=before,
                cursor_after=after,
                reopened_consumed=consumed,
                report=StepReport(reopened=tuple(reopened)),
                closing=True,
            ),
        )

    def _purge(self, unit: UnitOfWork, planned: Sequence[JournalRow], applied: Applied) -> None:
        """Remove the planned turns, and the planned entries that are still retired."""
        kind = planned[0].kind
        ids = [row.record_id for row in planned]
        if kind is RecordKind.TURN:
            doomed = [turn.id for turn in unit.turns.get_many(ids)]
        else:
            found = unit.entries.get_many(ids)
            doomed = [entry.id for entry in found if not entry.is_active]
            applied.refused += [Refusal(Refused.STALE_SOURCE, entry.id) for entry in found if entry.is_active]
        books = dream_stores(unit)
        step = books.runs.next_step(self.run_id)
        reason = planned[0].reason
        books.journal.write_purges(self.run_id, step, self.pass_name, kind=kind, record_ids=doomed, reason=reason)
        applied.purged += unit.of_kind(kind).delete(doomed)


def as_applied(planned: PassReport, applied: Applied) -> PassReport:
    """Return the report of a pass whose plan was applied; notes that did not come true stand apart."""
    changed = bool(applied.accepted or applied.purged)
    as_planned = (applied.accepted, applied.purged) == (planned.accepted, planned.purged)
    outcome, reason = planned.outcome, planned.reason
    if changed:
        outcome, reason = PassOutcome.APPLIED, None
    elif outcome is PassOutcome.APPLIED:
        outcome, reason = PassOutcome.UNCHANGED, Skip.NOTHING_TO_CHANGE
    return PassReport(
        name=planned.name,
        outcome=outcome,
        reason=reason,
        backlog=planned.backlog + max(0, planned.purged - applied.purged),
        accepted=applied.accepted,
        purged=applied.purged,
        looked_at=planned.looked_at,
        refused=(*planned.refused, *applied.refused),
        notes=planned.notes if as_planned or not planned.notes else {"planned": dict(planned.notes)},
    )


def _as_planned(unit: UnitOfWork, planned: Sequence[JournalRow]) -> tuple[ChangeSet, list[str]]:
    """Return the change set on the records as they are now, and the ids of those that moved."""
    moved: list[str] = []
    changes: list[Change[Record]] = []
    marks: dict[str, str] = {}
    for row in planned:
        present = _stored(unit, row)
        if not _is_as_planned(present, row):
            moved.append(row.record_id)
            continue
        changes.append(Change(before=present, after=row.became(present), reason=row.reason))
        if row.fingerprint is not None:
            marks[row.record_id] = row.fingerprint
    return ChangeSet(operation=planned[0].operation, changes=tuple(changes), fingerprints=marks), moved


def _is_as_planned(present: Record | None, row: JournalRow) -> bool:
    """Tell whether the record is what the plan took it for; of a document its text alone says so."""
    planned = row.record_before if row.kind is RecordKind.DOCUMENT else None
    if isinstance(present, StoredDocument) and isinstance(planned, StoredDocument):
        return present.content == planned.content
    return image_text(present) == row.before


def _stored(unit: UnitOfWork, row: JournalRow) -> Record | None:
    return next(iter(unit.of_kind(row.kind).get_many([row.record_id])), None)
