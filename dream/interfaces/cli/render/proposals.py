"""What waits for a person, and what became of it."""

from collections.abc import Mapping, Sequence

from agentcore.domain.memory import MemoryEntry
from dream.domain.reasons import Refused
from dream.domain.report import Outcome, RunReport
from dream.domain.waiting import WaitingProposal
from dream.interfaces.cli.render.changes import change_set_lines
from dream.interfaces.cli.render.line import Line, Lines, Tone, paragraph
from dream.interfaces.cli.render.reasons import explained, refusal_lines
from dream.interfaces.cli.render.text import counted, when
from dream.interfaces.cli.session import Session


def proposal_list_lines(session: Session, proposals: Sequence[WaitingProposal]) -> Lines:
    """Yield what each proposal would do and why, the one that waits longest first."""
    if not proposals:
        yield Line(f"Nothing waits for you on {session.scope}.")
        return
    names = max(len(one.pass_name) for one in proposals)
    for one in proposals:
        yield Line(f"{one.proposal_id}  {one.pass_name:<{names}}  until {when(one.expires_at)}")
        yield from paragraph(_purpose(one), session.screen.width, first="  ")
    yield Line(f"Look at one:  {session.command('review', 'show', proposals[0].proposal_id)}", Tone.FAINT)


def _purpose(proposal: WaitingProposal) -> str:
    change_set = proposal.change_set
    return f"{change_set.operation} of {counted(len(change_set.changes), 'record')}: {change_set.changes[0].reason}"


def proposal_lines(session: Session, proposal: WaitingProposal, entries: Mapping[str, MemoryEntry]) -> Lines:
    """Yield what a proposal would change, and how to decide."""
    width = session.screen.width
    title = f"Proposal {proposal.proposal_id} of run {proposal.run_id}; nothing was changed yet"
    yield from paragraph(title, width, rest="  ", tone=Tone.TITLE)
    yield Line(f"Proposed on {when(proposal.proposed_at)}; dropped on {when(proposal.expires_at)} unless you decide.")
    yield Line()
    yield from change_set_lines(proposal.rows, width, entries=entries, whole=True)
    yield Line()
    yield Line(f"Have it made:  {session.command('review', 'approve', proposal.proposal_id)}")
    yield Line(f"Have it never: {session.command('review', 'reject', proposal.proposal_id)}")


def decision_lines(session: Session, report: RunReport) -> Lines:
    """Yield what became of the proposals that were decided."""
    width = session.screen.width
    if report.outcome is Outcome.DEFERRED:
        yield from paragraph(f"Not decided: {explained(report.reason)}.", width, tone=Tone.WARNING)
        return
    if not report.run_id:
        yield Line(f"Nothing waits for you on {session.scope}.")
        return
    refused = [one for item in report.passes for one in item.refused if one.code != Refused.REJECTED]
    rejected = sum(len(item.refused) for item in report.passes) - len(refused)
    decided = sum(item.looked_at for item in report.passes)
    changed = counted(report.changes, "record")
    told = "rejected, no dream proposes the same again" if rejected else f"decided, {changed} changed"
    yield from paragraph(f"{counted(decided, 'proposal')} {told} (run {report.run_id}).", width, tone=Tone.TITLE)
    yield from refusal_lines(refused, width, indent="  ")
    if report.changes:
        yield Line(f"Take it all back:  {session.command('undo', report.run_id)}")
