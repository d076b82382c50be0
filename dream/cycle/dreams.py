"""Dreams: what a host and its users hold."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from agentcore.domain.capability import Capability
from agentcore.domain.scope import Scope
from agentcore.hosting.checks import clean_as_of
from dream.cycle.forecast import Forecaster
from dream.cycle.listeners import DreamListeners
from dream.cycle.on_demand import make_plan_service, make_review_service, make_undo_service, make_verification
from dream.cycle.option_edits import FollowedEdits, OptionEdits
from dream.cycle.records import DreamRecords
from dream.cycle.running.named_model import with_model
from dream.cycle.running.runner import Runner
from dream.cycle.scheduling.status import ScheduleFacade
from dream.cycle.scope_status import read_scope_status
from dream.domain.built_in_passes import SESSION_EVALUATION
from dream.domain.storage_names import DREAM_LEASE, PAUSED_SETTING
from dream.options.levels import OptionLevels

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from agentcore.hosting.left_options import LeftOptions
    from agentcore.hosting.lifecycle import HostedService
    from agentcore.hosting.option_layers import EffectiveOption
    from agentcore.hosting.services import HostServices
    from agentcore.stores.storage import UnitOfWork
    from dream.cycle.card import Card
    from dream.cycle.claims import Claims
    from dream.cycle.desk import Desk
    from dream.cycle.hypotheses import Hypotheses
    from dream.cycle.listeners import Listener, Unsubscribe
    from dream.cycle.model_check import ModelCheck
    from dream.cycle.plans import PlanService
    from dream.cycle.review import ReviewService
    from dream.cycle.scheduling.service import DreamService
    from dream.cycle.scheduling.status import DreamTimeline, ScheduleStatus
    from dream.cycle.scope_status import ScopeStatus
    from dream.cycle.undo import UndoService
    from dream.domain.forecast import PassForecast
    from dream.domain.plan import Plan
    from dream.domain.report import Alarm, PassReport, RunReport
    from dream.domain.request import DreamRequest
    from dream.options import DreamOptions


@dataclass(frozen=True, slots=True)
class HostDreams:
    """Shared by the dreams of every scope; lives as long as the host.

    Args:
        watch: Who wants to know of the host's runs.
        levels: The options of each scope.
        service: What starts dreams by themselves; None if nothing does.
    """

    watch: DreamListeners
    levels: OptionLevels
    service: DreamService | None = None

    @classmethod
    def alone(cls, parts: HostServices, options: DreamOptions) -> HostDreams:
        """Return what dreams share of which nobody watches any, where nothing starts by itself."""
        levels = OptionLevels(options)
        return cls(DreamListeners(parts, levels), levels)


class Dreams(DreamRecords):
    """The dreams of one scope; lives as long as the host.

    Args:
        parts: What the host offers.
        options: The scope's options.
        scope: Whose memory; `for_scope` gives another's.
        shared: What the dreams of all scopes share; by default nobody watches, and nothing starts by itself.
    """

    def __init__(
        self, parts: HostServices, options: DreamOptions, scope: Scope | None = None, shared: HostDreams | None = None
    ) -> None:
        self._host_parts = parts
        parts = with_model(parts, options)
        self._runner = Runner(parts, options)
        super().__init__(parts, options, scope or Scope.default(), self._runner.pass_names)
        self._shared = shared or HostDreams.alone(parts, options)
        self._watch = self._shared.watch
        self._schedule_facade = ScheduleFacade(parts, self._shared.levels, tuple(self._runner.order))

    @property
    def services(self) -> tuple[HostedService, ...]:
        """What works as long as the host lives.

        It writes out documents that an earlier process left. Where dreams start by themselves it starts them, and
        evaluates conversations if there is a model; elsewhere no model is called unasked.
        """
        first = (FollowedEdits(self._parts.storage, self._shared.levels), *self._leftovers())
        if self.service is None:
            return first
        return (*first, *self._evaluators(), self.service)

    def _leftovers(self) -> tuple[HostedService, ...]:
        if self._parts.workspaces is None:
            return ()
        from dream.cycle.documents.delivery import OutboxFlush  # noqa: PLC0415 - most hosts have no workspace

        return (OutboxFlush(self._parts, self._shared.levels),)

    def _evaluators(self) -> tuple[HostedService, ...]:
        is_able = SESSION_EVALUATION.requires <= self._parts.capabilities
        levels = self._shared.levels
        if not is_able or not any(options.is_on(SESSION_EVALUATION.name) for options in levels.variants):
            return ()
        from dream.cycle.session_evaluator import SessionEvaluator  # noqa: PLC0415 - with the guards 0.1 s

        return (SessionEvaluator(self._host_parts, levels),)

    @property
    def desk(self) -> Desk:
        """What a person does to the memory by hand, and the questions that wait for an answer."""
        from dream.cycle.desk import Desk  # noqa: PLC0415 - with the guards a tenth of a second

        return Desk(parts=self._parts, options=self._options, scope=self._scope, told=self._watch.told)

    @property
    def card(self) -> Card:
        """What is kept at hand about whomever the memory is about."""
        from dream.cycle.card import Card  # noqa: PLC0415 - as the desk

        return Card(self.desk)

    @property
    def hypotheses(self) -> Hypotheses:
        """What dreams guessed, and what people decide about it."""
        from dream.cycle.hypotheses import Hypotheses  # noqa: PLC0415 - as the desk

        return Hypotheses(self.desk, partial(Dreams, self._host_parts, scope=self._scope, shared=self._shared))

    @property
    def claims(self) -> Claims:
        """What was taken from what was said, on its way to become facts."""
        from dream.cycle.claims import Claims  # noqa: PLC0415 - as the desk

        return Claims(self.desk)

    async def _undo_service(self) -> UndoService:
        return await asyncio.to_thread(make_undo_service, self._parts, self._options)

    async def _plan_service(self) -> PlanService:
        return await asyncio.to_thread(make_plan_service, self._parts, self._options)

    async def _review_service(self) -> ReviewService:
        return await asyncio.to_thread(make_review_service, self._parts, self._options)

    def for_scope(self, scope: Scope) -> Dreams:
        """Return the dreams of a scope, by the options that are in force for it now."""
        options = self._shared.levels.of(scope)
        if scope == self._scope and options is self._options:
            return self
        return Dreams(self._host_parts, options, scope, self._shared)

    @property
    def service(self) -> DreamService | None:
        """What starts dreams by themselves; None if nothing does."""
        return self._shared.service

    async def schedule(
        self,
        scope: Scope | None = None,
        *,
        observer: str | None = None,
        observed: str | None = None,
        when_quiet: bool = False,
    ) -> DreamRequest:
        """Ask for a dream soon: whichever host watches the scope begins it within a minute, once nobody is served.

        It bypasses the schedule, back-off and quiet hours, and uses up no scheduled slot. While one is pending or
        running, a request changes nothing and says so.

        Args:
            scope: Whose memory; this one's by default.
            observer: Who remembers, in the same workspace; that of the scope by default.
            observed: Whom the memory is about; that of the scope by default.
            when_quiet: Begin once nobody has said or stored anything there for ten minutes; what comes puts it off.
        """
        request = await self._schedule_facade.request(self._named(scope, observer, observed), when_quiet=when_quiet)
        if self.service is not None:
            self.service.wake()
        return request

    async def unschedule(
        self, scope: Scope | None = None, *, observer: str | None = None, observed: str | None = None
    ) -> bool:
        """Take a request for a dream back that has not begun; return whether there was one. See `schedule`."""
        return await self._schedule_facade.withdraw(self._named(scope, observer, observed))

    def _named(self, scope: Scope | None, observer: str | None, observed: str | None) -> Scope:
        base = scope or self._scope
        return Scope(base.workspace, observer or base.observer, observed or base.observed)

    async def explain(self, scope: Scope | None = None) -> ScheduleStatus:
        """Tell when the scope (this one by default) dreams next and why not earlier, asking the passes for work."""
        return await self._schedule_facade.explained(scope or self._scope)

    async def timeline(self, since: datetime, until: datetime) -> DreamTimeline:
        """Return the dreams that began in a time, and those to come in it if each finds work and goes well.

        Raises:
            InvalidContentError: one of the instants has no time zone.
        """
        return await self._schedule_facade.timeline(self._scope, since, until)

    def effective_options(self) -> list[EffectiveOption]:
        """Return every option that is in force for the scope, and who said what it is."""
        return self._shared.levels.effective(self._scope)

    @property
    def option_edits(self) -> OptionEdits:
        """What an admin changes of the scope's options, above the settings file and below the host's code."""
        return OptionEdits(parts=self._parts, levels=self._shared.levels, scope=self._scope)

    def left_options(self) -> LeftOptions:
        """Return what the code of the host says of options, which it leaves in the database for commands."""
        return self._shared.levels.left()

    def touch(self) -> None:
        """Note that somebody is active whom nothing stored tells of, as on another channel; it never waits."""
        self._parts.activity.touch(self._scope)

    async def run(
        self,
        *,
        passes: Collection[str] | None = None,
        plan: str | None = None,
        now: datetime | None = None,
        max_outputs: int | None = None,
        on_pass: Callable[[PassReport], None] | None = None,
        on_begin: Callable[[UnitOfWork, str], None] | None = None,
    ) -> RunReport:
        """Run one cycle now, or apply a stored plan.

        It bypasses the schedule and uses up no scheduled slot. While another is pending or running, nothing happens
        and the report says so (`deferred`).

        Args:
            passes: Only these passes; all enabled ones by default.
            plan: Id of a plan to apply exactly as it stands; what moved since is refused as stale.
            now: Judge as of this instant instead of the clock's, to simulate a later day.
            max_outputs: New records that it may write, in the place of `DreamOptions.max_outputs`.
            on_pass: Told of each pass as it ends.
            on_begin: Called in the transaction that opens the run, with its id, so that what it writes is there with
                the run or not at all.

        Raises:
            UnknownPassError: a pass was named that does not exist.
            InvalidOptionsError: *max_outputs* is less than 1.
            UnknownPlanError: there is no such plan.
            OutdatedPlanError: an earlier version made it, or a pass of it is gone.
            InvalidContentError: *now* has no time zone.
            StorageError: the database failed; the next run goes on from the last committed step.
        """
        if plan is not None:
            applied = await (await self._plan_service()).apply(self._scope, plan, on_begin=on_begin)
            return await self._watch.told(applied)
        gone_on: list[RunReport] = []
        booking = self._schedule_facade.booking(self._scope, is_whole=passes is None)
        runner = self._runner
        if max_outputs is not None:
            runner = Runner(self._parts, self._options.replace(max_outputs=max_outputs))
        report = await runner.run(
            self._scope,
            passes=passes,
            now=clean_as_of(now),
            gone_on=gone_on,
            booking=booking,
            on_pass=on_pass,
            on_begin=on_begin,
        )
        for earlier in gone_on:
            await self._watch.told(earlier)
        return await self._watch.told(report)

    async def plan(self, *, passes: Collection[str] | None = None, now: datetime | None = None) -> Plan:
        """Show what a run would change: the real runner on a copy of the database; nothing of the memory is written.

        The plan itself is kept, so that `run(plan=plan.plan_id)` can apply it. What a pass would only propose is shown
        as a change too: to apply a plan is to approve it.
        """
        return await (await self._plan_service()).make(self._scope, passes=passes, now=clean_as_of(now))

    async def forecast(
        self, *, passes: Collection[str] | None = None, now: datetime | None = None
    ) -> list[PassForecast]:
        """Return what each enabled model pass would ask now and what that costs at most; nobody is asked.

        It is about the memory as it is: what earlier passes of the same run would add or fold is not in it. No model
        need be configured.

        Args:
            passes: Only these; all enabled ones by default.
            now: Judge as of this instant instead of the clock's.

        Raises:
            UnknownPassError: a pass was named that does not exist.
            InvalidContentError: *now* has no time zone.
        """
        as_of = clean_as_of(now) or self._parts.clock.now()
        forecaster = Forecaster(parts=self._parts, options=self._options, scope=self._scope, as_of=as_of)
        model_passes = await asyncio.to_thread(self._runner.model_passes, passes)
        return await forecaster.of_all(model_passes)

    async def verify_existing(
        self, *, budget: int | None = None, on_pass: Callable[[PassReport], None] | None = None
    ) -> RunReport:
        """Judge the entries that are stored and unverified by what their sources still say, the most recalled first.

        Words prove what they can; the rest is read a second time, in calls of at most 18 statements. What the evidence
        says keeps it, with the verdict; what it does not say is archived, or listed where it is pinned, protected or a
        person's own. It is a run: `undo` takes it back, and one that was interrupted goes on without asking again.

        Args:
            budget: Tokens that it may cost at most; what is left is judged by the next one. None: as the options say.
            on_pass: Told when it is done.

        Raises:
            InvalidOptionsError: *budget* is less than 0.
            StorageError: the database failed; the next one goes on from the last committed step.
        """
        runner = await asyncio.to_thread(make_verification, self._parts, self._options, budget)
        return await self._watch.told(await runner.run(self._scope, on_pass=on_pass))

    async def forecast_verification(self) -> PassForecast:
        """Return what `verify_existing` would ask a model now and what that costs at most; no model need be there."""
        runner = await asyncio.to_thread(make_verification, self._parts, self._options, None)
        parts = replace(self._parts, capabilities=self._parts.capabilities | {Capability.LLM})
        forecaster = Forecaster(parts=parts, options=self._options, scope=self._scope, as_of=self._parts.clock.now())
        (verification,) = await asyncio.to_thread(runner.model_passes)
        return await forecaster.of(verification)

    async def check_model(self) -> ModelCheck:
        """Measure what the model is good for that dreams ask: its context, its JSON, and how it reads statements.

        It asks at most six questions, some 50,000 tokens; nothing of the memory is shown.

        Raises:
            NoModelError: there is none.
            ChatError: it cannot be asked.
        """
        from dream.cycle.model_check import check_model  # noqa: PLC0415 - with the passes a tenth of a second

        return await check_model(self._parts, self._options, self._scope)

    async def undo(self, run_id: str, *, pass_name: str | None = None, change: int | None = None) -> RunReport:
        """Take back a run, one of its passes, or one change set; undoing an undo brings the changes back.

        A record that changed since is reported (`changed_since`) and left alone. What a person took back is not done
        again by later dreams.

        Raises:
            UnknownRunError: no such run.
            UnknownPassError: no such pass.
            UnknownChangeError: no such change in the run.
        """
        self._require(pass_name)
        report = await (await self._undo_service()).undo(self._scope, run_id, pass_name=pass_name, number=change)
        return await self._watch.told(report)

    async def approve(self, proposal_ids: Collection[str]) -> RunReport:
        """Make the changes of these proposals; it is a run of its own, which can be undone.

        Each is held against the records and the guards as they are now. One whose records moved since is refused
        (`stale_source`) and leaves the queue; the next dream of its pass looks at them again. What today's share cap
        has no room for goes on waiting.

        Args:
            proposal_ids: Ids, or beginnings of them.

        Raises:
            UnknownProposalError: one of them names none that waits, or several.
        """
        return await self._watch.told(await (await self._review_service()).approve(self._scope, proposal_ids))

    async def reject(self, proposal_ids: Collection[str]) -> RunReport:
        """Drop these proposals; no dream proposes or does the same again (`undone_by_person`).

        Args:
            proposal_ids: Ids, or beginnings of them.

        Raises:
            UnknownProposalError: one of them names none that waits, or several.
        """
        return await self._watch.told(await (await self._review_service()).reject(self._scope, proposal_ids))

    async def restore(self, entry_id: str) -> RunReport:
        """Bring a retired entry back; no dream retires it for the same reason again."""
        return await self._watch.told(await (await self._undo_service()).restore(self._scope, entry_id))

    def on_report(self, listener: Listener[RunReport]) -> Unsubscribe:
        """Have *listener* told of each run of this host that came to its end, on any scope.

        It is called, and awaited if it is a coroutine function, before the call that asked for the run returns. What it
        raises is logged and harms nothing.

        Args:
            listener: Takes the report; its scope and kind say what it is about. Undos and restores are runs too.

        Returns:
            What ends the subscription.
        """
        return self._watch.reports.add(listener)

    def on_alarm(self, listener: Listener[Alarm]) -> Unsubscribe:
        """Have *listener* told when dreams of this host come to nothing, again and again, on any scope.

        That is: `DreamOptions.alarm_after` dreams in a row failed, or changed nothing although work was waiting. It is
        told again each time as many more have. The stored runs count, those of other processes and of earlier days
        too; `status().alarm` has the same at any time.

        Args:
            listener: Takes the alarm; called as by `on_report`.

        Returns:
            What ends the subscription.
        """
        return self._watch.alarms.add(listener)

    async def status(self) -> ScopeStatus:
        """Return how the scope stands: counts, last run, pause, lease, and the next dream as `explain` tells it."""
        schedule, after = await self._schedule_facade.explained(self._scope), self._options.alarm_after
        return await self._parts.storage.read(self._scope, lambda view: read_scope_status(view, schedule, after))

    async def pause(self) -> bool:
        """Stop dreams of the scope, in every process, until `resume`; tell whether one is under way, and stops."""
        await self._parts.storage.write(self._scope, lambda unit: _pause(unit, "true"))
        return await self._parts.storage.read(self._scope, lambda view: view.leases.holder(DREAM_LEASE) is not None)

    async def resume(self) -> None:
        """Let dreams of the scope run again."""
        await self._parts.storage.write(self._scope, lambda unit: _pause(unit, None))


def _pause(unit: UnitOfWork, value: str | None) -> None:
    unit.settings.put(PAUSED_SETTING, value)
    unit.activity.notify()
