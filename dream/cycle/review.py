"""Reviews proposals: makes or drops them as a person decides."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

from agentcore.domain.scope import Scope
from agentcore.hosting.services import HostServices
from agentcore.stores.storage import ReadView, UnitOfWork
from dream.cycle.approvals import change_key
from dream.cycle.running.admission import Admission
from dream.cycle.running.run_envelope import RunEnvelope, asked_for, carry_out, deferred
from dream.cycle.running.runner import PAUSED
from dream.cycle.running.step_writer import StepWriter
from dream.domain.proposal import Proposal, Refusal
from dream.domain.reasons import Refused
from dream.domain.report import PassOutcome, PassReport, RunKind, RunReport
from dream.domain.step import StepDraft, StepReport
from dream.domain.storage_names import PAUSED_SETTING
from dream.domain.waiting import WaitingProposal
from dream.options import DreamOptions
from dream.stores import dream_stores


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

    def add(self, step: StepReport, looked_at: int) -> None:
        self.accepted += step.accepted
        self.looked_at += looked_at
        self.refused += step.refused

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

    def __init__(self, parts: HostServices, options: DreamOptions) -> None:
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
        target = found[0].proposal_id if len(found) == 1 else None
        opening = replace(asked_for(self._parts, scope, RunKind.REVIEW, target), run_id=self._parts.ids.new())
        if not found:
            return replace(opening, run_id="", finished_at=opening.started_at)
        if is_approved and paused:
            return deferred(opening, PAUSED)

        async def decide(run: RunEnvelope) -> None:
            decided: dict[str, _Decided] = {}
            for name, batch in _batches(found, self._options.step_size):
                writer = StepWriter.of(self._parts, run, self._options.applying(), name)
                step = await run.write(partial(_approve if is_approved else _reject, writer=writer, batch=batch))
                decided.setdefault(name, _Decided()).add(step, len(batch))
            run.passes += [one.report(name) for name, one in decided.items()]

        return await carry_out(self._parts, self._options, opening, decide)


def _approve(unit: UnitOfWork, writer: StepWriter, batch: Sequence[WaitingProposal]) -> StepReport:
    """Make what nothing speaks against; what is only out of room for today goes on waiting."""
    books = dream_stores(unit)
    found, refused = _still_waiting(unit, batch)
    waiting = [replace(one, change_set=one.approved) for one in found]
    timely = [one for one in waiting if one.expires_at > unit.now]
    refused += [Refusal(Refused.EXPIRED, one.proposal_id) for one in waiting if one.expires_at <= unit.now]
    change_sets = [one.change_set for one in timely]
    judged = writer.judge(unit, change_sets)
    postponed = {id(change_set) for _, change_set in judged.deferred}
    moved = frozenset(judged.stale)
    reopened = [one for waits in timely for one in books.cursors.reopen(*waits.to_look_at_again(moved))]
    # What has no room goes on waiting where it is, and each proposal has its own reader look again at what moved.
    judged.deferred, judged.stale = [], []
    made = {change_key(one) for one in judged.accepted}
    approved = [one.proposal_id for one in timely if change_key(one.change_set) in made]
    judged.accepted = [
        replace(one, promotions=tuple(replace(told, promoted_at=writer.as_of) for told in one.promotions))
        for one in judged.accepted
    ]
    draft = StepDraft(
        proposal=Proposal(change_sets=tuple(change_sets), refused=tuple(refused)),
        batch=[],
        report=StepReport(reopened=tuple(reopened), proposals=tuple(approved)),
    )
    step = writer.write(unit, draft, judged)
    books.proposals.approve(approved)
    gone = [one.proposal_id for one in waiting if id(one.change_set) not in postponed]
    books.proposals.remove(set(gone).difference(approved))
    return step.report


def _reject(unit: UnitOfWork, writer: StepWriter, batch: Sequence[WaitingProposal]) -> StepReport:
    """Drop them, and remember what a person did not want."""
    books = dream_stores(unit)
    waiting, refused = _still_waiting(unit, batch)
    marks = {mark for one in waiting for mark in one.change_set.fingerprints.values()}
    books.decisions.decline(marks, run_id=writer.run_id)
    books.proposals.reject([one.proposal_id for one in waiting])
    refused += [Refusal(Refused.REJECTED, one.proposal_id) for one in waiting]
    return writer.write(unit, StepDraft(proposal=Proposal(refused=tuple(refused)), batch=[]), Admission()).report


def _still_waiting(unit: UnitOfWork, batch: Sequence[WaitingProposal]) -> tuple[list[WaitingProposal], list[Refusal]]:
    """Return what still waits of the batch, and a refusal for each that somebody decided since it was listed."""
    ids = [one.proposal_id for one in batch]
    waiting = dream_stores(unit).proposals.get_many(ids)
    left = {one.proposal_id for one in waiting}
    return waiting, [Refusal(Refused.DECIDED, one) for one in ids if one not in left]


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
