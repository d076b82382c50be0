"""Makes plans by the real runner on a copy of the database, and applies them step by step as a run would."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from agentcore.domain.scope import Scope
from agentcore.hosting.services import HostServices
from agentcore.llm.chat import ChatClient, ChatRequest, Completion
from agentcore.stores.storage import ReadView, Storage, UnitOfWork
from dream.cycle.running.budget import estimated
from dream.cycle.running.run_envelope import RunEnvelope, asked_for, carry_out, deferred
from dream.cycle.running.runner import PAUSED, Runner
from dream.cycle.running.step_writer import StepWriter
from dream.domain.plan import Plan
from dream.domain.reasons import Skip
from dream.domain.report import PassOutcome, PassReport, RunKind, RunReport
from dream.domain.step import StepDraft, StepReport
from dream.domain.storage_names import DREAM_LEASE, PAUSED_SETTING
from dream.errors import OutdatedPlanError, UnknownPlanError
from dream.options import DreamOptions
from dream.passes import DreamPass, ModelPass, arranged
from dream.stores import dream_stores
from dream.stores.calls import CallKey, Forgets


class PlanService:
    """Makes plans and applies them; lives as long as the host.

    Args:
        parts: What the host offers.
        options: The host's options.
    """

    def __init__(self, parts: HostServices, options: DreamOptions) -> None:
        self._parts = parts
        self._options = options

    async def make(self, scope: Scope, *, passes: Collection[str] | None, now: datetime | None) -> Plan:
        """Run on a copy of the scope, and keep the steps of that run as a plan.

        What would only be proposed is applied on the copy, since a plan shows it.

        Args:
            scope: Whose memory.
            passes: Only these; all enabled ones by default.
            now: The instant to judge by; the clock's by default.

        Raises:
            UnknownPassError: a pass was named that does not exist.
        """
        parts, created_at, plan_id = self._parts, self._parts.clock.now(), self._parts.ids.new()
        chat = None if parts.chat is None else _ChargedClient(parts.chat, parts.storage, scope, plan_id)
        steps: list[tuple[str, StepDraft]] = []
        async with parts.storage.snapshot(scope) as copy:
            recall = parts.recall.on(copy)
            await recall.start()
            try:
                reading = None if parts.workspaces is None else parts.workspaces.read_only()
                trial = replace(parts, chat=chat, storage=copy, recall=recall, workspaces=reading)
                forgets = await copy.write(scope, _clear_the_way)
                runner = Runner(trial, self._options.applying())
                report = await runner.run(
                    scope, passes=passes, now=now, on_step=lambda name, draft: steps.append((name, draft))
                )
                rows = await copy.read(scope, lambda view: dream_stores(view).journal.of_run(report.run_id))
                taken = await copy.read(scope, lambda view: dream_stores(view).calls.taken(report.run_id))
            finally:
                await recall.stop()
        plan = Plan(plan_id=plan_id, created_at=created_at, report=report, rows=tuple(rows), steps=tuple(steps))

        def keep(unit: UnitOfWork) -> None:
            books = dream_stores(unit)
            # A `forget` meanwhile would have dropped the plan, had it been here.
            if books.calls.forgets() == forgets:
                books.plans.save(plan)
            books.calls.settle_all(plan_id)
            books.calls.count(taken)

        await parts.storage.write(scope, keep)
        return plan

    async def apply(
        self, scope: Scope, plan_id: str, *, on_begin: Callable[[UnitOfWork, str], None] | None = None
    ) -> RunReport:
        """Take exactly the steps of a plan; what moved since it was made is refused as stale.

        Args:
            scope: Whose memory.
            plan_id: Its id.
            on_begin: Called in the transaction that opens the run, with its id.

        Raises:
            UnknownPlanError: no such plan in the scope, or it was applied already.
            OutdatedPlanError: an earlier version made it, or a pass of it is gone.
        """
        parts, options = self._parts, self._options

        def look(view: ReadView) -> tuple[Plan, bool]:
            books = dream_stores(view)
            try:
                return books.plans.get(plan_id), bool(view.settings.get(PAUSED_SETTING))
            except UnknownPlanError:
                raise UnknownPlanError(value=plan_id, applied_as=books.runs.applied(plan_id)) from None

        plan, paused = await parts.storage.read(scope, look)
        opening = asked_for(parts, scope, RunKind.PLAN, plan.plan_id, as_of=plan.report.as_of)
        if paused:
            return deferred(opening, PAUSED)
        passes = await asyncio.to_thread(_passes, options, plan)

        async def take(run: RunEnvelope) -> None:
            for planned in plan.report.passes:
                drafts = [draft for name, draft in plan.steps if name == planned.name]
                made: list[StepReport] = []
                if drafts:
                    writer = StepWriter.of(parts, run, options.applying(), planned.name, passes[planned.name])
                    for draft in drafts:
                        step, _ = await run.write(partial(writer.commit, draft=draft))
                        made.append(step.report)
                run.passes.append(_as_applied(planned, made))

        def end(unit: UnitOfWork, _: RunReport) -> None:
            dream_stores(unit).plans.delete(plan.plan_id)
            unit.activity.notify()

        return await carry_out(parts, options, opening, take, ending=end, on_begin=on_begin)


@dataclass(frozen=True, slots=True)
class _ChargedClient:
    """Puts the calls of a plan on record beside its copy, which goes with the process; lives until the plan is made.

    Args:
        client: Who is asked.
        storage: Where they are on record until what they cost is counted there.
        scope: Whose memory.
        plan_id: The plan.
    """

    client: ChatClient
    storage: Storage
    scope: Scope
    plan_id: str

    @property
    def options(self) -> object:
        """The client's options; None where it has none that are known."""
        return getattr(self.client, "options", None)

    async def complete(self, request: ChatRequest) -> Completion:
        """Return the answer of the client; see `ChatClient`."""
        key = CallKey(run_id=self.plan_id, pass_name=request.purpose, batch_key="plan", round=1)
        model = request.model or ""
        await self.storage.write(
            self.scope, lambda unit: dream_stores(unit).calls.begin(key, estimated(request), model=model)
        )
        return await self.client.complete(request)


