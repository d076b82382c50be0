"""Runs a pass that asks a model: packs once, asks in parallel, commits batch by batch."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import Any, cast

from agentcore.stores.storage import ReadView
from dream.cycle.running.caps import ShareCap
from dream.cycle.running.context import directives_mark
from dream.cycle.running.model_calls import AnsweredBatch, Budget, Exchange, ModelCalls
from dream.cycle.running.pass_run import PassRun, elapsed
from dream.domain.proposal import Proposal, Work
from dream.domain.reasons import Stop
from dream.domain.step import Batch, StepDraft, StepReport
from dream.errors import InvalidDirectiveError
from dream.guards.names import VOCABULARY_FILE, Vocabulary, load_vocabulary
from dream.options import PassMode
from dream.passes import ModelContext, ModelPass
from dream.stores import DreamStores, dream_stores
from dream.stores.calls import Spent
from dream.stores.runs import StepRow

_WAITING_AT_ONCE = 100
"""Deferred change sets tried in one step."""


@dataclass(slots=True, kw_only=True)
class ModelPassRun(PassRun):
    """One model pass of one run; lives as long as it.

    Args:
        directives: The text of each directive, frozen when the run began.
        problems: Directives that cannot be used, and why: path and problem.
    """

    directives: Mapping[str, str]
    problems: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    _vocabulary: Vocabulary | None = field(default=None, init=False)

    @property
    def model_pass(self) -> ModelPass:
        """The pass, which is one that asks."""
        return cast("ModelPass", self.dream_pass)

    async def _has_work(self) -> Work:
        for name in self.model_pass.directives:
            if name in self.problems:
                path, problem = self.problems[name]
                raise InvalidDirectiveError(path=path, problem=problem)
        work = await self.model_pass.has_work(await self._context())
        waiting = await self.parts.storage.read(self.scope, self._waiting)
        return Work(work.pending + waiting, reports=work.reports)

    def _waiting(self, view: ReadView) -> int:
        """Return how many deferred change sets there are, if there is room for any."""
        books = dream_stores(view)
        waiting = books.deferred.count(self.name)
        if self.options.mode(self.name) is PassMode.PROPOSE:
            return waiting  # with no room in the queue, the pass does not run at all
        has_room = waiting and ShareCap.as_it_stands(view, books, self.options.consolidation).room
        return waiting if has_room else 0

    async def _take_steps(self) -> None:
        if self.is_closed:
            return
        if not self.steps:
            await self._take_up_what_waited()
        batches = await self._packed()
        asking = await self._asking()
        left = await self._work_off(batches, asking)
        await self._close(left, asking)
        if asking.failure is not None:
            raise asking.failure

    async def abandon(self) -> None:
        """Have the next run look again at what this one packed and did not deal with."""
        if self.steps and not self.is_closed:
            await self._close(_unfinished(self.steps), None)

    async def _context(self) -> ModelContext:
        if self._vocabulary is None:
            folder = self.parts.data_dir
            loaded = load_vocabulary(None if folder is None else folder / "directives" / VOCABULARY_FILE)
            self._vocabulary = loaded.vocabulary
        return await self.contexts.with_model(
            self.looked_at,
            directives=self._sent(),
            vocabulary=self._vocabulary,
        )

    def _sent(self) -> dict[str, str]:
        return {name: self.directives[name] for name in self.model_pass.directives}

    async def _take_up_what_waited(self) -> None:
        """Make the changes that earlier runs paid for and had no room for."""

        def look(view: ReadView) -> list[tuple[int, Any]]:
            return dream_stores(view).deferred.of(self.name, limit=_WAITING_AT_ONCE) if self._waiting(view) else []

        waiting = await self.parts.storage.read(self.scope, look)
        if waiting:
            proposal = Proposal(change_sets=tuple(change_set for _, change_set in waiting), done=False)
            keys = tuple(key for key, _ in waiting)
            await self.commit(StepDraft(proposal=proposal, waited=keys))

    async def _packed(self) -> list[Batch]:
        """Return the batches that are still to be asked about, packing them first if no process of this run has."""
        if not any(step.report.packed for step in self.steps):
            await self.people.wait_until_idle()
            began = self.parts.clock.now()
            packing = await self.model_pass.pack(await self._context())
            proposal = Proposal(
                change_sets=packing.change_sets,
                refused=packing.refused,
                notes=packing.notes,
                cursor=packing.cursor,
                looked_at=(*packing.looked_at, *_own_ids(packing.batches)),
                backlog=packing.backlog,
                phases=packing.phases,
                fingerprint=directives_mark(self._sent()),
                done=False,
            )
            rows = [batch.to_json() for batch in packing.batches]
            seconds = elapsed(self.parts.clock, began)
            report = StepReport(packed=True, looked_at=len(packing.looked_at), seconds=seconds)
            await self.commit(StepDraft(proposal=proposal, batch=rows, report=report))
        return _unfinished(self.steps)

    async def _asking(self) -> ModelCalls:
        today = self.parts.clock.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)

        def spent(view: ReadView) -> tuple[Spent, Spent]:
            calls = dream_stores(view).calls
            return calls.spent(run_id=self.run_id), calls.spent(since=today)

        run, day = await self.parts.storage.read(self.scope, spent)
        budget = Budget(self.options.model, run.tokens, day.tokens)
        at_once = self.options.model.calls_in_flight
        return ModelCalls(parts=self.parts, people=self.people, scope=self.scope, budget=budget, in_flight=at_once)

    async def _work_off(self, batches: Sequence[Batch], asking: ModelCalls) -> list[Batch]:
        """Ask about all batches at once, commit them in their order, and return those that were not asked about."""
        context = await self._context()
        exchange = Exchange(asking, self.model_pass, context)
        left: list[Batch] = []
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(exchange.about(batch)) for batch in batches]
                for batch, task in zip(batches, tasks, strict=True):
                    answered = await task
                    if answered is None:
                        left.append(batch)
                    else:
                        await self._commit_batch(batch, answered, context)
        except BaseExceptionGroup as group_error:
            raise _first(group_error) from None
        return left

    async def _commit_batch(self, batch: Batch, parts: Sequence[AnsweredBatch], context: ModelContext) -> None:
        """Commit what was answered about a batch, part by part if it was halved."""
        committed = {step.report.batch for step in self.steps}
        for part in parts:
            if part.batch.number in committed:
                continue  # by the process that was interrupted between two halves
            await self.people.wait_until_idle()
            began = self.parts.clock.now()
            proposal = await self._proposed(part, context)
            settled = set(proposal.looked_at)
            reopen = tuple(one for one in part.batch.member_ids if one not in settled and not part.is_hopeless)
            moves = bool(part.batch.reader and settled)
            draft = StepDraft(
                proposal=replace(proposal, cursor=part.batch.cursor if moves else None, backlog=0, done=False),
                batch=[list(member) for member in part.batch.members],
                reader=part.batch.reader,
                reopen=() if part.batch.reader else reopen,
                report=StepReport(
                    batch=part.batch.number,
                    of=batch.number,
                    is_last=part is parts[-1],
                    rounds=tuple(one.asked for one in part.rounds) if len(part.rounds) > 1 else (),
                    seconds=elapsed(self.parts.clock, began),
                ),
            )
            await self.commit(draft)

    async def _proposed(self, part: AnsweredBatch, context: ModelContext) -> Proposal:
        if part.refusal is not None:
            return Proposal(refused=(part.refusal,))
        proposal = await self.model_pass.interpret(context, part.batch, part.rounds)
        return replace(proposal, refused=(*proposal.refused, part.note)) if part.note else proposal

    async def _close(self, left: Sequence[Batch], asking: ModelCalls | None) -> None:
        stopped = None if asking is None else asking.stopped
        members = tuple(record_id for batch in left if not batch.reader for record_id in batch.member_ids)
        packed = next((step.report.backlog for step in self.steps if step.report.packed), 0)
        waiting = await self.parts.storage.read(self.scope, lambda view: dream_stores(view).deferred.count(self.name))
        again = sum(len(step.report.reopened) for step in self.steps)
        report = StepReport(stopped=stopped.value if isinstance(stopped, Stop) else None)
        proposal = Proposal(backlog=packed + len(members) + again + waiting)
        await self.commit(StepDraft(proposal=proposal, reopen=members, report=report))


def reopen_unfinished(books: DreamStores, steps: Sequence[StepRow]) -> None:
    """Have the next run look again at what an interrupted one packed and did not deal with."""
    for name in {step.pass_name for step in steps if step.report.packed}:
        mine = [step for step in steps if step.pass_name.partition("/")[0] == name]
        if not mine[-1].closing:
            books.cursors.reopen(name, _own_ids(_unfinished(mine)))


def _unfinished(steps: Sequence[StepRow]) -> list[Batch]:
    """Return the packed batches that no committed step ends."""
    done = {step.report.of for step in steps if step.report.is_last}
    packed = [Batch.from_json(row) for step in steps if step.report.packed for row in step.batch]
    return [batch for batch in packed if batch.number not in done]


def _own_ids(batches: Sequence[Batch]) -> tuple[str, ...]:
    """Return the members that the pass's own cursor counts: packed, they are no longer waiting to be looked at."""
    return tuple(record_id for batch in batches if not batch.reader for record_id in batch.member_ids)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return _first(cast("BaseExceptionGroup[BaseException]", first)) if isinstance(first, BaseExceptionGroup) else first
