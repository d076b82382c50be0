"""Runs a pass that asks a model: packs once, asks in parallel, commits batch by batch."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import cast

from agentcore.domain.temporal import to_text
from agentcore.stores.storage import ReadView
from dream.cycle.running.admission import moved_of
from dream.cycle.running.budget import Budget, kept_for
from dream.cycle.running.context import directives_mark, has_room, to_be_tried
from dream.cycle.running.model_calls import AnsweredBatch, Exchange, ModelCalls
from dream.cycle.running.pass_run import PassRun, elapsed
from dream.cycle.running.prompt_limits import PromptLimits
from dream.domain.proposal import Proposal, Refusal, Work
from dream.domain.reasons import WAITS_FOR_QUEUE, Refused
from dream.domain.report import RunKind
from dream.domain.rounds import Round
from dream.domain.step import Batch, Packing, StepDraft, StepReport, WaitingExchange
from dream.errors import InvalidDirectiveError
from dream.guards.names import VOCABULARY_FILE, Vocabulary, load_vocabulary
from dream.passes import ModelContext, ModelPass
from dream.passes.prompts import off_limits_rule
from dream.stores import DreamStores, dream_stores
from dream.stores.calls import Forgets, Spent
from dream.stores.runs import StepRow

_LOOKED_BACK = 20
"""Runs among which the dreams before this one are looked for."""


@dataclass(slots=True, kw_only=True)
class ModelPassRun(PassRun):
    """One model pass of one run; lives as long as it.

    Args:
        directives: The text of each directive, frozen when the run began.
        problems: Directives that cannot be used, and why: path and problem.
        later: The passes that come after it in the run and ask a model.
    """

    directives: Mapping[str, str]
    later: Sequence[str] = ()
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
        work = await self.model_pass.has_work(await self.context())
        waiting = await self.parts.storage.read(self.scope, lambda view: to_be_tried(view, self.options, self.name))
        return Work(work.pending + waiting, reports=work.reports)

    async def is_to_pack(self) -> bool:
        """Tell whether it is about to pack: it has all it needs, and something new to look at."""
        if self.steps or self.obstacle is not None or not self.dream_pass.requires <= self.parts.capabilities:
            return False
        if any(name in self.problems for name in self.model_pass.directives):
            return False
        if await self.parts.storage.read(self.scope, self._full) is not None or await self.waits() is not None:
            return False
        return bool((await self.model_pass.has_work(await self.context())).pending)

    async def _take_steps(self) -> None:
        if self.is_closed:
            return
        if not self._is_packed:
            await self._take_up_what_waited()
        asking = await self.asking()
        batches = await self._packed()
        left = await self._work_off(batches, asking)
        await self.heed_pause()
        await self._close(left, asking)
        if asking.failure is not None:
            raise asking.failure

    async def abandon(self) -> None:
        """Have the next run look again at what this one packed and did not deal with."""
        if self.steps and not self.is_closed:
            await self._close(_unfinished(self.steps), None)

    async def context(self) -> ModelContext:
        """Return what the pass may see now."""
        if self._vocabulary is None:
            folder = self.parts.data_dir
            loaded = load_vocabulary(None if folder is None else folder / "directives" / VOCABULARY_FILE)
            self._vocabulary = loaded.vocabulary
        context = await self.contexts.with_model(
            self.looked_at,
            directives=self._sent(),
            vocabulary=self._vocabulary,
        )
        limits = await self.parts.storage.read(self.scope, lambda view: PromptLimits.of(view, self.parts.chat))
        told = dict(context.directives)
        if context.off_limits:
            told["off-limits"] = off_limits_rule(context.off_limits)
        return replace(context, options=limits.applied(context.options, told))

    def _sent(self) -> dict[str, str]:
        return {name: self.directives[name] for name in self.model_pass.directives}

    @property
    def _is_packed(self) -> bool:
        return any(step.report.packed for step in self.steps)

    def _to_try(self, view: ReadView) -> list[WaitingExchange]:
        """Return the exchanges that wait and that this run has not taken up."""
        return [one for one in dream_stores(view).waiting.of(self.name) if one.tried_in != self.run_id]

    async def _take_up_what_waited(self) -> None:
        """Make the changes that there is room for now, and end what cannot be gone on with; the rest is packed."""
        for one in await self.parts.storage.read(self.scope, self._to_try):
            draft = await self.parts.storage.read(self.scope, partial(self._taken_up, one=one))
            if draft is not None:
                is_over = any(refusal.code == Refused.WAITED_TOO_LONG for refusal in draft.proposal.refused)
                ended = await self._ended(one) if is_over else None
                await self.commit(ended or draft)

    async def _ended(self, one: WaitingExchange) -> StepDraft | None:
        """Return what the pass makes of an exchange that waited too long, asking nothing more; None if it cannot."""
        if one.batch is None or one.waits_for_room or not one.rounds:
            return None
        over = replace(one, reason=Refused.WAITED_TOO_LONG)
        context = replace(await self.context(), waited={one.batch.number: over})
        proposal = await self.model_pass.interpret(context, one.batch, one.rounds)
        if proposal.waits is not None:
            return None
        return StepDraft(
            proposal=replace(proposal, cursor=None, backlog=0, done=False),
            exchange=replace(one, tried_in=self.run_id),
            waited=(one.exchange_id,),
            reader=one.reader,
            reopen=tuple(member for member in one.member_ids if member not in set(proposal.looked_at)),
        )

    def _taken_up(self, view: ReadView, one: WaitingExchange) -> StepDraft | None:
        """Return the step that drops an exchange or tries its changes; None if it goes on, or has no room yet."""
        forgotten = (Refusal.of(Refused.FORGOTTEN, one.member_ids),) if one.rounds is None else ()
        if one.waits_for_room and one.change_sets:
            if not has_room(view, self.options, self.name, one.reason):
                return None
            held = {change.record_id for change_set in one.change_sets for change in change_set.changes}
            made, for_review = ((), one.change_sets) if one.reason in WAITS_FOR_QUEUE else (one.change_sets, ())
            return StepDraft(
                proposal=Proposal(change_sets=made, for_review=for_review, refused=forgotten, done=False),
                exchange=replace(one, runs=one.runs + 1, tried_in=self.run_id, rounds=one.rounds or ()),
                waited=(one.exchange_id,),
                reader=one.reader,
                reopen=tuple(member for member in one.member_ids if member not in held) if forgotten else (),
            )
        refused = forgotten or self._too_long(view, one)
        moved = () if refused else moved_of(view, one.records)
        if moved:
            refused = (Refusal.of(Refused.STALE_SOURCE, moved),)
        if not refused:
            return None
        proposal = Proposal(refused=refused, done=False)
        return StepDraft(proposal=proposal, waited=(one.exchange_id,), reader=one.reader, reopen=one.member_ids)

    def _too_long(self, view: ReadView, one: WaitingExchange) -> tuple[Refusal, ...]:
        terms = self.options.waiting
        if one.runs < terms.runs and view.now - one.since < terms.within:
            return ()
        return (Refusal(Refused.WAITED_TOO_LONG, f"{one.reason} since {to_text(one.since)}, {one.runs} runs"),)

    async def _packed(self) -> list[Batch]:
        """Return the batches that are still to be asked about, packing them first if no process of this run has."""
        if not self._is_packed:
            await self.people.wait_until_idle()
            began = self.parts.clock.now()
            await self._freeze(await self.model_pass.pack(await self.context()), began)
        return self.unfinished

    @property
    def unfinished(self) -> list[Batch]:
        """The packed batches that no committed step ends."""
        return _unfinished(self.steps)

    async def pack_as(self, packing: Packing) -> None:
        """Pack what was packed for several passes together."""
        began = self.parts.clock.now()
        await self._take_up_what_waited()
        await self._freeze(packing, began)

    async def _freeze(self, packing: Packing, began: datetime) -> None:
        proposal = Proposal(
            change_sets=packing.change_sets,
            refused=packing.refused,
            notes=packing.notes,
            cursor=packing.cursor,
            looked_at=(*packing.looked_at, *_own_ids(packing.batches)),
            reopen=packing.reopen,
            backlog=packing.backlog,
            phases=packing.phases,
            fingerprint=directives_mark(self._sent()),
            done=False,
        )
        left = await self.parts.storage.read(self.scope, self._to_try)
        waits = tuple(replace(one, runs=one.runs + 1, tried_in=self.run_id) for one in left if not one.waits_for_room)
        going_on = [
            replace(one.batch, number=f"w{place}", waited=one.exchange_id)
            for place, one in enumerate(waits, 1)
            if one.batch is not None
        ]
        rows = [batch.to_json() for batch in (*going_on, *packing.batches)]
        seconds = elapsed(self.parts.clock, began)
        report = StepReport(packed=True, looked_at=len(packing.looked_at), seconds=seconds)
        await self.commit(StepDraft(proposal=proposal, batch=rows, waits=waits, report=report))

    async def asking(self) -> ModelCalls:
        """Return what makes its calls."""
        today = self.parts.clock.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)

        def before(view: ReadView) -> tuple[Spent, Spent, Forgets, PromptLimits, int]:
            books, limits = dream_stores(view), PromptLimits.of(view, self.parts.chat)
            dreams = (one for one in books.runs.newest(limit=_LOOKED_BACK) if one.kind is RunKind.DREAM)
            kept = kept_for(self.later, (one for one in dreams if one.run_id != self.run_id), self.options.model)
            return (
                books.calls.spent(run_id=self.run_id),
                books.calls.spent(since=today),
                books.calls.forgets(),
                limits,
                kept,
            )

        run, day, forgets, limits, kept = await self.parts.storage.read(self.scope, before)
        budget = Budget(self.parts.storage, self.scope, self.options.model, today, run.tokens, day, kept)
        at_once = self.options.model.calls_in_flight
        return ModelCalls(
            parts=self.parts,
            people=self.people,
            scope=self.scope,
            budget=budget,
            in_flight=at_once,
            forgets=forgets,
            limits=limits,
        )

    async def _work_off(self, batches: Sequence[Batch], asking: ModelCalls) -> list[Batch]:
        """Ask about all batches at once, commit them in their order, and return those that were not asked about."""
        waiting = await self.parts.storage.read(self.scope, lambda view: dream_stores(view).waiting.of(self.name))
        held = {one.exchange_id: one for one in waiting}
        waited = {batch.number: held[batch.waited] for batch in batches if batch.waited in held}
        context = replace(await self.context(), waited=waited)
        exchange = Exchange(asking, self.model_pass, context)
        left: list[Batch] = []
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(exchange.about(batch, _rounds_of(held.get(batch.waited)))) for batch in batches
                ]
                for batch, task in zip(batches, tasks, strict=True):
                    answered = await task
                    if answered is None:
                        left.append(batch)
                    elif not asking.lost_storage:
                        with asking.ending_with_storage():
                            await self._commit_batch(batch, answered, context, held.get(batch.waited))
        except BaseExceptionGroup as group_error:
            raise first_of(group_error) from None
        if asking.lost_storage:
            raise asking.lost_storage  # the run stays open, and whoever goes on with it finds what was answered
        return left

    async def _commit_batch(
        self,
        batch: Batch,
        parts: Sequence[AnsweredBatch],
        context: ModelContext,
        waited: WaitingExchange | None,
    ) -> None:
        """Commit what was answered about a batch, part by part if it was halved; *waited* is what it goes on with."""
        committed = {step.report.batch for step in self.steps}
        for part in parts:
            if part.batch.number in committed:
                continue  # by the process that was interrupted between two halves
            await self.people.wait_until_idle()
            began = self.parts.clock.now()
            proposal = await self._proposed(part, context)
            if part.batch.spans:  # a turn of which a slice is to be read again is not settled by another
                again = {one for step in self.steps for one in step.report.reopened}
                proposal = replace(proposal, looked_at=tuple(one for one in proposal.looked_at if one not in again))
            settled = set(part.batch.member_ids if proposal.waits else proposal.looked_at)
            reopen = tuple(one for one in part.batch.member_ids if one not in settled and not part.is_hopeless)
            moves = bool(part.batch.reader and settled)
            draft = StepDraft(
                proposal=replace(proposal, cursor=part.batch.cursor if moves else None, backlog=0, done=False),
                batch=[list(member) for member in part.batch.members],
                reader=part.batch.reader,
                exchange=self._exchange(part, waited),
                waited=() if waited is None else (waited.exchange_id,),
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

    def _exchange(self, part: AnsweredBatch, waited: WaitingExchange | None) -> WaitingExchange:
        """Return the exchange as it is kept where something of it waits."""
        if waited is not None and part.batch.waited and "." not in part.batch.number:
            return replace(waited, rounds=part.rounds)
        begun = self._writer().exchange(part.batch.number, self.parts.clock.now(), replace(part.batch, waited=""))
        kept = replace(begun, rounds=part.rounds)
        # Half of what waited has waited as long.
        return kept if waited is None else replace(kept, since=waited.since, runs=waited.runs, tried_in=self.run_id)

    async def _proposed(self, part: AnsweredBatch, context: ModelContext) -> Proposal:
        if part.refusal is not None:
            return Proposal(refused=(part.refusal,))
        proposal: Proposal | None = None
        if part.waits is None or part.waits is Refused.UNVERIFIED:
            # What is decided may be made now, though the rest was not read.
            proposal = await self.model_pass.interpret(context, part.batch, part.rounds)
        if proposal is None or (part.waits is not None and proposal.waits is None):
            waited = context.waited.get(part.batch.number)
            proposal = Proposal(waits=part.waits, undecided=() if waited is None else waited.change_sets)
        told = () if part.note is None else (part.note,)
        if proposal.waits is not None:
            told += (Refusal(proposal.waits, f"batch {part.batch.number}"),)
        return replace(proposal, refused=(*proposal.refused, *told))

    async def _close(self, left: Sequence[Batch], asking: ModelCalls | None) -> None:
        stopped = None if asking is None else asking.stopped
        members = _own_ids(left)
        packed = next((step.report.backlog for step in self.steps if step.report.packed), 0)
        waiting = await self.parts.storage.read(self.scope, self._waiting)
        again = sum(len(step.report.reopened) for step in self.steps)
        report = StepReport(stopped=stopped if isinstance(stopped, str) else None)
        proposal = Proposal(backlog=packed + len(members) + again + waiting)
        await self.commit(StepDraft(proposal=proposal, reopen=members, report=report))

    def _waiting(self, view: ReadView) -> int:
        return sum(one.count for one in dream_stores(view).waiting.counts() if one.pass_name == self.name)


def _rounds_of(waited: WaitingExchange | None) -> tuple[Round, ...]:
    return () if waited is None or waited.rounds is None else waited.rounds


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
    """Return the members that the pass's own cursor counts: packed, they are no longer waiting to be looked at.

    Those of an exchange that waited are not among them: it goes on waiting by itself.
    """
    return tuple(record_id for batch in batches if not (batch.reader or batch.waited) for record_id in batch.member_ids)


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error of a group, however deep."""
    first = group.exceptions[0]
    return (
        first_of(cast("BaseExceptionGroup[BaseException]", first)) if isinstance(first, BaseExceptionGroup) else first
    )
