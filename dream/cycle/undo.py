"""Takes back what the journal holds, wherever nothing changed since, and brings retired entries back."""

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Final

from agentcore.domain.memory import MemoryEntry, SourceKind, SourceRef, Status
from agentcore.domain.records import RECORD_TYPES, Record, RecordKind, cited_by, kind_of, text_of
from agentcore.domain.scope import Scope
from agentcore.domain.skill import Skill
from agentcore.domain.text import fold_key
from agentcore.domain.validity import revived
from agentcore.errors import ForgottenSourceError, InvalidContentError, UnknownRecordError
from agentcore.hosting.services import HostServices
from agentcore.stores.storage import Origin, ReadView, UnitOfWork
from dream.cycle.approvals import Approvals
from dream.cycle.documents.delivery import NO_WORKSPACE
from dream.cycle.documents.inverse import Inverse, document_inverse, drop_first_reads
from dream.cycle.running.admission import Admission
from dream.cycle.running.run_envelope import RunEnvelope, asked_for, carry_out
from dream.cycle.running.step_writer import StepWriter
from dream.domain.change import FOLD, Change, ChangeSet, JournalRow, fingerprint, image_text
from dream.domain.proposal import Notes, Proposal, Refusal
from dream.domain.reasons import NotUndone
from dream.domain.report import PassOutcome, PassReport, RunKind, RunReport
from dream.domain.step import StepDraft, StepReport
from dream.errors import NothingToRestoreError, UnknownChangeError
from dream.options import DreamOptions
from dream.stores import DreamStores, dream_stores
from dream.stores.journal import PURGE
from dream.stores.runs import StepRow


def _is_read_again(row: JournalRow) -> bool:
    of = RECORD_TYPES[row.kind]
    return of.is_read and not of.stands_alone


_SOURCES: Final = {
    RecordKind.ENTRY: SourceKind.ENTRY,
    RecordKind.TURN: SourceKind.TURN,
    RecordKind.FEEDBACK: SourceKind.FEEDBACK,
}
UNDO: Final = "undo"
RESTORE: Final = "restore"


class UndoService:
    """Undoes runs and restores entries; lives as long as the host.

    Args:
        parts: What the host offers.
        options: The host's options.
    """

    def __init__(self, parts: HostServices, options: DreamOptions) -> None:
        self._parts = parts
        self._options = options

    async def undo(
        self, scope: Scope, run_id: str, *, pass_name: str | None = None, number: int | None = None
    ) -> RunReport:
        """Take back a run, one pass of it, or one change set.

        Raises:
            UnknownRunError: no such run in the scope.
            UnknownChangeError: no such change in the run.
        """

        def find(view: ReadView) -> tuple[str, list[JournalRow], list[StepRow]]:
            books = dream_stores(view)
            full = books.runs.resolve(run_id)
            return full, books.journal.of_run(full, pass_name=pass_name, number=number), books.runs.steps(full)

        target, rows, steps = await self._parts.storage.read(scope, find)
        if number is not None and not rows:
            raise UnknownChangeError(run_id=target, number=number)

        async def take_back(run: RunEnvelope) -> None:
            barred, mine = _without_barred(run.obstacle, rows)
            undone, writer = Undone(), StepWriter.of(self._parts, run, self._options.applying(), UNDO)
            take = partial(_undo_batch, writer=writer, reports=[step.report for step in steps])
            *batches, last = [*_newest_first(mine, self._options.step_size)] or [()]
            for batch in batches:
                undone.add(await run.write(partial(take, rows=batch), origin=Origin.UNDO))
            touched = [row.record_id for row in mine if _is_read_again(row)]  # nobody has to read those again
            names = sorted({step.pass_name for step in steps})
            wholly = {name: number is None and pass_name in {None, name, name.partition("/")[0]} for name in names}

            def finish(unit: UnitOfWork) -> Undone:
                taken = take(unit, rows=last) if last else Undone()
                _withdraw(dream_stores(unit), run.report.run_id, target, steps, wholly=wholly, touched=touched)
                return taken

            # At once: a kill in between would leave what is back to be overlooked.
            undone.add(await run.write(finish, origin=Origin.UNDO))
            run.passes.append(_report(UNDO, undone.restored, (*undone.refused, *barred), notes=undone.notes))

        opening = asked_for(self._parts, scope, RunKind.UNDO, target)
        reads = any(row.kind is RecordKind.DOCUMENT for row in rows)
        report = await carry_out(self._parts, self._options, opening, take_back, reads_documents=reads)
        if report.run_id:
            await self._parts.storage.write(scope, partial(drop_first_reads, run_id=target, rows=rows))
        return report

    async def restore(self, scope: Scope, entry_id: str) -> RunReport:
        """Bring a retired entry back; no dream retires it for the same reason again.

        Raises:
            UnknownRecordError: no such entry.
            InvalidContentError: the entry is active.
        """
        await self._parts.storage.read(scope, lambda view: _revival(view, entry_id))

        async def bring_back(run: RunEnvelope) -> None:
            writer = StepWriter.of(self._parts, run, self._options.applying(), RESTORE)
            await run.write(partial(_restore, writer=writer, entry_id=entry_id), origin=Origin.HOST)
            run.passes.append(_report(RESTORE, 1, (), notes={}))

        opening = asked_for(self._parts, scope, RunKind.RESTORE, entry_id)
        return await carry_out(self._parts, self._options, opening, bring_back, reads_documents=False)


