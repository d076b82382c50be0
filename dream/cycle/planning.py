"""Planning: the real runner on a copy of the database."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from agentcore.domain.scope import Scope
from agentcore.hosting.parts import HostParts
from agentcore.stores.storage import ReadView, UnitOfWork
from dream.cycle.lease import DREAM_LEASE
from dream.cycle.running.runner import PAUSED_SETTING, Runner
from dream.domain.cluster import ClusterChanges, SettledCluster
from dream.domain.declaration import Reads
from dream.domain.plan import Plan
from dream.domain.report import RunReport
from dream.options import DreamOptions
from dream.stores import dream_stores


async def make_plan(
    parts: HostParts,
    options: DreamOptions,
    scope: Scope,
    *,
    passes: Collection[str] | None,
    now: datetime | None,
) -> Plan:
    """Run on a copy of the database, and keep what that changed there as a plan.

    Args:
        parts: What the host offers.
        options: The host's options; what would only be proposed is applied on the copy, since a plan shows it.
        scope: Whose memory.
        passes: Only these; all enabled ones by default.
        now: The instant to judge by; the clock's by default.

    Raises:
        UnknownPassError: a pass was named that does not exist.
    """
    created_at = parts.clock.now()
    async with parts.storage.snapshot() as copy:
        recall = parts.recall.on(copy)
        await recall.start()
        try:
            reading = None if parts.workspaces is None else parts.workspaces.read_only()
            trial = replace(parts, storage=copy, recall=recall, workspaces=reading)
            await copy.write(scope, _clear_the_way)
            runner = Runner(trial, options.applying())
            before = await copy.read(scope, lambda view: _clusters(view, runner.pass_names))
            report = await runner.run(scope, passes=passes, now=now)
            plan = await copy.read(scope, lambda view: _planned(view, parts.ids.new(), created_at, report, before))
            taken = await copy.read(scope, lambda view: dream_stores(view).calls.taken(report.run_id))
        finally:
            await recall.stop()

    def keep(unit: UnitOfWork) -> None:
        books = dream_stores(unit)
        books.plans.save(plan)
        books.calls.count(taken)

    await parts.storage.write(scope, keep)
    return plan


def _clear_the_way(unit: UnitOfWork) -> None:
    """Free the copy of leases, interrupted runs and the pause, which are about the original."""
    unit.leases.revoke(DREAM_LEASE)
    unit.settings.put(PAUSED_SETTING, None)
    dream_stores(unit).runs.abandon()


def _clusters(view: ReadView, names: Collection[str]) -> dict[str, list[SettledCluster]]:
    return {name: dream_stores(view).clusters.all(name) for name in names}


def _planned(
    view: ReadView,
    plan_id: str,
    created_at: datetime,
    report: RunReport,
    clusters_before: Mapping[str, Sequence[SettledCluster]],
) -> Plan:
    books = dream_stores(view)
    clusters = {
        name: ClusterChanges.between(clusters_before[name], found)
        for name, found in _clusters(view, clusters_before.keys()).items()
    }
    steps = books.runs.steps(report.run_id)
    names = sorted({step.pass_name for step in steps if step.moved_cursor})
    return Plan(
        plan_id=plan_id,
        created_at=created_at,
        report=report,
        rows=tuple(books.journal.of_run(report.run_id)),
        cursors={name: books.cursors.position(name) or 0 for name in names},
        reads={name: books.cursors.reads(name) or Reads.ENTRIES for name in names},
        settled={
            name: tuple(record for step in steps if step.pass_name == name for record in step.reopened_consumed)
            for name in names
        },
        clusters={name: changes for name, changes in clusters.items() if changes},
    )
