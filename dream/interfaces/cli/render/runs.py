"""The list of runs."""

from collections.abc import Sequence

from dream.domain.report import Outcome, RunReport
from dream.interfaces.cli.render.line import Line, Lines, Tone, table
from dream.interfaces.cli.render.text import counted, when
from dream.interfaces.cli.session import Session


def run_list_lines(session: Session, reports: Sequence[RunReport]) -> Lines:
    """Yield one line per run, the newest first."""
    if not reports:
        yield Line(f"No dream has run on {session.scope} yet: {session.command('run')}")
        return
    yield from table([_cells(report) for report in reports], session.screen.width)
    yield Line(f"Look at one: {session.command('show', reports[0].run_id)}", Tone.FAINT)


def _cells(report: RunReport) -> tuple[str, ...]:
    outcome = report.outcome.value if report.finished_at else "interrupted"
    refused = sum(len(item.refused) for item in report.passes)
    parts = [f"{counted(report.changes, 'record')} changed"]
    proposed = sum(item.proposed for item in report.passes)
    if proposed:
        parts.append(f"{proposed:,} proposed")
    if report.purged:
        parts.append(f"{report.purged:,} purged")
    if refused:
        parts.append(f"{refused:,} refused")
    if report.target:
        parts.append(f"of {report.target}")
    if report.reason and report.outcome in {Outcome.PARTIAL, Outcome.FAILED} and report.finished_at:
        parts.append(report.reason)
    return report.run_id, when(report.started_at), report.kind.value, outcome, ", ".join(parts)
