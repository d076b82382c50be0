"""Plans and diffs: what would change, what did."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from agentcore.domain.memory import MemoryEntry
from dream.domain.journal import JournalRow
from dream.domain.plan import Plan
from dream.domain.report import Outcome, RunReport
from dream.interfaces.cli.render.changes import change_set_lines
from dream.interfaces.cli.render.clusters import cluster_lines
from dream.interfaces.cli.render.line import Line, Lines, Tone, paragraph
from dream.interfaces.cli.render.questions import question_lines
from dream.interfaces.cli.render.reasons import explained
from dream.interfaces.cli.render.reports import passes_lines
from dream.interfaces.cli.render.text import counted, when
from dream.interfaces.cli.session import Session


def plan_lines(session: Session, plan: Plan, entries: Mapping[str, MemoryEntry]) -> Lines:
    """Yield what a run would change, pass by pass, and how to apply exactly that."""
    width, report = session.screen.width, plan.report
    if report.outcome is Outcome.DEFERRED:
        yield from paragraph(f"No plan: {explained(report.reason)}.", width, tone=Tone.WARNING)
        return
    title = f"Plan {plan.plan_id} for {report.scope}: {_amount(plan.rows)}; nothing was changed yet"
    yield from paragraph(title, width, rest="  ", tone=Tone.TITLE)
    yield Line(f"As of {when(report.as_of)}.")
    yield Line()
    yield from change_set_lines(plan.rows, width, entries=entries)
    if plan.rows:
        yield Line()
    yield from passes_lines(report, width, entries)
    changed = {row.record_id: row.record_after for row in plan.rows}
    after = {**entries, **{name: one for name, one in changed.items() if isinstance(one, MemoryEntry)}}
    yield from cluster_lines(report, after, width, more="all of them stand in the plan's --json")
    yield from question_lines(report, entries, width, more="all of them stand in the plan's --json")
    yield Line()
    yield Line(f"Apply exactly this:  {session.command('run', '--plan', plan.plan_id)}")


def diff_lines(
    session: Session, report: RunReport, rows: Sequence[JournalRow], entries: Mapping[str, MemoryEntry]
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
    sets = sum(1 for _ in groupby(rows, key=lambda row: row.number))
    return f"{counted(sets, 'change')} of {counted(len(rows), 'record')}" if rows else "no changes"
