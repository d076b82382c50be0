"""How the report of a run begins, and what it says of one that never did, or never ended."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime

from agentcore.domain.scope import Scope
from dream.domain.report import Outcome, PassOutcome, PassReport, RunReport
from dream.stores.runs import OpenRun, StepRow


def opening(scope: Scope, run: OpenRun, *, resumed: bool) -> RunReport:
    """Return the report of a run that begins, or goes on."""
    return RunReport(
        run_id=run.run_id,
        scope=scope,
        outcome=Outcome.UNCHANGED,
        as_of=run.as_of,
        started_at=run.started_at,
        resumed=resumed,
        directives=run.directives.hashes,
    )


def deferred(scope: Scope, reason: str, now: datetime) -> RunReport:
    """Return the report of a run that did not start."""
    return RunReport(
        run_id="",
        scope=scope,
        outcome=Outcome.DEFERRED,
        reason=reason,
        as_of=now,
        started_at=now,
        finished_at=now,
    )


def abandoned(scope: Scope, run: OpenRun, steps: Sequence[StepRow], now: datetime) -> RunReport:
    """Return the report of an interrupted run that is too old to go on with."""
    passes = tuple(
        PassReport(
            name=name,
            outcome=PassOutcome.APPLIED if any(_changed(step) for step in mine) else PassOutcome.UNCHANGED,
            reason="interrupted" if not mine or not mine[-1].closing else None,
            accepted=sum(step.report["accepted"] for step in mine),
            purged=sum(step.report["purged"] for step in mine),
            looked_at=sum(step.report["looked_at"] for step in mine),
        )
        for name in run.passes
        for mine in [[step for step in steps if step.pass_name == name]]
    )
    report = opening(scope, run, resumed=False).with_passes(passes, now)
    return dataclasses.replace(report, outcome=Outcome.PARTIAL, reason="interrupted, and too old to resume")


def _changed(step: StepRow) -> bool:
    return bool(step.report["accepted"] or step.report["purged"])
