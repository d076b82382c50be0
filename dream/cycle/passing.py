"""Running one pass: context, steps, and the report that sums them up."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from agentcore.clock import Clock
from agentcore.domain.scope import Scope
from agentcore.hosting.parts import HostParts
from agentcore.recall.neighbour import Neighbour
from agentcore.stores.protocols import Lease, Origin, ReadView
from dream.cycle.answers import Answers
from dream.cycle.steps import StepWriter
from dream.domain.proposal import History, Refusal, Work
from dream.domain.reasons import Skip
from dream.domain.report import PassOutcome, PassReport
from dream.errors import StalledPassError
from dream.options import DreamOptions
from dream.passes import DreamContext, DreamPass
from dream.stores import bookkeeping
from dream.stores.runs import StepRow

T = TypeVar("T")

_PATIENCE = 10
"""Steps in a row without any progress, as a busy writer can cause; beyond them the pass turns in circles."""

_COUNTS = ("accepted", "purged", "looked_at", "calls", "input_tokens", "output_tokens")


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
        next_number: The number of the run's next step.
        answers: The model's answers for the step under way.
        worked: How long its steps took so far, their commits included, in seconds.
    """

    parts: HostParts
    scope: Scope
    options: DreamOptions
    dream_pass: DreamPass
    run_id: str
    as_of: datetime
    lease: Lease
    steps: list[StepRow]
    next_number: int
    answers: Answers = field(init=False)
    worked: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin without answers."""
        self.answers = self._no_answers()
        self.worked = sum(step.report["seconds"] for step in self.steps)

    async def run(self) -> PassReport:
        """Take steps until the pass is done; what it raises is the caller's to report."""
        missing = sorted(item.value for item in self.dream_pass.requires - self.parts.capabilities)
        if missing:
            return self._report(PassOutcome.SKIPPED, f"{Skip.MISSING}: {', '.join(missing)}")
        if not self.steps:
            work = await self._has_work()
            if not work.pending and not work.reports:
                return self._report(PassOutcome.UNCHANGED, Skip.NO_WORK)
        idle = 0
        while not self.steps or not self.steps[-1].closing:
            await self._step()
            idle = 0 if _got_on(self.steps[-1]) else idle + 1
            if idle == _PATIENCE:
                raise StalledPassError(name=self.dream_pass.name, steps=idle)
        return self._closing_report()

    def failed(self, error: Exception) -> PassReport:
        """Return the report of a pass that raised *error*."""
        return self._summed(PassOutcome.FAILED, f"{type(error).__name__}: {error}")

    async def _has_work(self) -> Work:
        return await self.dream_pass.has_work(await self._context())

    async def _step(self) -> None:
        await self.parts.gate.wait_until_idle()
        began = self.parts.clock.now()
        proposal = await self.dream_pass.propose(await self._context())
        writer = StepWriter(
            run_id=self.run_id,
            pass_name=self.dream_pass.name,
            as_of=self.as_of,
            lease=self.lease,
            options=self.options,
            usage=self.answers.usage,
        )
        number, seconds = self.next_number, elapsed(self.parts.clock, began)
        step = await self.parts.storage.write(
            self.scope,
            lambda unit: writer.commit(unit, number, proposal, seconds),
            origin=Origin.DREAM,
        )
        self.steps.append(step)
        self.next_number += 1
        self.answers = self._no_answers()
        self.worked += elapsed(self.parts.clock, began)

    def _no_answers(self) -> Answers:
        return Answers(self.parts, self.scope, self.run_id, self.dream_pass.name, self.next_number)

    async def _context(self) -> DreamContext:
        name = self.dream_pass.name

        def stand(view: ReadView) -> tuple[int, frozenset[str]]:
            cursors = bookkeeping(view).cursors
            return cursors.position(name) or 0, frozenset(cursors.reopened(name))

        cursor, reopened = await self.parts.storage.read(self.scope, stand)
        view = _Views(self.parts, self.scope)
        return DreamContext(
            scope=self.scope,
            run_id=self.run_id,
            as_of=self.as_of,
            options=self.options,
            cursor=cursor,
            reopened=reopened,
            looked_at=sum(step.report["looked_at"] for step in self.steps),
            read=view.read,
            similar=view.similar,
            declined=view.declined,
            count_history=view.count_history,
            ask=self.answers.ask,
        )

    def _closing_report(self) -> PassReport:
        reports = [step.report for step in self.steps]
        changed = any(report["accepted"] or report["purged"] for report in reports)
        if changed:
            return self._summed(PassOutcome.APPLIED, None)
        return self._summed(PassOutcome.UNCHANGED, Skip.NOTHING_TO_CHANGE)

    def _summed(self, outcome: PassOutcome, reason: str | None) -> PassReport:
        reports = [step.report for step in self.steps]
        # What a failing step paid for is in no report of a step.
        sums = {name: sum(int(part.get(name, 0)) for part in (*reports, self.answers.usage)) for name in _COUNTS}
        refused = [Refusal(code, detail) for report in reports for code, detail in report["refused"]]
        return self._report(
            outcome,
            reason,
            **sums,
            refused=tuple(refused),
            notes=self.dream_pass.conclude([report["notes"] for report in reports]) if reports else {},
            backlog=reports[-1]["backlog"] if reports else 0,
            seconds=round(self.worked, 6),
        )

    def _report(self, outcome: PassOutcome, reason: str | None, **values: Any) -> PassReport:
        return PassReport(name=self.dream_pass.name, outcome=outcome, reason=reason, **values)


def _got_on(step: StepRow) -> bool:
    """Tell whether a step brought its pass nearer to its end."""
    moved = step.moved_cursor and step.cursor_before != step.cursor_after
    return moved or any(step.report.get(name, 0) for name in _COUNTS)


@dataclass(frozen=True, slots=True)
class _Views:
    """The read-only functions a context hands to its pass."""

    parts: HostParts
    scope: Scope

    async def read(self, work: Callable[[ReadView], T]) -> T:
        return await self.parts.storage.read(self.scope, work)

    async def similar(self, keys: Sequence[int], *, threshold: float, limit: int) -> Mapping[int, Sequence[Neighbour]]:
        return await self.parts.recall.similar(self.scope, keys, threshold=threshold, limit=limit)

    async def declined(self, fingerprints: Collection[str]) -> frozenset[str]:
        if not fingerprints:
            return frozenset()
        return frozenset(await self.read(lambda view: bookkeeping(view).decisions.declined(fingerprints)))

    async def count_history(self, what: History, before: datetime) -> int:
        def count(view: ReadView) -> int:
            runs = bookkeeping(view).runs
            return runs.count_expired(before) if what is History.RUNS else runs.count_feed(before)

        return await self.read(count)


def elapsed(clock: Clock, began: datetime) -> float:
    """Return the seconds since *began*; a clock set back counts as none."""
    return max(0.0, (clock.now() - began).total_seconds())
