"""Runs one pass: its steps, and the report that sums them up."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agentcore.clock import Clock
from agentcore.domain.capability import Capability
from agentcore.domain.scope import Scope
from agentcore.errors import StaleVersionError, StorageError
from agentcore.hosting.busy import BusyWatch
from agentcore.hosting.services import HostServices
from agentcore.stores.storage import Origin, ReadView
from agentcore.stores.values import Lease
from dream.cycle.review_queue import ReviewQueue
from dream.cycle.running.context import ContextFactory, to_be_tried, waiting_notes
from dream.cycle.running.run_envelope import is_paused, people_before
from dream.cycle.running.step_writer import StepWriter
from dream.cycle.running.turn_wait import TurnWait, turn_wait
from dream.domain.declaration import declared
from dream.domain.proposal import Notes, Work
from dream.domain.reasons import Skip
from dream.domain.report import PassOutcome, PassReport
from dream.domain.rounds import RoundCost
from dream.domain.step import StepDraft, StepReport
from dream.errors import PausedDreamError, StalledPassError
from dream.options import DreamOptions, PassMode
from dream.passes import DreamPass, ModelPass
from dream.stores import dream_stores
from dream.stores.calls import Spent
from dream.stores.runs import StepRow

_PATIENCE = 10
"""Steps in a row without any progress, as a busy writer can cause; beyond them the pass turns in circles."""

_COUNTS = ("accepted", "proposed", "purged", "looked_at")


@dataclass(slots=True, kw_only=True)
class PassRun:
    """One pass of one run; lives as long as it.

    Args:
        parts: What the host offers.
        scope: Whose memory.
        options: The host's options.
        dream_pass: The pass.
        run_id: The run.
        as_of: The instant it judges by.
        lease: The right to dream.
        steps: The steps of the pass committed so far, by an interrupted process or by this one.
        log_readers: Enabled passes that read the conversation log.
        log_end: Position of the newest turn when the run began.
        obstacle: Why documents must be left alone; None if they need not.
        on_step: Given each step that was taken, as a plan takes it again.
        by_itself: Whether nobody asked for the run: then it may wait for more turns.
        origin: What its steps count as: a reading apart from a dream finds new entries, a dream never does.
        worked: How long its steps took so far, their commits included, in seconds.
        spent: What its calls cost, however far it came.
        rounds: What each round of its exchanges cost, where there was more than the first.
        waiting: What of it waits and why, and which calls ended without an answer, for its notes.
    """

    parts: HostServices
    scope: Scope
    options: DreamOptions
    dream_pass: DreamPass | ModelPass
    run_id: str
    as_of: datetime
    lease: Lease
    steps: list[StepRow]
    log_readers: tuple[str, ...] = ()
    log_end: int = 0
    obstacle: str | None = None
    on_step: Callable[[str, StepDraft], None] | None = None
    by_itself: bool = False
    origin: Origin = Origin.DREAM
    worked: float = field(init=False)
    spent: Spent = field(default=Spent(), init=False)
    rounds: tuple[RoundCost, ...] = field(default=(), init=False)
    waiting: Notes = field(default_factory=dict[str, Any], init=False)

    def __post_init__(self) -> None:
        """Take up where the committed steps end."""
        self.worked = sum(step.report.seconds for step in self.steps)

    @property
    def name(self) -> str:
        """The pass's name."""
        return self.dream_pass.name

    @property
    def contexts(self) -> ContextFactory:
        """What makes its contexts."""
        return ContextFactory(
            parts=self.parts,
            scope=self.scope,
            options=self.options,
            pass_name=self.name,
            run_id=self.run_id,
            as_of=self.as_of,
            reads=declared(self.dream_pass).reads,
            log_readers=self.log_readers,
            log_end=self.log_end,
        )

    @property
    def people(self) -> BusyWatch:
        """What tells who is served first."""
        return people_before(self.parts, self.options, self.scope)

    @property
    def looked_at(self) -> int:
        """Items it dealt with so far in this run."""
        return sum(step.report.looked_at for step in self.steps)

    @property
    def is_closed(self) -> bool:
        """Whether its last step has been committed."""
        return bool(self.steps) and self.steps[-1].closing

    async def run(self) -> PassReport:
        """Take steps until the pass is done; what it raises is the caller's to report."""
        missing = sorted(item.value for item in self.dream_pass.requires - self.parts.capabilities)
        if missing:
            return self._report(PassOutcome.SKIPPED, f"{Skip.MISSING}: {', '.join(missing)}")
        if self.obstacle is not None and Capability.WORKSPACE in self.dream_pass.requires:
            return self._report(PassOutcome.SKIPPED, f"{Skip.WORKSPACE}: {self.obstacle}")
        await self.heed_pause()
        if not self.steps:
            full = await self.parts.storage.read(self.scope, self._full)
            if full is not None:
                return self._report(PassOutcome.SKIPPED, full)
            wait = await self.waits()
            if wait is not None:
                return self._report(PassOutcome.UNCHANGED, f"{Skip.TOO_FEW_TURNS}: {wait}")
            work = await self._has_work()
            if not work.pending and not work.reports:
                return self._report(PassOutcome.UNCHANGED, Skip.NO_WORK)
        await self._take_steps()
        return await self.closing_report()

    async def heed_pause(self) -> None:
        """Go on between two steps only where nobody paused the dreams of the scope meanwhile.

        Raises:
            PausedDreamError: somebody did.
        """
        if await is_paused(self.parts, self.scope):
            raise PausedDreamError

    async def waits(self) -> TurnWait | None:
        """Return what it waits for, in a dream that started by itself, before it reads new turns."""
        if not self.by_itself:
            return None
        reads, now = declared(self.dream_pass).reads, self.parts.clock.now()

        def look(view: ReadView) -> TurnWait | None:
            if to_be_tried(view, self.options, self.name):
                return None  # what waited is gone on with, and what is new is read beside it
            return turn_wait(view, self.options, self.name, reads=reads, now=now)

        return await self.parts.storage.read(self.scope, look)

    async def failed(self, error: Exception) -> PassReport:
        """Return the report of a pass that raised *error*; the next run looks again at what it did not finish."""
        await self.abandon()
        await self._count_calls()
        return self._summed(PassOutcome.FAILED, f"{type(error).__name__}: {error}")

    async def abandon(self) -> None:
        """Leave what it did not finish to the next run: each step of a plain pass is whole, so there is nothing."""

    async def closing_report(self) -> PassReport:
        """Return the report of a pass that came to its end."""
        await self._count_calls()
        reports = [step.report for step in self.steps]
        stopped = next((report.stopped for report in reports if report.stopped), None)
        if any(report.accepted or report.purged for report in reports):
            return self._summed(PassOutcome.APPLIED, stopped)
        if any(report.proposed for report in reports):
            return self._summed(PassOutcome.PROPOSED, stopped)
        return self._summed(PassOutcome.UNCHANGED, stopped or Skip.NOTHING_TO_CHANGE)

    def _full(self, view: ReadView) -> Skip | None:
        """Return why there is no use in looking: what it found could not even be proposed."""
        if self.options.mode(self.name) is not PassMode.PROPOSE:
            return None
        full = ReviewQueue.as_it_stands(view, dream_stores(view), self.options.review).full
        return None if full is None else Skip(full.value)

    async def commit(self, draft: StepDraft) -> None:
        """Write a step."""
        began = self.parts.clock.now()
        writer = self._writer()
        step, judged = await self.parts.storage.write(
            self.scope,
            lambda unit: writer.commit(unit, draft),
            origin=self.origin,
        )
        self.steps.append(step)
        if self.on_step is not None:
            self.on_step(self.name, writer.as_planned(draft, judged, step))
        self.worked += draft.report.seconds + elapsed(self.parts.clock, began)

    def _writer(self) -> StepWriter:
        return StepWriter(
            run_id=self.run_id,
            pass_name=self.name,
            as_of=self.as_of,
            lease=self.lease,
            options=self.options,
            new_id=self.parts.ids.new,
            dream_pass=self.dream_pass,
        )

    async def _has_work(self) -> Work:
        return await self._plain_pass().has_work(await self.contexts.plain(0))

    async def _take_steps(self) -> None:
        idle = 0
        while not self.is_closed:
            await self.people.wait_until_idle()
            began = self.parts.clock.now()
            proposal = await self._plain_pass().propose(await self.contexts.plain(self.looked_at))
            await self.commit(StepDraft(proposal=proposal, report=StepReport(seconds=elapsed(self.parts.clock, began))))
            await self.heed_pause()
            idle = 0 if _got_on(self.steps[-1]) else idle + 1
            if idle == _PATIENCE:
                raise StalledPassError(name=self.name, steps=idle)

    def _plain_pass(self) -> DreamPass:
        if isinstance(self.dream_pass, ModelPass):
            raise TypeError(f"The pass {self.name} asks a model: it is run by ModelPassRun.")
        return self.dream_pass

    async def _count_calls(self) -> None:
        def count(view: ReadView) -> tuple[Spent, tuple[RoundCost, ...], Notes]:
            calls = dream_stores(view).calls
            spent = calls.spent(run_id=self.run_id, pass_name=self.name)
            lost = calls.without_answer(self.run_id, self.name)
            notes = dict(waiting_notes(view, self.options, self.name))
            if lost.calls:
                notes["no_answer"] = {"calls": lost.calls, "tokens": lost.tokens}
            return spent, calls.rounds(self.run_id, self.name), notes

        self.spent, rounds, self.waiting = await self.parts.storage.read(self.scope, count)
        self.rounds = rounds if len(rounds) > 1 else ()

    def _summed(self, outcome: PassOutcome, reason: str | None) -> PassReport:
        reports = [step.report for step in self.steps]
        return self._report(
            outcome,
            reason,
            **{name: sum(getattr(report, name) for report in reports) for name in _COUNTS},
            refused=tuple(refusal for report in reports for refusal in report.refused),
            notes={**self.dream_pass.conclude([report.notes for report in reports]), **self.waiting} if reports else {},
            backlog=reports[-1].backlog if reports else 0,
            calls=self.spent.calls,
            input_tokens=self.spent.input_tokens,
            output_tokens=self.spent.output_tokens,
            rounds=self.rounds,
            seconds=round(self.worked, 6),
        )

    def _report(self, outcome: PassOutcome, reason: str | None, **values: Any) -> PassReport:
        return PassReport(name=self.name, outcome=outcome, reason=reason, **values)


def _got_on(step: StepRow) -> bool:
    """Tell whether a step brought its pass nearer to its end."""
    moved = step.moved_cursor and step.cursor_before != step.cursor_after
    return moved or any(getattr(step.report, name) for name in _COUNTS)


def elapsed(clock: Clock, began: datetime) -> float:
    """Return the seconds since *began*; a clock set back counts as none."""
    return max(0.0, (clock.now() - began).total_seconds())


async def isolated(run: PassRun) -> PassReport:
    """Run a pass so that its failure ends neither the run nor what the others do."""
    try:
        return await run.run()
    except StaleVersionError as error:
        return await run.failed(error)  # it proposed what the stores refuse, such as a name that is taken
    except PausedDreamError:
        raise  # the run stays open, and the next one after the pause goes on with it
    except StorageError:
        raise  # the database failed, not the pass: nothing can be written, the run stays open to be resumed
    except Exception as error:  # noqa: BLE001 - the pass boundary: one pass's failure must not end the run
        return await run.failed(error)
