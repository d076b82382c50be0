"""Runs that people ask for beside dreaming: undo, restore, and applying a plan."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from agentcore.domain.memory import MemoryEntry, Status
from agentcore.domain.records import RECORD_TYPES, Record, RecordKind
from agentcore.domain.scope import Scope
from agentcore.errors import InvalidContentError, UnknownRecordError
from agentcore.hosting.parts import HostParts
from agentcore.stores.storage import Origin, ReadView, UnitOfWork
from agentcore.stores.values import Lease
from agentcore.workspace.folder import MEMORY
from dream.cycle.documents.delivery import NO_WORKSPACE, Delivery, Documents
from dream.cycle.lease import dream_lease
from dream.cycle.plan_steps import Applied, PlanWriter, as_applied
from dream.cycle.running.runner import PAUSED
from dream.cycle.undo import Undone, newest_first, restore_cursor, undo_batch
from dream.domain.change import FOLD, Change, ChangeSet, fingerprint
from dream.domain.cluster import ClusterChanges
from dream.domain.journal import JournalRow
from dream.domain.names import PAUSED_SETTING
from dream.domain.plan import Plan
from dream.domain.proposal import Refusal
from dream.domain.reasons import Deferral, NotUndone
from dream.domain.report import Outcome, PassOutcome, PassReport, RunKind, RunReport
from dream.errors import UnknownChangeError
from dream.options import DreamOptions
from dream.passes.promotion import PromotionPass
from dream.passes.rem import Rem
from dream.stores import dream_stores
from dream.stores.runs import StepRow

RESTORE = "restore"


class UndoService:
    """Undoes runs, restores entries and applies plans; lives as long as the host.

    Args:
        parts: What the host offers.
        options: The host's options.
    """

    def __init__(self, parts: HostParts, options: DreamOptions) -> None:
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
        async with dream_lease(self._parts, scope, self._options.lease) as lease:
            if lease is None:
                return self._deferred(scope, RunKind.UNDO, target)
            documents = Documents(self._parts, scope)
            barred, rows = await _without_barred(documents, rows)
            report = await self._open(scope, RunKind.UNDO, target)
            undone = await self._undo_rows(scope, lease, report.run_id, rows)
            undone.refused += barred
            # Nobody has to read those again.
            touched = [row.record_id for row in rows if not RECORD_TYPES[row.kind].stands_alone]

            def settle(unit: UnitOfWork) -> None:
                unit.leases.assert_held(lease)
                books = dream_stores(unit)
                for name in sorted({step.pass_name for step in steps}):
                    wholly = number is None and pass_name in {None, name, name.partition("/")[0]}
                    restore_cursor(books, report.run_id, name, steps, touched, wholly=wholly)
                    if wholly:
                        books.deferred.withdraw(target, name)
                        books.proposals.withdraw(target, name)
                        books.clusters.withdraw(target, name)

            await self._parts.storage.write(scope, settle, origin=Origin.UNDO)
            delivery = Delivery() if barred else await documents.deliver()
            return await self._close(
                scope, report, "undo", undone.restored, undone.refused, purged=undone.purged, delivery=delivery
            )

    async def restore(self, scope: Scope, entry_id: str) -> RunReport:
        """Bring a retired entry back; no dream retires it for the same reason again.

        Raises:
            UnknownRecordError: no such entry.
            InvalidContentError: the entry is active.
        """
        await self._parts.storage.read(scope, lambda view: _revival(view, entry_id))
        async with dream_lease(self._parts, scope, self._options.lease) as lease:
            if lease is None:
                return self._deferred(scope, RunKind.RESTORE, entry_id)
            report = await self._open(scope, RunKind.RESTORE, entry_id)
            run_id = report.run_id

            def bring_back(unit: UnitOfWork) -> None:
                unit.leases.assert_held(lease)
                before, after = _revival(unit, entry_id)
                books = dream_stores(unit)
                unit.entries.replace([(before, after)])
                unit.withheld.release(entry_id)
                made = Change[Record](before=before, after=after, reason="brought back by a person")
                books.journal.write(run_id, 1, RESTORE, [ChangeSet(operation=RESTORE, changes=(made,))])
                books.decisions.decline(_marks_against(unit, before), run_id=run_id)

            await self._parts.storage.write(scope, bring_back, origin=Origin.HOST)
            return await self._close(scope, report, RESTORE, 1, [])

    async def apply(self, scope: Scope, plan_id: str) -> RunReport:
        """Make exactly the changes of a plan; what moved since it was made is refused as stale.

        Raises:
            UnknownPlanError: no such plan in the scope.
        """
        plan, paused = await self._parts.storage.read(
            scope, lambda view: (dream_stores(view).plans.get(plan_id), view.settings.get(PAUSED_SETTING))
        )
        if paused:
            return self._deferred(scope, RunKind.PLAN, plan.plan_id, reason=PAUSED)
        async with dream_lease(self._parts, scope, self._options.lease) as lease:
            if lease is None:
                return self._deferred(scope, RunKind.PLAN, plan.plan_id)
            documents = Documents(self._parts, scope)
            obstacle = None if self._parts.workspaces is None else await documents.prepare()
            report = await self._open(scope, RunKind.PLAN, plan.plan_id, as_of=plan.report.as_of)
            passes = [await self._apply_pass(scope, lease, report, plan, item) for item in plan.report.passes]
            delivery = Delivery() if obstacle else await documents.deliver()
            finished = report.with_passes(tuple(map(delivery.told_in, passes)), self._parts.clock.now())

            def close(unit: UnitOfWork) -> None:
                books = dream_stores(unit)
                books.plans.delete(plan.plan_id)
                books.runs.close(finished)
                unit.activity.notify()

            await self._parts.storage.write(scope, close)
            return finished

    async def _apply_pass(
        self, scope: Scope, lease: Lease, report: RunReport, plan: Plan, planned: PassReport
    ) -> PassReport:
        rows = [row for row in plan.rows if row.pass_name == planned.name]
        writer = PlanWriter(report.run_id, planned.name, lease, plan.reads.get(planned.name))
        applied = Applied()
        for batch in newest_first(rows[::-1], self._options.step_size):
            work = partial(writer.apply, rows=batch, applied=applied)
            await self._parts.storage.write(scope, work, origin=Origin.DREAM)
        if planned.name == PromotionPass.name and MEMORY not in applied.stale:
            work = partial(writer.promote, planned=planned, stale=applied.stale)
            await self._parts.storage.write(scope, work, origin=Origin.DREAM)
        if planned.name == Rem.name and applied.accepted:
            await self._parts.storage.write(scope, partial(writer.tell, planned=planned), origin=Origin.DREAM)
        position, settled = plan.cursors.get(planned.name), plan.settled.get(planned.name, ())
        clusters = plan.clusters.get(planned.name, ClusterChanges())
        if rows or position is not None or clusters:
            work = partial(writer.settle, position=position, settled=settled, clusters=clusters, applied=applied)
            await self._parts.storage.write(scope, work, origin=Origin.DREAM)
        return as_applied(planned, applied)

    async def _undo_rows(self, scope: Scope, lease: Lease, run_id: str, rows: Sequence[JournalRow]) -> Undone:
        undone = Undone()
        for step, batch in enumerate(newest_first(rows, self._options.step_size), start=1):

            def take_back(unit: UnitOfWork, step: int = step, batch: list[JournalRow] = batch) -> None:
                unit.leases.assert_held(lease)
                undo_batch(unit, run_id, step, batch, undone)

            await self._parts.storage.write(scope, take_back, origin=Origin.UNDO)
        return undone

    async def _open(self, scope: Scope, kind: RunKind, target: str, as_of: datetime | None = None) -> RunReport:
        now = self._parts.clock.now()
        report = RunReport(
            run_id=self._parts.ids.new(),
            scope=scope,
            kind=kind,
            outcome=Outcome.UNCHANGED,
            as_of=as_of or now,
            started_at=now,
            target=target,
        )
        await self._parts.storage.write(scope, lambda unit: dream_stores(unit).runs.open(report, {"passes": []}))
        return report

    async def _close(
        self,
        scope: Scope,
        report: RunReport,
        name: str,
        accepted: int,
        refused: Sequence[Refusal],
        *,
        purged: int = 0,
        delivery: Delivery | None = None,
    ) -> RunReport:
        made = PassReport(
            name=name,
            outcome=PassOutcome.APPLIED if accepted else PassOutcome.UNCHANGED,
            accepted=accepted,
            refused=tuple(refused),
            notes={"purged_for_good": purged} if purged else {},
        )
        made = made if delivery is None else delivery.told_in(made)
        finished = report.with_passes((made,), self._parts.clock.now())

        def close(unit: UnitOfWork) -> None:
            dream_stores(unit).runs.close(finished)
            unit.activity.notify()  # passes may have to look again at what was taken back

        await self._parts.storage.write(scope, close)
        return finished

    def _deferred(self, scope: Scope, kind: RunKind, target: str, *, reason: str = Deferral.LEASE_HELD) -> RunReport:
        now = self._parts.clock.now()
        return RunReport(
            run_id="",
            scope=scope,
            kind=kind,
            outcome=Outcome.DEFERRED,
            reason=reason,
            as_of=now,
            started_at=now,
            finished_at=now,
            target=target,
        )


async def _without_barred(documents: Documents, rows: list[JournalRow]) -> tuple[list[Refusal], list[JournalRow]]:
    """Return *rows* without documents whose files cannot be read, and why; where there is no workspace, they wait."""
    if all(row.kind is not RecordKind.DOCUMENT for row in rows):
        return [], rows
    problem = await documents.prepare()
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
    if entry is None:
        raise UnknownRecordError(kind="entry", value=entry_id)
    if entry.is_active:
        raise InvalidContentError(field="entry", problem=f"{entry_id} is active already, there is nothing to restore")
    return entry, replace(entry, status=Status.ACTIVE, status_reason=None, successor=None, status_at=None)
