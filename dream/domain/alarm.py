"""Detects dreams that fail, or do nothing although there is work, again and again."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import takewhile
from typing import Any

from agentcore.domain.instants import to_text
from agentcore.domain.scope import Scope
from dream.domain.reasons import Stop
from dream.domain.report import Outcome, PassOutcome, PassReport, RunReport


class AlarmKind(StrEnum):
    """What is wrong with the newest of the runs."""

    FAILED = "failed"
    """It failed, a pass of it failed, or it was interrupted and never finished."""
    NO_OP = "no_op"
    """It changed nothing, although work was waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """Runs in a row that came to nothing.

    Args:
        scope: Whose dreams.
        kind: What is wrong with the newest of them.
        runs: How many there are.
        since: When the first of them began.
        run_id: The newest of them.
        passes: The passes that failed in it, or whose work is still waiting.
    """

    scope: Scope
    kind: AlarmKind
    runs: int
    since: datetime
    run_id: str
    passes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """One sentence for a person; it holds nothing of the memory."""
        dreams = "The last dream" if self.runs == 1 else f"The last {self.runs:,} dreams"
        since = f"since {to_text(self.since)[:16].replace('T', ' ')} UTC"
        names = ", ".join(self.passes) or "the whole run"
        problem = f"failed (the newest in {names})"
        if self.kind is AlarmKind.NO_OP:
            problem = f"came to nothing (the newest changed nothing, with work waiting for {names})"
        return f"{dreams} on {self.scope} {problem}, {since}: `dream show {self.run_id}` says why."

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "kind": self.kind.value,
            "runs": self.runs,
            "since": to_text(self.since),
            "run_id": self.run_id,
            "passes": list(self.passes),
            "sentence": self.sentence,
        }


def find_alarm(newest_first: Iterable[RunReport], after: int) -> Alarm | None:
    """Return the alarm that dreams give rise to; None if fewer than *after* in a row came to nothing.

    Args:
        newest_first: Reports of finished dreams; read only as far as they came to nothing.
        after: How many it takes, 1 or more.
    """
    row = list(takewhile(lambda report: _trouble(report) is not None, newest_first))
    if len(row) < after:
        return None
    newest = row[0]
    kind, passes = _trouble(newest) or (AlarmKind.FAILED, ())
    return Alarm(
        scope=newest.scope,
        kind=kind,
        runs=len(row),
        since=row[-1].started_at,
        run_id=newest.run_id,
        passes=passes,
    )


def _trouble(report: RunReport) -> tuple[AlarmKind, tuple[str, ...]] | None:
    """Return what is wrong with a run, and with which of its passes."""
    failed = tuple(item.name for item in report.passes if item.outcome is PassOutcome.FAILED)
    if failed or report.outcome is Outcome.FAILED:
        return AlarmKind.FAILED, failed
    stopped = any(item.reason in set(Stop) for item in report.passes)
    if report.outcome is Outcome.PARTIAL and not stopped:
        return AlarmKind.FAILED, ()  # it was interrupted, and nobody went on with it
    waiting = tuple(item.name for item in report.passes if _is_stuck(item))
    if waiting and not report.changes and not report.purged:
        return AlarmKind.NO_OP, waiting
    return None


def _is_stuck(item: PassReport) -> bool:
    """Tell whether a pass had work and got nowhere with it.

    Looking at entries and finding nothing to change is getting on, as long as there is less to look at afterwards.
    """
    if item.outcome is PassOutcome.SKIPPED or item.accepted or item.proposed or item.purged:
        return False
    all_was_refused = bool(item.calls and item.refused)
    nothing_was_looked_at = bool(item.backlog and not item.looked_at)
    return item.reason in set(Stop) or all_was_refused or nothing_was_looked_at
