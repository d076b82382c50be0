"""Runs the pass skill-optimization: improves skills that fail or say too little, on trial."""

import asyncio
from collections.abc import Mapping, Sequence

from agentcore.domain.skill import Skill
from agentcore.llm.chat import ChatRequest
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import SKILL_OPTIMIZATION
from dream.domain.change import ChangeSet
from dream.domain.cluster import SettledCluster
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, NextRound, Round
from dream.domain.step import Batch, Packing
from dream.passes.declared import DeclaredPass
from dream.passes.exchange_state import Item
from dream.passes.protocol import ModelContext, RunMemo
from dream.passes.skills.answers import by_handles, read_skills
from dream.passes.skills.lines import handles, tokens_of
from dream.passes.skills.optimization.judging import Rewrite, RewriteJudgeInput, change_set, judge
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
from dream.passes.skills.optimization.prompt import question as asked, room_for_skills, weigh
from dream.passes.verified_exchange import VerifiedExchange

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
        """Ask about the skills that are as they were packed, have the rewrites read a second time, and repaired."""
        return await (await self._exchange(context, batch)).next_round(rounds)

    async def _exchange(self, context: ModelContext, batch: Batch) -> VerifiedExchange[Rewrite]:
        known = await self._known(context)
        shown = await context.read(lambda view: _shown(view, context, batch, known))

        async def question(cited: frozenset[str] | None) -> ChatRequest | None:
            wanted = {handle: one for handle, one in shown.items() if cited is None or handle in cited}
            return asked(context, wanted, self.instructions, self.name) if wanted else None

        async def judged(answer: Answer) -> tuple[Sequence[Item[Rewrite]], Sequence[Refusal]]:
            return await _judged(context, batch, answer, shown)

        return VerifiedExchange(context=context, batch=batch, name="toSave", question=question, judge=judged)

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Rewrite what holds; an answer that cannot be read settles nothing."""
        outcome = await (await self._exchange(context, batch)).outcome(rounds)
        if outcome.waits or isinstance(read_skills(outcome.answer), Refusal):
            return Proposal(refused=outcome.refused, waits=outcome.waits)
        known = await self._known(context)
        shown = await context.read(lambda view: _shown(view, context, batch, known))
        made = [change_set(one.value, context.as_of, context.new_id) for one in outcome.settled]
        for_review = [change_set(one.value, context.as_of, context.new_id) for one in outcome.for_review]
        settled, unsettled = await _settling(context, [*made, *for_review], shown, known)
        return Proposal(
            change_sets=tuple(made),
            for_review=tuple(for_review),
            refused=(*outcome.refused, *outcome.unread),
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
    context: ModelContext, batch: Batch, answer: Answer, shown: Mapping[str, RewriteCandidate]
) -> tuple[Sequence[Item[Rewrite]], Sequence[Refusal]]:
    read = read_skills(answer)
    if isinstance(read, Refusal):
        return [], [read]
    judge_input = RewriteJudgeInput(
        shown=shown,
        handles=frozenset(handles(batch.member_ids)),
        tried=tried_texts(await context.read(lambda view: view.skills.earlier())),
        vocabulary=context.vocabulary,
    )
    # Comparing procedures takes longer than the event loop may stall.
    named = by_handles(read, {handle: one.skill.name for handle, one in shown.items()})
    return await asyncio.to_thread(judge, named, judge_input)


async def _settling(
    context: ModelContext, made: Sequence[ChangeSet], shown: Mapping[str, RewriteCandidate], outcomes: Outcomes
) -> tuple[tuple[SettledCluster, ...], tuple[str, ...]]:
    """Return the marks to keep of what was looked at, as the answer leaves it, and those it takes the place of."""
    changed = {change.record_id: change.after for one in made for change in one.changes}
    left = [(after if isinstance(after := changed.get(one.skill.id), Skill) else one.skill) for one in shown.values()]
    settled = tuple(
        SettledCluster(
            fingerprint=candidate_of(skill, outcomes, context).mark(context.directives),
            record_ids=(skill.id,),
            declines=1,
            declined_at=context.as_of,
        )
        for skill in left
    )
    kept = {one.fingerprint for one in settled}
    ids = {one.skill.id for one in shown.values()}
    old = {one.fingerprint for one in await context.settled() if not ids.isdisjoint(one.record_ids)}
    return settled, tuple(sorted(old - kept))
