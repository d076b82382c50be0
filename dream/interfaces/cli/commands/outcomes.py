"""Prints the outcome of a run and chooses the exit code."""

from collections.abc import Callable, Iterable

from dream.domain.report import Outcome, PassOutcome, RunReport
from dream.interfaces.cli.exit_codes import Exit
from dream.interfaces.cli.render.text import Line
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
