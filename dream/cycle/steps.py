"""One step, committed: guards, changes, purges, journal, cursor and report in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agentcore.domain.conversation import Turn
from agentcore.domain.document import StoredDocument
from agentcore.domain.memory import MemoryEntry, SourceKind
from agentcore.domain.records import Record, RecordKind
from agentcore.domain.skill import Skill
from agentcore.errors import InvalidContentError
from agentcore.stores.protocols import Lease, UnitOfWork
from dream.cycle.consuming import mark_turns
from dream.cycle.purging import Purging
from dream.cycle.share_cap import ShareCap
from dream.cycle.skill_names import after_change, with_skill_names
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Proposal, Refusal
from dream.domain.reasons import Refused
from dream.guards import Knowledge, first_refusal
from dream.options import DreamOptions
from dream.stores import Books, bookkeeping
from dream.stores.runs import StepRow

Key = tuple[RecordKind, str]


@dataclass(slots=True)
class _Judgement:
    """What of a proposal may happen, what may not and why, and the ids to look at again."""

    accepted: list[ChangeSet] = field(default_factory=list[ChangeSet])
    refused: list[Refusal] = field(default_factory=list[Refusal])
    stale: list[str] = field(default_factory=list[str])
    deferred: list[ChangeSet] = field(default_factory=list[ChangeSet])
    retired: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A step that is about to be committed.

    Args:
        proposal: What to do.
        seconds: How long it took so far.
        batch: What its row keeps: for a packing the batches, else ids and versions; those of its changes if None.
        reader: The cursor it moves, if it is not the pass's own: the name after the pass's.
        reopen: Ids that the next run has to look at again.
        waited: Keys of deferred change sets it settles one way or the other.
        extra: More for its report.
    """

    proposal: Proposal
    seconds: float
    batch: list[list[Any]] | None = None
    reader: str = ""
    reopen: tuple[str, ...] = ()
    waited: tuple[int, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWriter:
    """Commits the steps of one pass of one run; lives as long as that pass runs.

    Args:
        run_id: The run.
        pass_name: The pass.
        as_of: The instant the run judges by.
        lease: The right to dream, checked in every transaction.
        options: The host's options.
    """

    run_id: str
    pass_name: str
    as_of: datetime
    lease: Lease
    options: DreamOptions

    def commit(self, unit: UnitOfWork, number: int, draft: Draft) -> StepRow:
        """Write what the guards let pass; LeaseLostError if another process took over."""
        unit.leases.assert_held(self.lease)
        books, proposal = bookkeeping(unit), draft.proposal
        judged = self._judge(unit, books, proposal.change_sets)
        apply_changes(unit, _changes_of(judged.accepted))
        books.journal.write(self.run_id, number, self.pass_name, judged.accepted)
        books.outbox.post(self.run_id, self.pass_name, _changes_of(judged.accepted))
        if len(judged.accepted) == len(proposal.change_sets):
            books.promotions.record(proposal.promotions)
        books.deferred.remove(draft.waited)
        books.deferred.save(judged.deferred, run_id=self.run_id, pass_name=self.pass_name)
        books.clusters.remove(proposal.unsettled, pass_name=self.pass_name)
        books.clusters.put(proposal.settled, pass_name=self.pass_name, run_id=self.run_id)
        purging = self._purging(unit, number)
        purged = purging.carry_out(proposal.purges)
        refused = [*proposal.refused, *judged.refused, *purging.refused]
        report: dict[str, Any] = {
            "accepted": sum(len(change_set.changes) for change_set in judged.accepted),
            "retired": judged.retired,
            "purged": purged,
            "looked_at": max(len(proposal.looked_at), int(proposal.notes.get("compared", 0))),
            "refused": [[item.code, item.detail] for item in refused],
            "notes": dict(proposal.notes),
            "backlog": proposal.backlog,
            "seconds": draft.seconds,
            **draft.extra,
        }
        step = self._row(
            books, number, draft, [*_to_look_at_again(judged.stale, draft), *draft.reopen, *proposal.reopen], report
        )
        books.runs.add_step(self.run_id, step)
        books.ledger.record(self.pass_name, run_id=self.run_id, fingerprint=proposal.fingerprint)
        return step

    def _row(self, books: Books, number: int, draft: Draft, reopen: Sequence[str], report: dict[str, Any]) -> StepRow:
        """Move the cursor, settle and reopen what the step dealt with, and return its row."""
        proposal = draft.proposal
        reader = f"{self.pass_name}/{draft.reader}" if draft.reader else self.pass_name
        before = books.cursors.position(reader)
        if proposal.cursor is not None:
            books.cursors.move(reader, proposal.cursor)
        consumed = books.cursors.settle(reader, proposal.looked_at)
        changed = [[record.id, record.version] for record in _sources(proposal.change_sets)]
        return StepRow(
            number=number,
            pass_name=reader,
            batch=changed if draft.batch is None else draft.batch,
            cursor_before=None if proposal.cursor is None else before,
            cursor_after=proposal.cursor,
            reopened_consumed=consumed,
            closing=proposal.done,
            report=report | {"reopened": books.cursors.reopen(reader, reopen)},
        )

    def _judge(self, unit: UnitOfWork, books: Books, change_sets: Sequence[ChangeSet]) -> _Judgement:
        marks = {mark for change_set in change_sets for mark in change_set.fingerprints.values()}
        declined = frozenset(books.decisions.declined(marks))
        knowledge = Knowledge(
            declined=declined,
            protected=self.options.protected_categories,
            turns={turn.id: turn for turn in unit.turns.get_many(_cited_turns(change_sets))},
            protect_importance=self.options.consolidation.protect_importance,
        )
        knowledge = with_skill_names(unit, change_sets, knowledge)
        present = _present(unit, change_sets)
        judged = _Judgement()
        cap = ShareCap.as_it_stands(unit, books, self.options.consolidation) if _any_capped(change_sets) else None
        for change_set in change_sets:
            refusal = first_refusal(change_set, knowledge)
            moved = [] if refusal else _moved(change_set, present)
            if moved:
                refusal = Refusal.of(Refused.STALE_SOURCE, moved)
                judged.stale += [change.record_id for change in change_set.changes if change.before is not None]
            if refusal is None and cap is not None and not cap.admits(change_set):
                refusal = Refusal.of(Refused.SHARE_CAP, [change.record_id for change in change_set.changes])
                judged.deferred.append(change_set)
            if refusal is not None:
                judged.refused.append(refusal)
                continue
            judged.accepted.append(change_set)
            knowledge = after_change(change_set, knowledge)
            # A later operation on the same record was proposed on a state that is no more.
            for change in change_set.changes:
                present.pop((change.kind, change.record_id), None)
        judged.retired = 0 if cap is None else cap.taken
        return judged

    def _purging(self, unit: UnitOfWork, number: int) -> Purging:
        return Purging(
            unit=unit,
            run_id=self.run_id,
            step=number,
            pass_name=self.pass_name,
            terms=self.options.retention,
            as_of=self.as_of,
        )


def _to_look_at_again(stale: Sequence[str], draft: Draft) -> list[str]:
    """Return what to reopen for records that moved: of a batch the members, if what moved is none of them."""
    if "batch" not in draft.extra or not stale:
        return list(stale)
    members = [str(record_id) for record_id, _ in draft.batch or ()]
    return list(stale) if set(stale) <= set(members) else members


def _changes_of(change_sets: Sequence[ChangeSet]) -> list[Change[Record]]:
    return [change for change_set in change_sets for change in change_set.changes]


def _any_capped(change_sets: Sequence[ChangeSet]) -> bool:
    return any(ShareCap.weight(change_set) for change_set in change_sets)


def apply_changes(unit: UnitOfWork, changes: Sequence[Change[Record]]) -> None:
    """Write records as *changes* say; StaleVersionError if one moved."""
    replaced: list[tuple[MemoryEntry, MemoryEntry]] = []
    added: list[MemoryEntry] = []
    read: list[Turn] = []
    for change in changes:
        before, after = change.before, change.after
        if isinstance(before, MemoryEntry) and isinstance(after, MemoryEntry):
            replaced.append((before, after))
        elif isinstance(after, MemoryEntry):
            added.append(after)
        elif isinstance(before, MemoryEntry):
            unit.entries.delete([before.id])
        elif isinstance(before, Turn) and isinstance(after, Turn):
            read.append(after)
        elif change.kind is RecordKind.DOCUMENT:
            _apply_document(unit, before, after)
        else:
            _apply_skill(unit, change)
    unit.entries.replace(replaced)
    unit.entries.add(added)
    mark_turns(unit, read)


def _apply_document(unit: UnitOfWork, before: Record | None, after: Record | None) -> None:
    """Keep a document's new text; its file follows from the outbox."""
    if isinstance(before, StoredDocument) and isinstance(after, StoredDocument):
        unit.documents.replace(before, after)
    elif isinstance(after, StoredDocument):
        unit.documents.add(after)
    elif isinstance(before, StoredDocument):
        unit.documents.delete(before.id)


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


def _sources(change_sets: Sequence[ChangeSet]) -> list[MemoryEntry | Skill | Turn | StoredDocument]:
    return [
        change.before
        for change_set in change_sets
        for change in change_set.changes
        if isinstance(change.before, (MemoryEntry, Skill, Turn, StoredDocument))
    ]


def _cited_turns(change_sets: Sequence[ChangeSet]) -> set[str]:
    """Return the ids of turns that entries cite after the change and did not before."""
    cited: set[str] = set()
    for change in (change for change_set in change_sets for change in change_set.changes):
        if isinstance(change.after, MemoryEntry):
            known = change.before.sources if isinstance(change.before, MemoryEntry) else ()
            new = set(change.after.sources) - set(known)
            cited.update(source.id for source in new if source.kind is SourceKind.TURN)
    return cited


def _present(unit: UnitOfWork, change_sets: Sequence[ChangeSet]) -> dict[Key, Record | None]:
    """Return the records that *change_sets* would change, as they are stored; None where an id is free."""
    present: dict[Key, Record | None] = {
        (change.kind, change.record_id): None for change_set in change_sets for change in change_set.changes
    }
    ids = [record_id for kind, record_id in present if kind is RecordKind.ENTRY]
    present.update({(RecordKind.ENTRY, entry.id): entry for entry in unit.entries.get_many(ids)})
    for kind, record_id in [key for key in present if key[0] is RecordKind.SKILL]:
        present[kind, record_id] = unit.skills.get(record_id)
    turns = unit.turns.get_many([record_id for kind, record_id in present if kind is RecordKind.TURN])
    present.update({(RecordKind.TURN, turn.id): turn for turn in turns})
    for kind, record_id in [key for key in present if key[0] is RecordKind.DOCUMENT]:
        present[kind, record_id] = unit.documents.get(record_id)
    return present


def _moved(change_set: ChangeSet, present: Mapping[Key, Record | None]) -> list[str]:
    """Return the ids of records that are not what the pass took them for."""
    return [
        change.record_id
        for change in change_set.changes
        if (change.kind, change.record_id) not in present
        or not _is_as_read(present[change.kind, change.record_id], change.before)
    ]


def _is_as_read(stored: Record | None, before: Record | None) -> bool:
    # The journal's image is what an undo brings back, so the pass's word for it is not enough.
    kept = (MemoryEntry, Skill, Turn, StoredDocument)
    if isinstance(stored, kept) and isinstance(before, kept):
        return stored.version == before.version and stored == before
    return stored is None and before is None
