"""What waits for a person, and what became of it."""

from collections.abc import Mapping, Sequence

from agentcore.domain.memory import MemoryEntry
from dream.domain.report import Outcome, RunReport
from dream.domain.waiting import WaitingProposal
from dream.interfaces.cli.render.changes import change_set_lines
from dream.interfaces.cli.render.line import Line, Lines, Tone, paragraph, table
from dream.interfaces.cli.render.reasons import explained, refusal_lines
from dream.interfaces.cli.render.text import counted, when
from dream.interfaces.cli.session import Session


def proposal_list_lines(session: Session, proposals: Sequence[WaitingProposal]) -> Lines:
    """Yield one line per proposal, the one that waits longest first."""
    if not proposals:
        yield Line(f"Nothing waits for you on {session.scope}.")
        return
    yield from table([_cells(one) for one in proposals], session.screen.width)
    yield Line(f"Look at one:  {session.command('review', 'show', proposals[0].proposal_id)}", Tone.FAINT)


def _cells(proposal: WaitingProposal) -> tuple[str, ...]:
    change_set = proposal.change_set
    what = f"{change_set.operation} of {counted(len(change_set.changes), 'record')}: {change_set.changes[0].reason}"
    return proposal.proposal_id, proposal.pass_name, f"until {when(proposal.expires_at)}", what


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
    decided = sum(item.looked_at for item in report.passes)
    changed = counted(report.changes, "record")
    yield Line(f"{counted(decided, 'proposal')} decided, {changed} changed (run {report.run_id}).", Tone.TITLE)
    for item in report.passes:
        yield from refusal_lines(item.refused, width, indent="  ")
    if report.changes:
        yield Line(f"Take it all back:  {session.command('undo', report.run_id)}")
