"""Reviews proposals: makes or drops them as a person decides."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

from agentcore.domain.scope import Scope
from agentcore.hosting.parts import HostParts
from agentcore.stores.storage import Origin, ReadView, UnitOfWork
from agentcore.stores.values import Lease
from dream.cycle.documents.delivery import Delivery, Documents
from dream.cycle.lease import dream_lease
from dream.cycle.running.admission import promotions_of
from dream.cycle.running.runner import PAUSED, PAUSED_SETTING
from dream.cycle.running.step_writer import StepWriter, apply_changes
from dream.domain.proposal import Refusal
from dream.domain.reasons import Deferral, Refused
from dream.domain.report import Outcome, PassOutcome, PassReport, RunKind, RunReport
from dream.domain.step import StepReport
from dream.domain.waiting import WaitingProposal
from dream.options import DreamOptions
from dream.stores import DreamStores, dream_stores
from dream.stores.runs import StepRow


@dataclass(slots=True)
class _Decided:
    """What became of the proposals of one pass, summed over transactions.

    Args:
        accepted: Changes made.
        looked_at: Proposals looked at.
        refused: Proposals not applied, and why.
    """

    accepted: int = 0
    looked_at: int = 0
    refused: list[Refusal] = field(default_factory=list[Refusal])

    def report(self, name: str) -> PassReport:
        return PassReport(
            name=name,
            outcome=PassOutcome.APPLIED if self.accepted else PassOutcome.UNCHANGED,
            accepted=self.accepted,
            looked_at=self.looked_at,
            refused=tuple(self.refused),
        )


class ReviewService:
    """Carries out what people decide about proposals; lives as long as the host.

    Args:
        parts: What the host offers.
        options: The host's options.
    """

    def __init__(self, parts: HostParts, options: DreamOptions) -> None:
        self._parts = parts
        self._options = options

    async def approve(self, scope: Scope, ids: Collection[str]) -> RunReport:
        """Make the changes of these proposals, as far as nothing speaks against them any more.

        Raises:
            UnknownProposalError: one of *ids* names no proposal that waits.
        """
        return await self._decide(scope, ids, is_approved=True)

    async def reject(self, scope: Scope, ids: Collection[str]) -> RunReport:
        """Drop these proposals, and have no dream propose the same again.

        Raises:
            UnknownProposalError: one of *ids* names no proposal that waits.
        """
        return await self._decide(scope, ids, is_approved=False)

    async def _decide(self, scope: Scope, ids: Collection[str], *, is_approved: bool) -> RunReport:
        def look(view: ReadView) -> tuple[list[WaitingProposal], bool]:
            proposals = dream_stores(view).proposals
            found = proposals.get_many([proposals.resolve(one) for one in ids])
            return found, bool(view.settings.get(PAUSED_SETTING))

        found, paused = await self._parts.storage.read(scope, look)
        report = self._opening(scope, found)
        if not found:
            return replace(report, run_id="", finished_at=report.started_at)
        if is_approved and paused:
            return replace(report, run_id="", outcome=Outcome.DEFERRED, reason=PAUSED, finished_at=report.started_at)
        async with dream_lease(self._parts, scope, self._options.lease) as lease:
            if lease is None:
                held = Deferral.LEASE_HELD
                return replace(report, run_id="", outcome=Outcome.DEFERRED, reason=held, finished_at=report.started_at)
            await self._parts.storage.write(scope, lambda unit: dream_stores(unit).runs.open(report, {"passes": []}))
            documents = Documents(self._parts, scope)
            barred = self._parts.workspaces is not None and await documents.prepare() is not None
            decided: dict[str, _Decided] = {}
            for name, batch in _batches(found, self._options.step_size):
                mine = decided.setdefault(name, _Decided())
                step = _Step(self._writer(report, name, lease), mine)
                work = partial(step.approve if is_approved else step.reject, batch=batch)
                await self._parts.storage.write(scope, work, origin=Origin.DREAM)
            delivery = Delivery() if barred else await documents.deliver()
            passes = tuple(delivery.told_in(one.report(name)) for name, one in decided.items())
            finished = report.with_passes(passes, self._parts.clock.now())
            await self._parts.storage.write(scope, partial(_close, report=finished))
            return finished

    def _writer(self, report: RunReport, pass_name: str, lease: Lease) -> StepWriter:
        return StepWriter(
            run_id=report.run_id,
            pass_name=pass_name,
            as_of=report.as_of,
            lease=lease,
            options=self._options,
            asks_model=False,
            new_id=self._parts.ids.new,
        )

    def _opening(self, scope: Scope, found: Sequence[WaitingProposal]) -> RunReport:
        now = self._parts.clock.now()
        return RunReport(
            run_id=self._parts.ids.new(),
            scope=scope,
            kind=RunKind.REVIEW,
            outcome=Outcome.UNCHANGED,
            as_of=now,
            started_at=now,
            target=found[0].proposal_id if len(found) == 1 else None,
        )


@dataclass(frozen=True, slots=True)
class _Step:
    """One transaction of a review: proposals of one pass.

    Args:
        writer: Judges what the pass proposed.
        decided: What became of the pass's proposals.
    """

    writer: StepWriter
    decided: _Decided

    def approve(self, unit: UnitOfWork, batch: Sequence[WaitingProposal]) -> None:
        """Make what nothing speaks against; what is only out of room for today goes on waiting."""
        books, waiting, refused = self._open(unit, batch)
        timely = [one for one in waiting if one.expires_at > unit.now]
        late = [one for one in waiting if one.expires_at <= unit.now]
        refused += [Refusal(Refused.EXPIRED, one.proposal_id) for one in late]
        judged = self.writer.judge(unit, books, [one.change_set for one in timely], is_approved=True)
        changes = [change for change_set in judged.accepted for change in change_set.changes]
        apply_changes(unit, changes)
        number = books.runs.next_step(self.writer.run_id)
        books.journal.write(self.writer.run_id, number, self.writer.pass_name, judged.accepted)
        books.outbox.post(self.writer.run_id, self.writer.pass_name, changes)
        mine = {"run_id": self.writer.run_id, "promoted_at": self.writer.as_of}
        books.promotions.record([replace(one, **mine) for one in promotions_of(judged.accepted)])
        postponed = {id(change_set) for change_set in judged.deferred}
        settled = [one.proposal_id for one in waiting if id(one.change_set) not in postponed]
        books.proposals.remove(settled)
        refused += judged.refused
        accepted = sum(len(change_set.changes) for change_set in judged.accepted)
        told = StepReport(accepted=accepted, retired=judged.retired)
        moved = frozenset(judged.stale)
        reopened = [one for waits in timely for one in _reopened(books, waits, moved)]
        self._close(books, number, len(batch), refused, told, reopened=reopened)

    def reject(self, unit: UnitOfWork, batch: Sequence[WaitingProposal]) -> None:
        """Drop them, and remember what a person did not want."""
        books, waiting, refused = self._open(unit, batch)
        marks = {mark for one in waiting for mark in one.change_set.fingerprints.values()}
        books.decisions.decline(marks, run_id=self.writer.run_id)
        books.proposals.reject([one.proposal_id for one in waiting])
        refused += [Refusal(Refused.REJECTED, one.proposal_id) for one in waiting]
        self._close(books, books.runs.next_step(self.writer.run_id), len(batch), refused, StepReport(), reopened=())

    def _open(
        self, unit: UnitOfWork, batch: Sequence[WaitingProposal]
    ) -> tuple[DreamStores, list[WaitingProposal], list[Refusal]]:
        """Return what still waits of the batch, and a refusal for each that somebody decided since it was listed."""
        unit.leases.assert_held(self.writer.lease)
        books = dream_stores(unit)
        waiting = books.proposals.get_many([one.proposal_id for one in batch])
        left = {one.proposal_id for one in waiting}
        return books, waiting, [Refusal(Refused.DECIDED, one) for one in _ids(batch) if one not in left]

    def _close(
        self,
        books: DreamStores,
        number: int,
        looked_at: int,
        refused: Sequence[Refusal],
        told: StepReport,
        *,
        reopened: Sequence[str],
    ) -> None:
        """Write the step's row."""
        self.decided.accepted += told.accepted
        self.decided.looked_at += looked_at
        self.decided.refused += refused
        books.runs.add_step(
            self.writer.run_id,
            StepRow(
                number=number,
                pass_name=self.writer.pass_name,
                batch=[],
                cursor_before=None,
                cursor_after=None,
                reopened_consumed=[],
                report=replace(told, reopened=tuple(reopened)),
                closing=True,
            ),
        )


def _reopened(books: DreamStores, waits: WaitingProposal, moved: frozenset[str]) -> list[str]:
    """Have the pass look again at what moved under its proposal; return what it had not to look at before."""
    reader, again = waits.to_look_at_again(moved)
    return books.cursors.reopen(reader, again)


def _ids(batch: Sequence[WaitingProposal]) -> list[str]:
    return [one.proposal_id for one in batch]


def _batches(found: Sequence[WaitingProposal], size: int) -> list[tuple[str, list[WaitingProposal]]]:
    """Cut proposals into transactions of about *size* changes, pass by pass in the order they were proposed."""
    batches: list[tuple[str, list[WaitingProposal]]] = []
    for name, group in groupby(found, key=lambda one: one.pass_name):
        room = 0
        for one in group:
            weight = len(one.change_set.changes)
            if weight > room:
                batches.append((name, []))
                room = size
            batches[-1][1].append(one)
            room -= weight
    return batches


def _close(unit: UnitOfWork, report: RunReport) -> None:
    dream_stores(unit).runs.close(report)
    unit.activity.notify()  # what waited for the decision may be work for a dream now
