"""Runs the pass skill-consolidation: merges overlapping skills and connects related ones."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from agentcore.llm.chat import ChatRequest
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import SKILL_CONSOLIDATION
from dream.domain.change import ChangeSet
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, NextRound, Round
from dream.domain.step import Batch, Packing
from dream.passes.declared import DeclaredPass
from dream.passes.exchange_state import Item
from dream.passes.protocol import ModelContext, RunMemo
from dream.passes.skills.answers import SkillAnswer, by_handles, read_skills
from dream.passes.skills.consolidation.judging import (
    FitOperation,
    Operation,
    SkillHandles,
    SkillJudgeInput,
    after_state,
    changes_of,
    counts_of,
    judge,
    sort_out,
)
from dream.passes.skills.consolidation.packing import SkillReviewPlan, batch_of, planned, settling
from dream.passes.skills.consolidation.prompt import SkillUsage, question as asked, read_usage, room_for_skills
from dream.passes.skills.lines import handles
from dream.passes.skills.skill_names import clean_skill_name
from dream.passes.verified_exchange import VerifiedExchange

_LIST = "toSave"
_FEWEST = 2
"""One skill alone has nothing to be consolidated with."""


class SkillConsolidation(DeclaredPass, declaration=SKILL_CONSOLIDATION):
    """Has a model merge, link and prune skills, and write guides to those that belong together.

    Every skill is shown whole, with those it belongs to. A skill that did not change since it was reviewed is shown
    only beside one that did, until a week has passed (`docs/explanation/skills.md`).
    """

    def __init__(self) -> None:
        self._plans = RunMemo[SkillReviewPlan]()
        self._usage = RunMemo[SkillUsage]()

    async def has_work(self, context: ModelContext) -> Work:
        """Skills that are new, changed or due again, and can be shown with another."""
        pending = (await self._plans.of(context, lambda: _plan(context))).count()
        wait = context.options.skill_consolidation.review_after
        reviewed = min((one.declined_at for one in await context.settled()), default=None)
        return Work(pending, at=None if reviewed is None else reviewed + wait)

    async def pack(self, context: ModelContext) -> Packing:
        """Put skills that belong together into one batch, as many as a run reviews."""
        plan = await self._plans.of(context, lambda: _plan(context))
        batches: list[Batch] = []
        taken = 0
        for call in plan.calls:
            if taken >= context.options.skill_consolidation.max_skills:
                break
            batches.append(batch_of(len(batches) + 1, call))
            taken += sum(skill.id in plan.due for skill in call)
        problem = "is never cut: raise model.prompt_tokens or answer_tokens"
        too_long = [Refusal(Refused.PROMPT_TOO_LONG, f"{skill.name} {problem}") for skill in plan.too_long]
        return Packing(
            batches=tuple(batches),
            looked_at=tuple(sorted(context.reopened)),
            refused=tuple(too_long),
            backlog=plan.count() - taken,
        )

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask about the skills that are as they were packed, have the answer read a second time, and repaired."""
        return await self._exchange(context, batch).next_round(rounds)

    def _exchange(self, context: ModelContext, batch: Batch) -> VerifiedExchange[FitOperation]:
        async def question(_: frozenset[str] | None) -> ChatRequest | None:
            # A skill that goes is not among the sources of the item that takes its place: all are shown again.
            skill_handles = await context.read(lambda view: _skill_handles(view, batch, None))
            if not skill_handles.shown:
                return None
            used = await self._usage.of(context, lambda: _usage(context))
            return asked(context, skill_handles.shown, used, self.instructions, self.name)

        async def judged(answer: Answer) -> tuple[Sequence[Item[FitOperation]], Sequence[Refusal]]:
            return await _judged(context, batch, answer)

        return VerifiedExchange(context=context, batch=batch, name=_LIST, question=question, judge=judged)

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Change what holds; an answer of which nothing can be used settles nothing."""
        outcome = await self._exchange(context, batch).outcome(rounds)
        if outcome.waits or isinstance(_readable(outcome.answer), Refusal):
            return Proposal(refused=outcome.refused, waits=outcome.waits)
        judge_input, _, _ = await _judge_input(context, batch, outcome.answer)
        made = changes_of([one.value for one in outcome.settled], judge_input)
        for_review = changes_of([one.value for one in outcome.for_review], judge_input)
        shown = judge_input.skill_handles.shown
        reviewed, gone = after_state(shown, [*made, *for_review])
        settled, unsettled = settling(reviewed, gone, await context.settled(), context)
        return Proposal(
            change_sets=tuple(made),
            for_review=tuple(for_review),
            refused=(*outcome.refused, *outcome.unread),
            notes={"reviewed": len(shown)},
            looked_at=tuple(skill.id for skill in shown.values()),
            settled=settled,
            unsettled=unsettled,
        )

    def made(self, change_sets: Sequence[ChangeSet]) -> Notes:
        """Count what was retired, rewritten and made into guides."""
        return counts_of(change_sets)

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over the batches."""
        return summed(notes, "reviewed", "retired", "rewritten", "guides")


