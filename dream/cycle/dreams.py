"""Dreams: what a host and its users hold."""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime

from agentcore.domain.scope import Scope
from agentcore.hosting.checks import clean_instant
from agentcore.hosting.parts import HostParts
from agentcore.hosting.service import HostedService
from agentcore.stores.protocols import ReadView, UnitOfWork
from dream.cycle.history import History, Status, read_history, read_status
from dream.cycle.leftovers import Leftovers
from dream.cycle.planning import clear_the_way, planned
from dream.cycle.promotions import promotion_standing
from dream.cycle.revision import Reviser
from dream.cycle.run_forecast import Forecaster
from dream.cycle.runner import PAUSED_SETTING, Runner
from dream.cycle.session_evaluator import NEEDS, SESSION_EVALUATOR, SessionEvaluator
from dream.cycle.watching import Listener, Unsubscribe, Watch
from dream.domain.alarm import Alarm
from dream.domain.candidate import PromotionStanding
from dream.domain.forecast import PassForecast
from dream.domain.journal import JournalRow
from dream.domain.plan import Plan
from dream.domain.report import RunReport
from dream.domain.usage import EVERYTHING, UsageKey, UsageRow, summed
from dream.errors import UnknownPassError, UnknownRunError
from dream.options import DreamOptions
from dream.stores import bookkeeping


