"""Applying the rows of a plan."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import orjson

from agentcore.domain.records import Record, RecordKind, to_image
from agentcore.stores.protocols import Lease, UnitOfWork
from dream.cycle.steps import apply_changes
from dream.domain.change import Change, ChangeSet
from dream.domain.journal import JournalRow
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.stores import bookkeeping
from dream.stores.journal import PURGE
from dream.stores.runs import StepRow


@dataclass(slots=True)
class Applied:
    """What one transaction of a plan did."""

    accepted: int = 0
    purged: int = 0
    refused: list[Refusal] = field(default_factory=list[Refusal])


def apply_rows(unit: UnitOfWork, lease: Lease, run_id: str, pass_name: str, rows: Sequence[JournalRow]) -> Applied:
    """Make the planned changes of one pass, change set by change set; a set whose records moved is refused."""
    unit.leases.assert_held(lease)
    books = bookkeeping(unit)
    applied = Applied()
    change_sets: list[ChangeSet] = []
    for _, group in groupby(rows, key=lambda row: row.number):
        planned = list(group)
        if planned[0].operation == PURGE:
            _purge(unit, run_id, pass_name, planned, applied)
            continue
        change_set, moved = _as_planned(unit, planned)
        if moved:
            applied.refused.append(Refusal.of(Refused.STALE_SOURCE, moved))
            continue
        apply_changes(unit, change_set.changes)
        change_sets.append(change_set)
        applied.accepted += len(change_set.changes)
    books.journal.write(run_id, books.journal.last_number(run_id) + 1, pass_name, change_sets)
    return applied


def move_cursor(unit: UnitOfWork, lease: Lease, run_id: str, pass_name: str, position: int) -> None:
    """Bring a pass's cursor to where the plan left it, unless it is further already."""
    unit.leases.assert_held(lease)
    books = bookkeeping(unit)
    before = books.cursors.position(pass_name)
    if before is not None and before >= position:
        return
    books.cursors.move(pass_name, position)
    number = max((step.number for step in books.runs.steps(run_id)), default=0) + 1
    books.runs.add_step(
        run_id,
        StepRow(
            number=number,
            pass_name=pass_name,
            batch=[],
            cursor_before=before,
            cursor_after=position,
            reopened_consumed=[],
            report={},
            closing=True,
        ),
    )


def _as_planned(unit: UnitOfWork, planned: Sequence[JournalRow]) -> tuple[ChangeSet, list[str]]:
    """Return the change set on the records as they are now, and the ids of those that moved."""
    moved: list[str] = []
    changes: list[Change[Record]] = []
    marks: dict[str, str] = {}
    for row in planned:
        present: Record | None = (
            unit.entries.get(row.record_id) if row.kind is RecordKind.ENTRY else unit.skills.get(row.record_id)
        )
        image = None if present is None else orjson.dumps(to_image(present), option=orjson.OPT_SORT_KEYS).decode()
        if image != row.before:
            moved.append(row.record_id)
        changes.append(Change(before=present, after=row.record_after, reason=row.reason))
        if row.fingerprint is not None:
            marks[row.record_id] = row.fingerprint
    return ChangeSet(operation=planned[0].operation, changes=tuple(changes), fingerprints=marks), moved


def _purge(unit: UnitOfWork, run_id: str, pass_name: str, planned: Sequence[JournalRow], applied: Applied) -> None:
    """Remove the planned entries that are still retired."""
    found = unit.entries.get_many([row.record_id for row in planned])
    retired = [entry.id for entry in found if not entry.is_active]
    applied.refused += [Refusal(Refused.STALE_SOURCE, entry.id) for entry in found if entry.is_active]
    books = bookkeeping(unit)
    books.journal.write_purges(
        run_id, 0, pass_name, kind=RecordKind.ENTRY, record_ids=retired, reason=planned[0].reason
    )
    applied.purged += unit.entries.delete(retired)