async def _plan(context: ModelContext) -> SkillReviewPlan:
    waiting = await context.waiting()
    skills = [one for one in await context.read(lambda view: view.skills.catalogue()) if one.id not in waiting]
    if len(skills) < _FEWEST:
        return SkillReviewPlan((), frozenset(), ())
    settled = await context.settled()
    room = room_for_skills(context.options.model)
    # Thousands of skills are cut into words and compared.
    return await asyncio.to_thread(planned, skills, settled, context, room)


async def _usage(context: ModelContext) -> SkillUsage:
    return await context.read(lambda view: read_usage(view, context, view.skills.names()))


def _readable(answer: Answer) -> SkillAnswer | Refusal:
    """Return an answer as it can be read, or why nothing of it is used."""
    read = read_skills(answer)
    if isinstance(read, SkillAnswer) and read.retirements and not answer.get(_LIST):
        return Refusal(Refused.NO_REPLACEMENT, "it retires skills and saves none")
    return read


async def _judge_input(
    context: ModelContext, batch: Batch, answer: Answer
) -> tuple[SkillJudgeInput, list[Operation], list[Refusal]]:
    """Return what an answer is judged by, what it asks for, and why parts of it cannot be."""
    read = _readable(answer)
    skill_handles = await context.read(lambda view: _skill_handles(view, batch, read))
    operations: list[Operation] = []
    refused: list[Refusal] = [read] if isinstance(read, Refusal) else list(read.refused)
    if isinstance(read, SkillAnswer):
        operations, more = sort_out(by_handles(read, skill_handles.names), skill_handles)
        refused += more
    marks = {mark for operation in operations for mark in operation.marks().values()}
    judge_input = SkillJudgeInput(
        skill_handles=skill_handles,
        declined=frozenset(await context.declined(marks)),
        vocabulary=context.vocabulary,
        as_of=context.as_of,
        new_id=context.new_id,
    )
    return judge_input, operations, refused


async def _judged(
    context: ModelContext, batch: Batch, answer: Answer
) -> tuple[Sequence[Item[FitOperation]], Sequence[Refusal]]:
    judge_input, operations, refused = await _judge_input(context, batch, answer)
    # Comparing procedures takes longer than the event loop may stall.
    items, more = await asyncio.to_thread(judge, operations, judge_input)
    return items, [*refused, *more]


def _skill_handles(view: ReadView, batch: Batch, read: SkillAnswer | Refusal | None) -> SkillHandles:
    versions = dict(batch.members)
    ids = handles(batch.member_ids)
    by_id = {skill.id: skill for skill in view.skills.get_many(batch.member_ids) if skill.status == "active"}
    shown = {
        handle: by_id[record_id]
        for handle, record_id in ids.items()
        if record_id in by_id and by_id[record_id].version == versions[record_id]
    }
    names = {handle: by_id[record_id].name for handle, record_id in ids.items() if record_id in by_id}
    skill_handles = SkillHandles(shown=shown, handles=frozenset(ids), names=names)
    # An answer that changes nothing needs to know of no other skill.
    if isinstance(read, SkillAnswer) and (read.saves or read.retirements):
        return _with_others(view, skill_handles, by_handles(read, names))
    return skill_handles


def _with_others(view: ReadView, skill_handles: SkillHandles, read: SkillAnswer) -> SkillHandles:
    """Return the handles with what an answer has to know of other skills."""
    fresh = [draft.name for draft in read.saves if skill_handles.named(draft.name) is None]
    successors = {one.replaced_by for one in read.retirements}
    going = {skill_handles.shown[one.handle].name for one in read.retirements if one.handle in skill_handles.shown}
    leading = view.skills.leading_to(going)
    related = {name for skill in (*skill_handles.shown.values(), *leading) for name in (skill.name, *skill.see_also)}
    related |= {name for draft in read.saves for name in draft.see_also}
    live = view.skills.names(related | successors)
    return replace(
        skill_handles,
        live=frozenset(live),
        successors={name: found for name in sorted(successors & live) if (found := view.skills.named(name))},
        leading=tuple(leading),
        taken=_taken(view, fresh) if fresh else frozenset(),
    )


def _taken(view: ReadView, names: Sequence[str]) -> frozenset[str]:
    """Return those names, in small letters, that a skill has or once had, in whatever case if it is active."""
    wanted = {name.strip() for name in names} | {clean_skill_name(name) for name in names}
    folded = {name.casefold() for name in wanted}
    had = {name.casefold() for name in view.skills.taken(wanted)}
    return frozenset(had | ({name.casefold() for name in view.skills.names()} & folded))
