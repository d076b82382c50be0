"""Shows plans, and change sets that wait for a person."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from agentcore.domain.memory import MemoryEntry
from dream.domain.change import ASK, JournalRow
from dream.domain.plan import Plan
from dream.domain.reasons import Refused
from dream.domain.report import Outcome, RunReport
from dream.domain.waiting import WaitingProposal
from dream.interfaces.cli.render.changes import change_set_lines
from dream.interfaces.cli.render.clusters import cluster_lines
from dream.interfaces.cli.render.reasons import explained, refusal_lines
from dream.interfaces.cli.render.reports import passes_lines, question_lines
from dream.interfaces.cli.render.text import Line, Lines, Tone, clip, counted, paragraph, when
from dream.interfaces.cli.session import CommandSession

_SHOWN_TEXT = 120


def plan_lines(session: CommandSession, plan: Plan, entries: Mapping[str, MemoryEntry]) -> Lines:
    """Yield what a run would change, pass by pass, and how to apply exactly that."""
    width, report = session.screen.width, plan.report
    if report.outcome is Outcome.DEFERRED:
        yield from paragraph(f"No plan: {explained(report.reason)}.", width, tone=Tone.WARNING)
        return
    title = f"Plan {plan.plan_id} for {report.scope}: {_amount(plan.rows)}; nothing was changed yet"
    yield from paragraph(title, width, rest="  ", tone=Tone.TITLE)
    yield Line(f"As of {when(report.as_of)}.")
    yield Line()
    # What it would ask stands below, with the texts.
    made = [row for row in plan.rows if row.operation != ASK]
    yield from change_set_lines(made, width, entries=entries)
    if made:
        yield Line()
    yield from passes_lines(report, width, entries)
    changed = {row.record_id: row.record_after for row in plan.rows}
    after = {**entries, **{name: one for name, one in changed.items() if isinstance(one, MemoryEntry)}}
    yield from cluster_lines(report, after, width, more="all of them stand in the plan's --json")
    yield from question_lines(report, entries, width, more="all of them stand in the plan's --json")
    yield Line()
    yield Line(f"Apply exactly this:  {session.command('run', '--plan', plan.plan_id)}")


def diff_lines(
    session: CommandSession, report: RunReport, rows: Sequence[JournalRow], entries: Mapping[str, MemoryEntry]
) -> Lines:
    """Yield what a run changed, and how to take one change of it back."""
    width = session.screen.width
    title = f"Run {report.run_id} ({report.kind.value}) on {report.scope}: {_amount(rows)}"
    yield from paragraph(title, width, rest="  ", tone=Tone.TITLE)
    yield from change_set_lines(rows, width, entries=entries)
    if rows:
        yield Line()
        yield Line(f"Take one back:  {session.command('undo', report.run_id, '--change', str(rows[0].number))}")


def _amount(rows: Sequence[JournalRow]) -> str:
    made = [row for row in rows if row.operation != ASK]
    sets = sum(1 for _ in groupby(made, key=lambda row: row.number))
    amount = f"{counted(sets, 'change')} of {counted(len(made), 'record')}" if made else "no changes"
    asked = len(rows) - len(made)
    return f"{amount}, {counted(asked, 'question')}" if asked else amount


def proposal_list_lines(session: CommandSession, proposals: Sequence[WaitingProposal]) -> Lines:
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
    told = f"{change_set.operation} of {counted(len(change_set.changes), 'record')}: {change_set.changes[0].reason}"
    text = getattr(change_set.changes[0].record, "content", None)
    return f'{told}; "{clip(text, _SHOWN_TEXT)}"' if text else told


def proposal_lines(session: CommandSession, proposal: WaitingProposal, entries: Mapping[str, MemoryEntry]) -> Lines:
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


def decision_lines(session: CommandSession, report: RunReport) -> Lines:
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
