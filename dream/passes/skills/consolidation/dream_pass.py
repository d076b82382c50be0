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
from dream.domain.rounds import Answer, NextRound, Round, answers_of
from dream.domain.step import Batch, Packing
from dream.passes.declared import DeclaredPass
from dream.passes.prompts import repair_request
from dream.passes.protocol import ModelContext, RunMemo
from dream.passes.repairs import ask_and_repair, with_texts
from dream.passes.skills.answers import SkillAnswer, by_handles, read_skills
from dream.passes.skills.consolidation.judging import (
    JudgedSkills,
    SkillHandles,
    SkillJudgeInput,
    after_state,
    counts_of,
    judge,
    sort_out,
)
from dream.passes.skills.consolidation.packing import SkillReviewPlan, batch_of, planned, settling
from dream.passes.skills.consolidation.prompt import (
    SkillUsage,
    complaint,
    question,
    read_usage,
    room_for_skills,
)
from dream.passes.skills.lines import handles
from dream.passes.skills.skill_names import clean_skill_name

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
        """Ask about the skills that are as they were packed, then for a repair of the answer."""
        return await ask_and_repair(
            rounds, lambda: self._question(context, batch), lambda answer: self._repair(context, batch, answer)
        )

    async def _question(self, context: ModelContext, batch: Batch) -> ChatRequest | None:
        """Ask about the skills that are as they were packed."""
        skill_handles = await context.read(lambda view: _skill_handles(view, batch, None))
        if not skill_handles.shown:
            return None
        used = await self._usage.of(context, lambda: _usage(context))
        return question(context, skill_handles.shown, used, self.instructions, self.name)

    async def _repair(self, context: ModelContext, batch: Batch, answer: Answer) -> ChatRequest | None:
        """Ask for a repair of an answer that loses or makes up something, or retires and saves nothing."""
        judged, _ = await _judged(context, batch, answer)
        if not judged.unfaithful and not judged.problem:
            return None
        first = await self._question(context, batch)
        return first and repair_request(first, answer, complaint(context, judged.unfaithful, judged.problem))

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Make of the last answer that can be used what it is worth; one that cannot settles nothing."""
        answers = answers_of(rounds)
        tried = [await _judged(context, batch, answer) for answer in answers]
        usable = [(*one, answer) for one, answer in zip(tried, answers, strict=True) if not one[0].problem]
        if not usable:
            return Proposal(refused=tuple(tried[-1][0].refused))
        judged, skill_handles, answer = usable[-1]
        reviewed, gone = after_state(skill_handles.shown, judged.change_sets)
        settled, unsettled = settling(reviewed, gone, await context.settled(), context)
        return Proposal(
            change_sets=tuple(judged.change_sets),
            refused=with_texts(judged.refused, answer, "toSave", batch),
            notes={"reviewed": len(skill_handles.shown)},
            looked_at=tuple(skill.id for skill in skill_handles.shown.values()),
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
    skills = await context.read(lambda view: view.skills.catalogue())
    if len(skills) < _FEWEST:
        return SkillReviewPlan((), frozenset(), ())
    settled = await context.settled()
    room = room_for_skills(context.options.model)
    # Thousands of skills are cut into words and compared.
    return await asyncio.to_thread(planned, skills, settled, context, room)


async def _usage(context: ModelContext) -> SkillUsage:
    return await context.read(lambda view: read_usage(view, context, view.skills.names()))


async def _judged(context: ModelContext, batch: Batch, answer: Answer) -> tuple[JudgedSkills, SkillHandles]:
    read = read_skills(answer)
    skill_handles = await context.read(lambda view: _skill_handles(view, batch, read))
    if isinstance(read, Refusal):
        return JudgedSkills(refused=[read], problem=read.detail), skill_handles
    if read.retirements and not answer.get("toSave"):
        problem = "it retires skills and saves none"
        return JudgedSkills(refused=[Refusal(Refused.NO_REPLACEMENT, problem)], problem=problem), skill_handles
    read = by_handles(read, skill_handles.names)
    operations, refused = sort_out(read, skill_handles)
    marks = {mark for operation in operations for mark in operation.marks().values()}
    judge_input = SkillJudgeInput(
        skill_handles=skill_handles,
        declined=frozenset(await context.declined(marks)),
        vocabulary=context.vocabulary,
        as_of=context.as_of,
        new_id=context.new_id,
    )
    # Comparing procedures takes longer than the event loop may stall.
    return await asyncio.to_thread(judge, operations, [*read.refused, *refused], judge_input), skill_handles


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
