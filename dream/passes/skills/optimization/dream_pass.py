"""Runs the pass skill-optimization: improves skills that fail or say too little, on trial."""

import asyncio
from collections.abc import Mapping, Sequence

from agentcore.llm.chat import ChatRequest
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import SKILL_OPTIMIZATION
from dream.domain.change import ChangeSet
from dream.domain.cluster import SettledCluster
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, NextRound, Round, answers_of
from dream.domain.step import Batch, Packing
from dream.passes.declared import DeclaredPass
from dream.passes.prompts import repair_request
from dream.passes.protocol import ModelContext, RunMemo
from dream.passes.repairs import ask_and_repair, with_texts
from dream.passes.skills.answers import by_handles, read_skills
from dream.passes.skills.lines import handles, tokens_of
from dream.passes.skills.optimization.judging import JudgedRewrites, RewriteJudgeInput, judge
from dream.passes.skills.optimization.outcomes import Outcomes
from dream.passes.skills.optimization.packing import (
    REVERT,
    RewriteCandidate,
    RewriteWork,
    candidate_of,
    find,
    reverted,
    tried_texts,
)
from dream.passes.skills.optimization.prompt import complaint, question, room_for_skills, weigh

KIND = "skills"


class SkillOptimization(DeclaredPass, declaration=SKILL_OPTIMIZATION):
    """Has a model improve skills that were used where something went wrong, and skills that say too little.

    The text before a rewrite is kept. If the skill then fails more often than before, a later run brings it back,
    without asking anybody (`docs/explanation/skills.md`).
    """

    def __init__(self) -> None:
        self._outcomes = RunMemo[Outcomes]()

    async def has_work(self, context: ModelContext) -> Work:
        """Skills at risk or sparse that nobody looked at as they are, and rewrites to be taken back."""
        found = await find(context, await self._known(context))
        return Work(len(_fitting(context, found)[0]) + len(found.worse))

    async def pack(self, context: ModelContext) -> Packing:
        """Take back what made it worse, and put the others into batches, none cut."""
        found = await find(context, await self._known(context))
        fitting, too_long = _fitting(context, found)
        chosen = fitting[: context.options.skill_optimization.max_skills]
        return Packing(
            batches=tuple(_batches(chosen, room_for_skills(context.options.model))),
            change_sets=tuple(reverted(trial, why, context.as_of) for trial, why in found.worse),
            looked_at=tuple(sorted(context.reopened)),
            refused=tuple(too_long),
            backlog=len(fitting) - len(chosen),
            notes={
                "at_risk": sum(bool(one.failures) for one in chosen),
                "sparse": sum(one.sparse for one in chosen),
            },
        )

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask about the skills that are as they were packed, then for a repair of the rewrites."""
        return await ask_and_repair(
            rounds, lambda: self._question(context, batch), lambda answer: self._repair(context, batch, answer)
        )

    async def _question(self, context: ModelContext, batch: Batch) -> ChatRequest | None:
        """Ask about the skills that are as they were packed."""
        known = await self._known(context)
        shown = await context.read(lambda view: _shown(view, context, batch, known))
        return question(context, shown, self.instructions, self.name) if shown else None

    async def _repair(self, context: ModelContext, batch: Batch, answer: Answer) -> ChatRequest | None:
        """Ask for a repair of rewrites that lost something, or made up an address."""
        judged, shown = await _judged(context, batch, answer, await self._known(context))
        if not isinstance(judged, JudgedRewrites) or not judged.unfaithful:
            return None
        first = question(context, shown, self.instructions, self.name)
        return repair_request(first, answer, complaint(context, judged.unfaithful))

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Rewrite what holds, from the last answer that can be read; one that cannot settles nothing."""
        answers = answers_of(rounds)
        known = await self._known(context)
        tried = [await _judged(context, batch, answer, known) for answer in answers]
        readable = [
            (judged, shown, answer)
            for (judged, shown), answer in zip(tried, answers, strict=True)
            if isinstance(judged, JudgedRewrites)
        ]
        if not readable:
            return Proposal(refused=tuple(judged for judged, _ in tried[-1:] if isinstance(judged, Refusal)))
        judged, shown, answer = readable[-1]
        settled, unsettled = await _settling(context, judged, shown, known)
        return Proposal(
            change_sets=tuple(judged.change_sets),
            refused=with_texts(judged.refused, answer, "toSave", batch),
            looked_at=tuple(one.skill.id for one in shown.values()),
            settled=settled,
            unsettled=unsettled,
        )

    async def _known(self, context: ModelContext) -> Outcomes:
        return await self._outcomes.of(context, lambda: context.read(lambda view: Outcomes.read(view, context.as_of)))

    def made(self, change_sets: Sequence[ChangeSet]) -> Notes:
        """Count what was rewritten, and what went back to its earlier text."""
        taken_back = sum(one.operation == REVERT for one in change_sets)
        return {"rewritten": len(change_sets) - taken_back, "reverted": taken_back}

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over packing and batches."""
        return summed(notes, "at_risk", "sparse", "rewritten", "reverted")


def _fitting(context: ModelContext, found: RewriteWork) -> tuple[list[RewriteCandidate], list[Refusal]]:
    """Return the candidates that a prompt and an answer have room for, with as many failures as fit."""
    room = room_for_skills(context.options.model)
    longest = min(room, context.options.model.answer_tokens)
    fitting = [one for one in found.candidates if tokens_of(one.skill) <= longest and weigh(one) <= room]
    shown = {one.skill.id for one in fitting}
    names = [one.skill.name for one in found.candidates if one.skill.id not in shown]
    problem = "is never cut: raise model.prompt_tokens or answer_tokens"
    return fitting, [Refusal(Refused.PROMPT_TOO_LONG, f"{name} {problem}") for name in names]


def _batches(candidates: Sequence[RewriteCandidate], room: int) -> list[Batch]:
    calls: list[list[RewriteCandidate]] = []
    used = room
    for one in candidates:
        weight = weigh(one)
        if used + weight > room:
            calls.append([])
            used = 0
        calls[-1].append(one)
        used += weight
    return [
        Batch(number=str(number), kind=KIND, members=tuple((one.skill.id, one.skill.version) for one in call))
        for number, call in enumerate(calls, 1)
    ]


def _shown(view: ReadView, context: ModelContext, batch: Batch, outcomes: Outcomes) -> dict[str, RewriteCandidate]:
    versions = dict(batch.members)
    by_id = {skill.id: skill for skill in view.skills.get_many(batch.member_ids) if skill.status == "active"}
    return {
        handle: candidate_of(by_id[record_id], outcomes, context)
        for handle, record_id in handles(batch.member_ids).items()
        if record_id in by_id and by_id[record_id].version == versions[record_id]
    }


async def _judged(
    context: ModelContext, batch: Batch, answer: Answer, outcomes: Outcomes
) -> tuple[JudgedRewrites | Refusal, Mapping[str, RewriteCandidate]]:
    read = read_skills(answer)
    shown = await context.read(lambda view: _shown(view, context, batch, outcomes))
    if isinstance(read, Refusal):
        return read, shown
    judge_input = RewriteJudgeInput(
        shown=shown,
        handles=frozenset(handles(batch.member_ids)),
        tried=tried_texts(await context.read(lambda view: view.skills.earlier())),
        vocabulary=context.vocabulary,
        as_of=context.as_of,
        new_id=context.new_id,
    )
    # Comparing procedures takes longer than the event loop may stall.
    named = by_handles(read, {handle: one.skill.name for handle, one in shown.items()})
    return await asyncio.to_thread(judge, named, judge_input), shown


async def _settling(
    context: ModelContext, judged: JudgedRewrites, shown: Mapping[str, RewriteCandidate], outcomes: Outcomes
) -> tuple[tuple[SettledCluster, ...], tuple[str, ...]]:
    """Return the marks to keep of what was looked at, as the answer leaves it, and those it takes the place of."""
    settled = tuple(
        SettledCluster(
            fingerprint=candidate_of(judged.after(one.skill), outcomes, context).mark(context.directives),
            record_ids=(one.skill.id,),
            declines=1,
            declined_at=context.as_of,
        )
        for one in shown.values()
    )
    kept = {one.fingerprint for one in settled}
    ids = {one.skill.id for one in shown.values()}
    old = {one.fingerprint for one in await context.settled() if not ids.isdisjoint(one.record_ids)}
    return settled, tuple(sorted(old - kept))
