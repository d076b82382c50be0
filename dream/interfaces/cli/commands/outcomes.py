"""Runs until nothing is left where that is wished, prints the outcome of a run and chooses the exit code."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from dream.domain.report import Outcome, PassOutcome, RunReport
from dream.interfaces.cli.exit_codes import Exit
from dream.interfaces.cli.render.text import Line, counted
from dream.interfaces.cli.session import CommandSession


def told(
    session: CommandSession, report: RunReport, document: Callable[[], object], lines: Callable[[], Iterable[Line]]
) -> Exit:
    """Print what a run did, warn on stderr of what went wrong, and return the exit code."""
    session.screen.show(document, lines)
    failed = [item.name for item in report.passes if item.outcome is PassOutcome.FAILED]
    names = f" in {', '.join(failed)}" if failed else f" ({report.reason})" if report.reason else ""
    if report.outcome is Outcome.FAILED:
        session.screen.warn(f"The run failed{names}: the report above says why, nothing of these passes was written.")
        return Exit.FAILED
    if report.outcome is Outcome.PARTIAL:
        session.screen.warn(f"The run is partial, it failed{names}: the rest was done, run again to retry.")
    return Exit.OK


async def repeated(
    session: CommandSession, run: Callable[[], Awaitable[RunReport]], *, until_done: bool
) -> list[RunReport]:
    """Run once, or until nothing is left or a run gets on with nothing any more; tell of each on stderr.

    Args:
        session: Where that is told.
        run: Runs once.
        until_done: Whether what is left is taken up again at once.
    """
    reports = [await run()]
    while until_done and _goes_on(reports):
        left, changed = counted(_backlog(reports[-1]), "entry", "entries"), counted(reports[-1].changes, "record")
        session.screen.tell(Line(f"Run {reports[-1].run_id}: {changed} changed, {left} left"))
        reports.append(await run())
    return reports


def _goes_on(reports: Sequence[RunReport]) -> bool:
    left = _backlog(reports[-1])
    if not left or reports[-1].outcome is not Outcome.COMPLETED:
        return False
    return len(reports) < 2 or left < _backlog(reports[-2])


def _backlog(report: RunReport) -> int:
    return sum(item.backlog for item in report.passes)