def _clear_the_way(unit: UnitOfWork) -> Forgets:
    """Free the copy of leases, interrupted runs and the pause, which are about the original; tell what is forgotten."""
    unit.leases.revoke(DREAM_LEASE)
    unit.settings.put(PAUSED_SETTING, None)
    dream_stores(unit).runs.abandon()
    return dream_stores(unit).calls.forgets()


def _passes(options: DreamOptions, plan: Plan) -> dict[str, DreamPass | ModelPass]:
    """Return the passes whose steps a plan holds; it imports them, so call it on a thread."""
    names = {name for name, _ in plan.steps}
    found = {slot.name: slot.dream_pass for slot in arranged(options.passes) if slot.name in names}
    if names != found.keys():
        raise OutdatedPlanError(value=plan.plan_id)
    return found


def _as_applied(planned: PassReport, made: Sequence[StepReport]) -> PassReport:
    """Return the report of a pass whose plan was applied; notes that did not come true stand apart."""
    accepted, purged, proposed = (
        sum(getattr(step, name) for step in made) for name in ("accepted", "purged", "proposed")
    )
    as_planned = (accepted, purged, proposed) == (planned.accepted, planned.purged, planned.proposed)
    outcome, reason = planned.outcome, planned.reason
    if accepted or purged:
        outcome, reason = PassOutcome.APPLIED, None
    elif proposed:
        outcome, reason = PassOutcome.PROPOSED, None
    elif outcome in {PassOutcome.APPLIED, PassOutcome.PROPOSED}:
        outcome, reason = PassOutcome.UNCHANGED, Skip.NOTHING_TO_CHANGE
    return PassReport(
        name=planned.name,
        outcome=outcome,
        reason=reason,
        backlog=planned.backlog + max(0, planned.purged - purged),
        accepted=accepted,
        proposed=proposed,
        purged=purged,
        looked_at=planned.looked_at,
        refused=tuple(refusal for step in made for refusal in step.refused) if made else planned.refused,
        notes=planned.notes if as_planned or not planned.notes else {"planned": dict(planned.notes)},
    )