@dataclass(slots=True)
class Undone:
    """What an undo did, or one of its transactions.

    Args:
        restored: Records put back.
        refused: Records left alone, and why.
        purged: Records that retention removed, which no undo brings back.
        reopened: Proposals that wait for a person again.
    """

    restored: int = 0
    refused: list[Refusal] = field(default_factory=list[Refusal])
    purged: int = 0
    reopened: int = 0

    def add(self, more: "Undone") -> None:
        """Add what one more transaction did, once it is committed."""
        self.restored += more.restored
        self.refused += more.refused
        self.purged += more.purged
        self.reopened += more.reopened

    @property
    def notes(self) -> Notes:
        """What the report counts besides."""
        counts = {"purged_for_good": self.purged, "reopened_proposals": self.reopened}
        return {name: count for name, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class _Obstacles:
    """What keeps a record from coming back.

    Args:
        forgotten: When texts were forgotten, by fold key.
        touched: Records that are forgotten, among those that would come back and what these rest on.
        held: Ids of the active skills by name.
    """

    forgotten: Mapping[str, datetime]
    touched: AbstractSet[SourceRef]
    held: Mapping[str, str]

    def forgot(self, row: JournalRow, before: Record | None, present: Record | None) -> bool:
        """Tell whether what would come back was forgotten, by its origin, or by its text and not said anew since."""
        if before is not None and not self.touched.isdisjoint(_chain(before)):
            return True
        text, stored = (None if record is None else text_of(record) for record in (before, present))
        if text is None:
            return False
        key = fold_key(text)
        if key not in self.forgotten or (stored is not None and fold_key(stored) == key):
            return False
        # What was journalled later was stored then: somebody had said it anew.
        return row.recorded_at <= self.forgotten[key]

    def bar(self, skill: Skill) -> bool:
        """Tell whether another skill has the name that *skill* would need."""
        return skill.status is Status.ACTIVE and self.held.get(skill.name, skill.id) != skill.id


def _newest_first(rows: Sequence[JournalRow], size: int) -> list[list[JournalRow]]:
    """Cut the journal into batches of about *size* rows, newest first, change sets whole."""
    batches: list[list[JournalRow]] = [[]]
    for _, group in groupby(reversed(rows), key=lambda row: row.number):
        change_set = list(group)
        if batches[-1] and len(batches[-1]) + len(change_set) > size:
            batches.append([])
        batches[-1] += change_set
    return [batch for batch in batches if batch]


def _undo_batch(
    unit: UnitOfWork, writer: StepWriter, rows: Sequence[JournalRow], reports: Sequence[StepReport]
) -> Undone:
    """Take back *rows* (newest first) in this transaction, as a step of an undoing run; return what it came to.

    By the *reports* of the steps, what a person had approved waits for a decision again, and is not declined, and what
    is back stands where it stood: who had looked at it need not again, the others have yet to.
    """
    books, undone = dream_stores(unit), Undone()
    is_redo = books.runs.takes_back(rows[0].run_id)
    approvals = Approvals.among(unit, [one for told in reports for one in told.proposals], is_redo=is_redo)
    obstacles = _Obstacles(_forgotten(unit, rows), _touched(unit, rows), _held(unit, rows))
    state = _present(unit, rows)
    stored = dict(state)
    change_sets: list[ChangeSet] = []
    marks: set[str] = set()
    for _, group in groupby(rows, key=lambda row: row.number):
        members = list(group)
        changes = _taken_back(members, state, obstacles, undone)
        if changes:
            prints = {row.record_id: row.fingerprint for row in members if row.fingerprint is not None}
            state.update({change.record_id: change.after for change in changes})
            change_sets.append(ChangeSet(operation=UNDO, changes=tuple(changes), fingerprints=prints))
            if not approvals.turn(members):
                # Those of members left alone too: what is back must not join them again.
                marks.update(prints.values())
    undone.refused += approvals.refused
    draft = StepDraft(
        proposal=Proposal(refused=tuple(undone.refused)),
        batch=[],
        report=StepReport(proposals=tuple(one.proposal_id for one in approvals.turned)),
    )
    former = [told.former for told in reversed(reports) if told.former is not None]
    step = writer.write(unit, draft, Admission(accepted=change_sets, written=_net(stored, state), former=former))
    approvals.settle()
    undone.restored += step.report.accepted
    undone.reopened += 0 if is_redo else len(approvals.turned)
    if is_redo:
        books.decisions.reconsider(marks)
    else:
        books.decisions.decline(marks, run_id=writer.run_id)
    return undone


def _withdraw(
    books: DreamStores,
    run_id: str,
    target: str,
    steps: Sequence[StepRow],
    *,
    wholly: Mapping[str, bool],
    touched: Sequence[str],
) -> None:
    """Take back what the passes of a run left for later: cursors, and what waits, if all of the pass is undone."""
    for name, whole in wholly.items():
        withdrawn = books.waiting.withdraw(target, name) if whole else []
        waited = [record for one in withdrawn for record in one.member_ids if not one.reader]
        _restore_cursor(books, run_id, name, steps, [*touched, *waited], wholly=whole)
        if whole:
            books.proposals.withdraw(target, name)
            books.clusters.withdraw(target, name)


def _restore_cursor(
    books: DreamStores, run_id: str, name: str, steps: Sequence[StepRow], touched: Sequence[str], *, wholly: bool
) -> None:
    """Have a pass look again at what was taken back, as a step of the undoing run *run_id*.

    Its cursor returns to where the run found it, unless it moved on since or not all that the pass did was taken back;
    then the *touched* records alone are reopened.
    """
    mine = [step for step in steps if step.pass_name == name]
    moved = [step for step in mine if step.moved_cursor]
    if not moved:
        return
    before, reads = books.cursors.position(name), books.cursors.reads(name)
    told = next((step.report.reads for step in mine if step.report.reads), None)
    settled: list[str] = []
    if wholly and before == moved[-1].cursor_after:
        books.cursors.move(name, moved[0].cursor_before, reads or told)
        settled = books.cursors.settle(name, [record for step in mine for record in step.report.reopened])
        reopened = books.cursors.reopen(name, [record for step in mine for record in step.reopened_consumed])
    else:
        reopened = books.cursors.reopen(name, touched)
    books.runs.add_step(
        run_id,
        StepRow(
            number=books.runs.next_step(run_id),
            pass_name=name,
            batch=[],
            cursor_before=before,
            cursor_after=books.cursors.position(name),
            reopened_consumed=settled,
            # Where no cursor is left, this tells an undo of the undo what the pass reads.
            report=StepReport(reopened=tuple(reopened), reads=reads),
            closing=True,
        ),
    )


def _taken_back(
    rows: Sequence[JournalRow], state: Mapping[str, Record | None], obstacles: _Obstacles, undone: Undone
) -> list[Change[Record]]:
    """Return the changes that take a change set back whole, or none, and note what stays as it is."""
    gone = [
        row.record_id
        for row in rows
        if not RECORD_TYPES[row.kind].stands_alone and row.before and row.after and not state.get(row.record_id)
    ]
    if gone and not any(row.scrubbed for row in rows):
        # What the others took over from it stands nowhere else any more.
        undone.refused.append(Refusal(NotUndone.PURGED, f"{', '.join(gone)}; the rest of that change stays too"))
        return []
    inverses = [(row, *_inverse(row, state, obstacles)) for row in rows]
    undone.purged += sum(row.operation == PURGE for row in rows)
    undone.refused += [refusal for _, _, refusal in inverses if refusal is not None]
    if any(refusal is not None and not RECORD_TYPES[row.kind].stands_alone for row, _, refusal in inverses):
        # Half of it would leave entries whose successor does not exist, or what two of them count.
        return []
    return [change for _, change, _ in inverses if change is not None]


def _inverse(row: JournalRow, state: Mapping[str, Record | None], obstacles: _Obstacles) -> Inverse:
    """Return the change that takes *row* back, if there is something to take back, and what bars it."""
    if row.operation == PURGE:
        return None, None
    present = state.get(row.record_id)
    before = row.was(present)
    if row.scrubbed or obstacles.forgot(row, before, present):
        return None, Refusal(NotUndone.FORGOTTEN, row.record_id)
    if row.kind is RecordKind.DOCUMENT:
        return document_inverse(row, present)
    return _inverse_of_record(row, present, before, obstacles)


def _inverse_of_record(
    row: JournalRow, present: Record | None, before: Record | None, obstacles: _Obstacles
) -> Inverse:
    image = image_text(present)
    if image == row.before:
        return None, None  # somebody has taken it back before
    if image != row.after:
        purged = RECORD_TYPES[row.kind].stands_alone and present is None
        return None, Refusal(NotUndone.PURGED if purged else NotUndone.CHANGED_SINCE, row.record_id)
    if isinstance(before, Skill) and obstacles.bar(before):
        return None, Refusal(NotUndone.CHANGED_SINCE, f"{row.record_id}, whose name another skill has now")
    return Change(before=present, after=before, reason=f"undo: {row.reason}"), None


def _held(unit: UnitOfWork, rows: Sequence[JournalRow]) -> dict[str, str]:
    """Return the ids of the active skills whose names the rows' skills had."""
    names = {row.record_before.name for row in rows if isinstance(row.record_before, Skill)}
    holders = [unit.skills.named(name) for name in sorted(names)]
    return {holder.name: holder.id for holder in holders if holder is not None}


def _present(unit: UnitOfWork, rows: Sequence[JournalRow]) -> dict[str, Record | None]:
    present: dict[str, Record | None] = {}
    for kind in RECORD_TYPES:
        ids = [row.record_id for row in rows if row.kind is kind and row.operation != PURGE]
        if ids:
            present.update({record.id: record for record in unit.of_kind(kind).get_many(ids)})
    return present


def _net(stored: Mapping[str, Record | None], state: Mapping[str, Record | None]) -> list[Change[Record]]:
    """Return one change per record: from what is stored to what it shall be."""
    return [
        Change(before=stored.get(record_id), after=after, reason="undo")
        for record_id, after in state.items()
        if after is not stored.get(record_id)
    ]


def _forgotten(unit: UnitOfWork, rows: Sequence[JournalRow]) -> dict[str, datetime]:
    befores = [row.record_before for row in rows if row.operation != PURGE]
    texts = [text_of(record) for record in befores if record is not None]
    return unit.forgotten.since({fold_key(text) for text in texts if text is not None})


def _touched(unit: UnitOfWork, rows: Sequence[JournalRow]) -> set[SourceRef]:
    befores = [row.record_before for row in rows if row.operation != PURGE]
    chain = {ref for record in befores if record is not None for ref in _chain(record)}
    # What rested on other sentences of a turn was spared when it was forgotten.
    return unit.tombstones.touched(chain, whole=True)


def _chain(record: Record) -> tuple[SourceRef, ...]:
    """Return what a record rests on, and the record itself."""
    kind = _SOURCES.get(kind_of(record))
    return cited_by(record) if kind is None else (*cited_by(record), SourceRef(kind, record.id))


def _restore(unit: UnitOfWork, writer: StepWriter, entry_id: str) -> None:
    before, after = _revival(unit, entry_id)
    forgotten = unit.tombstones.touched(_chain(before), whole=True)
    if forgotten:
        raise ForgottenSourceError(source=str(min(forgotten)))
    made = Change[Record](before=before, after=after, reason="brought back by a person")
    change_set = ChangeSet(operation=RESTORE, changes=(made,))
    writer.write(unit, StepDraft(proposal=Proposal(), batch=[]), Admission(accepted=[change_set]))
    unit.withheld.release(entry_id)
    dream_stores(unit).decisions.decline(_marks_against(unit, before), run_id=writer.run_id)


def _report(name: str, accepted: int, refused: tuple[Refusal, ...], *, notes: Notes) -> PassReport:
    return PassReport(
        name=name,
        outcome=PassOutcome.APPLIED if accepted else PassOutcome.UNCHANGED,
        accepted=accepted,
        refused=refused,
        notes=notes,
    )


def _without_barred(problem: str | None, rows: list[JournalRow]) -> tuple[list[Refusal], list[JournalRow]]:
    """Return *rows* without documents whose files cannot be read, and why; where there is no workspace, they wait."""
    if problem is None or problem == NO_WORKSPACE:
        return [], rows
    kept = [row for row in rows if row.kind is not RecordKind.DOCUMENT]
    return [Refusal(NotUndone.DOCUMENT_BARRED, problem)], kept


def _marks_against(unit: UnitOfWork, retired: MemoryEntry) -> list[str]:
    """Return the marks of what retired the entry last, its own and its successor's.

    A journal that is gone by now leaves the fold, the one operation that tells its marks from the records.
    """
    journal = dream_stores(unit).journal
    marked = [row for row in journal.of_record(retired.id) if row.fingerprint]
    if not marked:
        successor = unit.entries.get(retired.successor) if retired.successor else None
        return [fingerprint(FOLD, entry) for entry in (retired, successor) if entry is not None]
    together = journal.of_run(marked[-1].run_id, number=marked[-1].number)
    pair = {retired.id, retired.successor}
    return [row.fingerprint for row in together if row.fingerprint and row.record_id in pair]


def _revival(view: ReadView, entry_id: str) -> tuple[MemoryEntry, MemoryEntry]:
    entry = view.entries.get(entry_id)
    if view.tombstones.touched([SourceRef(SourceKind.ENTRY, entry_id)]):
        raise InvalidContentError(field="entry", problem=f"{entry_id[:80]} was forgotten; nothing brings it back")
    if entry is None:
        raise UnknownRecordError(kind="entry", value=entry_id)
    if entry.is_active:
        raise NothingToRestoreError(entry_id=entry_id)
    if entry.is_conclusion and not view.conclusions.footing(entry).stands:
        missing = view.conclusions.footing(entry).missing
        problem = f"{entry_id} rests on {missing}, which is gone; restore that first"
        raise InvalidContentError(field="entry", problem=problem)
    return entry, revived(entry)
