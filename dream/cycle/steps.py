"""One step, committed: guards, changes, purges, journal, cursor and report in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.records import Record, RecordKind
from agentcore.domain.skill import Skill
from agentcore.errors import InvalidContentError
from agentcore.stores.protocols import Lease, SignalStore, UnitOfWork
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import History, Proposal, Purge, PurgeHistory, PurgeRecords, PurgeSignals, Refusal
from dream.domain.reasons import Refused
from dream.guards import Knowledge, first_refusal
from dream.options import DreamOptions
from dream.stores import Books, bookkeeping
from dream.stores.runs import StepRow


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWriter:
    """Commits the steps of one pass of one run; lives as long as that pass runs.

    Args:
        run_id: The run.
        pass_name: The pass.
        lease: The right to dream, checked in every transaction.
        options: The host's options.
        usage: Tokens and calls since the last step, for the report.
    """

    run_id: str
    pass_name: str
    lease: Lease
    options: DreamOptions
    usage: dict[str, int] = field(default_factory=dict[str, int])

    def commit(self, unit: UnitOfWork, number: int, proposal: Proposal, seconds: float) -> StepRow:
        """Write what the guards let pass; LeaseLostError if another process took over."""
        unit.leases.assert_held(self.lease)
        books = bookkeeping(unit)
        accepted, refused, stale = self._judge(unit, books, proposal.change_sets)
        apply_changes(unit, [change for change_set in accepted for change in change_set.changes])
        books.journal.write(self.run_id, number, self.pass_name, accepted)
        purged = sum(self._purge(unit, books, number, purge) for purge in proposal.purges)
        before = books.cursors.position(self.pass_name)
        if proposal.cursor is not None:
            books.cursors.move(self.pass_name, proposal.cursor)
        consumed = books.cursors.settle(self.pass_name, proposal.looked_at)
        books.cursors.reopen(self.pass_name, stale)
        step = StepRow(
            number=number,
            pass_name=self.pass_name,
            batch=[[record.id, record.version] for record in _sources(proposal.change_sets)],
            cursor_before=before,
            cursor_after=proposal.cursor,
            reopened_consumed=consumed,
            closing=proposal.done,
            report={
                "accepted": sum(len(change_set.changes) for change_set in accepted),
                "purged": purged,
                "looked_at": max(len(proposal.looked_at), int(proposal.notes.get("compared", 0))),
                "refused": [[item.code, item.detail] for item in (*proposal.refused, *refused)],
                "notes": dict(proposal.notes),
                "backlog": proposal.backlog,
                "seconds": seconds,
                **self.usage,
            },
        )
        books.runs.add_step(self.run_id, step)
        books.ledger.record(self.pass_name, run_id=self.run_id, fingerprint=proposal.fingerprint)
        return step

    def _judge(
        self, unit: UnitOfWork, books: Books, change_sets: Sequence[ChangeSet]
    ) -> tuple[list[ChangeSet], list[Refusal], list[str]]:
        """Return what is accepted, what is refused and why, and the ids to look at again."""
        marks = {mark for change_set in change_sets for mark in change_set.fingerprints.values()}
        declined = frozenset(books.decisions.declined(marks))
        knowledge = Knowledge(declined=declined, protected=self.options.protected_categories)
        present = unit.entries.versions(
            [record.id for record in _sources(change_sets) if isinstance(record, MemoryEntry)]
        )
        accepted: list[ChangeSet] = []
        refused: list[Refusal] = []
        stale: list[str] = []
        for change_set in change_sets:
            moved = _moved(unit, change_set, present)
            refusal = Refusal.of(Refused.STALE_SOURCE, moved) if moved else first_refusal(change_set, knowledge)
            if refusal is None:
                accepted.append(change_set)
                continue
            refused.append(refusal)
            if moved:
                stale += [change.record_id for change in change_set.changes]
        return accepted, refused, stale

    def _purge(self, unit: UnitOfWork, books: Books, number: int, purge: Purge) -> int:
        if isinstance(purge, PurgeHistory):
            return books.runs.purge(purge.before) if purge.what is History.RUNS else books.runs.purge_feed(purge.before)
        if isinstance(purge, PurgeSignals):
            store = _signals(unit)[purge.kind]
            return store.drop_expired(recorded_before=purge.recorded_before, keep=purge.keep, limit=purge.limit)
        return self._purge_records(unit, books, number, purge)

    def _purge_records(self, unit: UnitOfWork, books: Books, number: int, purge: PurgeRecords) -> int:
        ids = [record.id for record in purge.records]
        if purge.kind is RecordKind.TURN:
            return unit.turns.delete(ids)
        present = unit.entries.versions(ids)
        unmoved = [
            record.id
            for record in purge.records
            if isinstance(record, MemoryEntry) and present.get(record.id) == record.version
        ]
        books.journal.write_purges(
            self.run_id, number, self.pass_name, kind=purge.kind, record_ids=unmoved, reason=purge.reason
        )
        return unit.entries.delete(unmoved)


def apply_changes(unit: UnitOfWork, changes: Sequence[Change[Record]]) -> None:
    """Write records as *changes* say; StaleVersionError if one moved."""
    replaced: list[tuple[MemoryEntry, MemoryEntry]] = []
    added: list[MemoryEntry] = []
    for change in changes:
        before, after = change.before, change.after
        if isinstance(before, MemoryEntry) and isinstance(after, MemoryEntry):
            replaced.append((before, after))
        elif isinstance(after, MemoryEntry):
            added.append(after)
        elif isinstance(before, MemoryEntry):
            unit.entries.delete([before.id])
        else:
            _apply_skill(unit, change)
    unit.entries.replace(replaced)
    unit.entries.add(added)


def _apply_skill(unit: UnitOfWork, change: Change[Record]) -> None:
    before, after = change.before, change.after
    if isinstance(before, Skill) and isinstance(after, Skill):
        unit.skills.replace(before, after)
    elif isinstance(after, Skill):
        unit.skills.add(after)
    elif isinstance(before, Skill):
        unit.skills.delete([before.id])
    else:
        raise InvalidContentError(field="change", problem=f"a {change.kind} cannot be changed by a dream")


def _sources(change_sets: Sequence[ChangeSet]) -> list[MemoryEntry | Skill]:
    return [
        change.before
        for change_set in change_sets
        for change in change_set.changes
        if isinstance(change.before, (MemoryEntry, Skill))
    ]


def _moved(unit: UnitOfWork, change_set: ChangeSet, present: Mapping[str, int]) -> list[str]:
    moved: list[str] = []
    for change in change_set.changes:
        before = change.before
        if isinstance(before, MemoryEntry) and present.get(before.id) != before.version:
            moved.append(before.id)
        elif isinstance(before, Skill):
            skill = unit.skills.get(before.id)
            if skill is None or skill.version != before.version:
                moved.append(before.id)
        elif before is None and isinstance(change.after, MemoryEntry) and unit.entries.get(change.after.id) is not None:
            moved.append(change.after.id)
    return moved


def _signals(unit: UnitOfWork) -> dict[RecordKind, SignalStore[Any]]:
    return {
        RecordKind.SKILL_USE: unit.skill_uses,
        RecordKind.FEEDBACK: unit.feedback,
        RecordKind.WISP_RUN: unit.wisp_runs,
    }
