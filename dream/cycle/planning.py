"""What a plan is made of: the copy it runs on, freed of what is about the original, and what that run did."""

from datetime import datetime

from agentcore.stores.protocols import ReadView, UnitOfWork
from dream.cycle.lease import DREAM_LEASE
from dream.cycle.runner import PAUSED_SETTING
from dream.domain.plan import Plan
from dream.domain.report import RunReport
from dream.stores import bookkeeping


def clear_the_way(unit: UnitOfWork) -> None:
    """Free the copy of leases, interrupted runs and the pause, which are about the original."""
    unit.leases.revoke(DREAM_LEASE)
    unit.settings.put(PAUSED_SETTING, None)
    bookkeeping(unit).runs.abandon()


def planned(view: ReadView, plan_id: str, created_at: datetime, report: RunReport) -> Plan:
    """Return the plan that a run on a copy amounts to."""
    books = bookkeeping(view)
    steps = books.runs.steps(report.run_id)
    names = sorted({step.pass_name for step in steps if step.moved_cursor})
    return Plan(
        plan_id=plan_id,
        created_at=created_at,
        report=report,
        rows=tuple(books.journal.of_run(report.run_id)),
        cursors={name: books.cursors.position(name) or 0 for name in names},
        settled={
            name: tuple(record for step in steps if step.pass_name == name for record in step.reopened_consumed)
            for name in names
        },
    )