class Dreams:
    """The dreams of one scope; lives as long as the host.

    Args:
        parts: What the host offers.
        options: The host's options.
        scope: Whose memory; `for_scope` gives another's.
        watch: Who wants to know of the host's runs; nobody yet by default.
    """

    def __init__(
        self, parts: HostParts, options: DreamOptions, scope: Scope | None = None, watch: Watch | None = None
    ) -> None:
        self._parts = parts
        self._options = options
        self._scope = scope or Scope.default()
        self._watch = watch or Watch(parts, options)
        self._runner = Runner(parts, options)
        self._reviser = Reviser(parts, options)

    @property
    def scope(self) -> Scope:
        """Whose memory these dreams tend."""
        return self._scope

    @property
    def pass_names(self) -> tuple[str, ...]:
        """The passes of a run, in order."""
        return self._runner.pass_names

    @property
    def services(self) -> tuple[HostedService, ...]:
        """What works beside the dreams as long as the host lives.

        It writes out documents that an earlier process left, and evaluates conversations, if there is a model.
        """
        evaluates = self._parts.capabilities >= NEEDS and SESSION_EVALUATOR not in self._options.disabled
        evaluators = (SessionEvaluator(self._parts, self._options),) if evaluates else ()
        leftovers = () if self._parts.workspaces is None else (Leftovers(self._parts, self._options),)
        return (*leftovers, *evaluators)

    def for_scope(self, scope: Scope) -> "Dreams":
        """Return the dreams of another scope."""
        return Dreams(self._parts, self._options, scope, self._watch)

    async def run(
        self, *, passes: Collection[str] | None = None, plan: str | None = None, now: datetime | None = None
    ) -> RunReport:
        """Run one cycle now, or apply a stored plan.

        Args:
            passes: Only these passes; all enabled ones by default.
            plan: Id of a plan to apply exactly as it stands; what moved since is refused as stale.
            now: Judge as of this instant instead of the clock's, to simulate a later day.

        Raises:
            UnknownPassError: a pass was named that does not exist.
            UnknownPlanError: there is no such plan.
            InvalidContentError: *now* has no time zone.
            StorageError: the database failed; the next run goes on from the last committed step.
        """
        if plan is not None:
            return await self._watch.told(await self._reviser.apply(self._scope, plan))
        gone_on: list[RunReport] = []
        report = await self._runner.run(self._scope, passes=passes, now=clean_instant(now), gone_on=gone_on)
        for earlier in gone_on:
            await self._watch.told(earlier)
        return await self._watch.told(report)

    async def plan(self, *, passes: Collection[str] | None = None, now: datetime | None = None) -> Plan:
        """Show what a run would change: the real runner on a copy of the database; nothing of the memory is written.

        The plan itself is kept, so that `run(plan=plan.plan_id)` can apply it.
        """
        created_at, now = self._parts.clock.now(), clean_instant(now)
        async with self._parts.storage.snapshot() as copy:
            recall = self._parts.recall.on(copy)
            await recall.start()
            try:
                workspaces = self._parts.workspaces
                trial = replace(
                    self._parts,
                    storage=copy,
                    recall=recall,
                    workspaces=None if workspaces is None else workspaces.read_only(),
                )
                await copy.write(self._scope, clear_the_way)
                report = await Runner(trial, self._options).run(self._scope, passes=passes, now=now)
                plan = await copy.read(
                    self._scope,
                    lambda view: planned(view, self._parts.ids.new(), created_at, report),
                )
                taken = await copy.read(self._scope, lambda view: bookkeeping(view).calls.taken(report.run_id))
            finally:
                await recall.stop()

        def keep(unit: UnitOfWork) -> None:
            books = bookkeeping(unit)
            books.plans.save(plan)
            books.calls.count(taken)

        await self._parts.storage.write(self._scope, keep)
        return plan

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
        as_of = clean_instant(now) or self._parts.clock.now()
        forecaster = Forecaster(parts=self._parts, options=self._options, scope=self._scope, as_of=as_of)
        return [await forecaster.of(one) for one in self._runner.model_passes(passes)]

    async def undo(self, run_id: str, *, pass_name: str | None = None, change: int | None = None) -> RunReport:
        """Take back a run, one of its passes, or one change set; undoing an undo brings the changes back.

        A record that changed since is reported (`changed_since`) and left alone. What a person took back is not done
        again by later dreams.

        Raises:
            UnknownRunError: no such run.
            UnknownPassError: no such pass.
            UnknownChangeError: no such change in the run.
        """
        if pass_name is not None and pass_name not in self.pass_names:
            raise UnknownPassError(name=pass_name, known=self.pass_names)
        report = await self._reviser.undo(self._scope, run_id, pass_name=pass_name, number=change)
        return await self._watch.told(report)

    async def restore(self, entry_id: str) -> RunReport:
        """Bring a retired entry back; no dream retires it for the same reason again."""
        return await self._watch.told(await self._reviser.restore(self._scope, entry_id))

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

    async def usage(self, *, since: datetime | None = None, by: Collection[UsageKey] = EVERYTHING) -> list[UsageRow]:
        """Return what model calls cost, failed ones and those of plans included, as far back as calls are kept.

        Args:
            since: Only calls that ended at or after this instant; all by default.
            by: What it is told apart by: day, pass, model, or nothing for the sum alone.

        Raises:
            InvalidContentError: *since* has no time zone.
        """
        after = clean_instant(since)
        rows = await self._parts.storage.read(self._scope, lambda view: bookkeeping(view).usage.rows(after))
        return summed(rows, by)

    async def tokens_left(self) -> int | None:
        """Return how many tokens the dreams of the scope may still cost today (UTC); None if there is no bound."""
        bound = self._options.model.tokens_per_day
        if bound is None:
            return None
        today = self._parts.clock.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        spent = await self.usage(since=today, by=())
        return max(0, bound - sum(row.tokens for row in spent))

    async def runs(self, *, limit: int = 20) -> list[RunReport]:
        """Return the newest runs, newest first; one that is under way or interrupted has no `finished_at`."""
        return await self._parts.storage.read(self._scope, lambda view: bookkeeping(view).runs.newest(limit=limit))

    async def report(self, run_id: str) -> RunReport:
        """Return the report of a run, by its id or the beginning of it."""

        def find(view: ReadView) -> RunReport:
            runs = bookkeeping(view).runs
            report = runs.report(runs.resolve(run_id))
            if report is None:
                raise UnknownRunError(value=run_id)
            return report

        return await self._parts.storage.read(self._scope, find)

    async def diff(self, run_id: str) -> list[JournalRow]:
        """Return what a run changed, in the order it did."""

        def find(view: ReadView) -> list[JournalRow]:
            books = bookkeeping(view)
            return books.journal.of_run(books.runs.resolve(run_id))

        return await self._parts.storage.read(self._scope, find)

    async def why(self, entry_id: str) -> History:
        """Return an entry's history: what happened to it and why, and where it came from, down to the turn."""
        return await self._parts.storage.read(self._scope, lambda view: read_history(view, entry_id))

    async def promotion(self, entry_id: str | None = None, *, limit: int = 10) -> PromotionStanding:
        """Return why entries are promoted to MEMORY.md, or are not; nothing is changed.

        Args:
            entry_id: The one entry to tell about; None for the best.
            limit: How many of these.

        Raises:
            UnknownRecordError: there is no such entry.
        """
        now = self._parts.clock.now()
        return await promotion_standing(
            self._parts, self._options, self._scope, entry_id=entry_id, limit=limit, now=now
        )

    async def status(self) -> Status:
        """Return how the scope stands: counts, last run, backlog, pause, lease."""
        names, after = self._runner.pass_names, self._options.alarm_after
        return await self._parts.storage.read(self._scope, lambda view: read_status(view, names, after))

    async def pause(self) -> None:
        """Stop dreams of the scope, in every process, until `resume`."""
        await self._parts.storage.write(self._scope, lambda unit: unit.settings.put(PAUSED_SETTING, "true"))

    async def resume(self) -> None:
        """Let dreams of the scope run again."""
        await self._parts.storage.write(self._scope, lambda unit: unit.settings.put(PAUSED_SETTING, None))
