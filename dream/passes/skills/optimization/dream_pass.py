"""Runs the pass skill-optimization: improves skills that fail or say too little, on trial."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agentcore.domain.skill import Skill
from agentcore.llm.chat import ChatRequest
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import SKILL_OPTIMIZATION
from dream.domain.change import ChangeSet
from dream.domain.cluster import SettledCluster
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, NextRound, Round, ShownPart
from dream.domain.step import Batch, Packing
from dream.options import ModelOptions
from dream.passes.conversation.slices import sections_of
from dream.passes.declared import DeclaredPass
from dream.passes.exchange_state import Item
from dream.passes.protocol import ModelContext, RunMemo
from dream.passes.repairs import items_of
from dream.passes.skills.answers import by_handles, read_skills
from dream.passes.skills.lines import handles, tokens_of
from dream.passes.skills.optimization.judging import Rewrite, RewriteJudgeInput, change_set, joined, judge
from dream.passes.skills.optimization.outcomes import Outcomes
from dream.passes.skills.optimization.packing import (
    REVERT,
    RewriteCandidate,
    RewriteWork,
    candidate_of,
    find,
    reverted,
    sections,
    tried_texts,
)
from dream.passes.skills.optimization.prompt import question as asked, room_for_section, room_for_skills, weigh
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
            batches=tuple(_batches(chosen, context.options.model)),
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
        """Ask about the skills that are as they were packed, have the rewrites read a second time, and repaired.

        Of a skill that no prompt has room for each section is asked about first.
        """
        if batch.spans and len(rounds) < batch.sections:
            shown = await self._shown(context, batch)
            one = {handle: part for handle, part in shown.items() if handle == f"s{len(rounds) + 1}"}
            return NextRound(self._worded(context, batch, one)) if one else None
        return await (await self._exchange(context, batch)).next_round(_as_one(batch, rounds))

    def _worded(self, context: ModelContext, batch: Batch, shown: Mapping[str, RewriteCandidate]) -> ChatRequest:
        return asked(context, shown, self.instructions, self.name, sections=batch.sections)

    async def _shown(self, context: ModelContext, batch: Batch) -> dict[str, RewriteCandidate]:
        """Return what is asked about, by handle: skills, or the sections of one."""
        known = await self._known(context)
        shown = await context.read(lambda view: _shown(view, context, batch, known))
        return sections(shown["s1"], batch.spans) if batch.spans and shown else shown

    async def _exchange(self, context: ModelContext, batch: Batch) -> VerifiedExchange[Rewrite]:
        shown = await self._shown(context, batch)

        async def question(cited: frozenset[str] | None) -> ChatRequest | None:
            wanted = {handle: one for handle, one in shown.items() if cited is None or handle in cited}
            # Several sections have no room in one prompt: they are put right by the next look at the skill.
            is_too_much = bool(batch.spans) and len(wanted) > 1
            return self._worded(context, batch, wanted) if wanted and not is_too_much else None

        async def judged(answer: Answer) -> tuple[Sequence[Item[Rewrite]], Sequence[Refusal]]:
            return await _judged(context, batch, answer, shown)

        return VerifiedExchange(context=context, batch=batch, name="toSave", question=question, judge=judged)

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Rewrite what holds, the sections of a skill in one change; an answer that cannot be read settles nothing."""
        outcome = await (await self._exchange(context, batch)).outcome(_as_one(batch, rounds))
        if outcome.waits or isinstance(read_skills(outcome.answer), Refusal):
            return Proposal(refused=outcome.refused, waits=outcome.waits)
        known = await self._known(context)
        shown = await context.read(lambda view: _shown(view, context, batch, known))
        settled, refused = await _whole(context, batch, shown, [one.value for one in outcome.settled])
        reviewed, unfit = await _whole(context, batch, shown, [one.value for one in outcome.for_review])
        made = [change_set(one, context.as_of, context.new_id) for one in settled]
        for_review = [change_set(one, context.as_of, context.new_id) for one in reviewed]
        marks, unsettled = await _settling(context, [*made, *for_review], shown, known)
        return Proposal(
            change_sets=tuple(made),
            for_review=tuple(for_review),
            refused=(*outcome.refused, *outcome.unread, *refused, *unfit),
            looked_at=tuple(one.skill.id for one in shown.values()),
            settled=marks,
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
    """Return the candidates that a prompt and an answer have room for, whole or by sections."""
    model = context.options.model
    fitting = [one for one in found.candidates if _fits(one, model) or _places(one, model)]
    shown = {one.skill.id for one in fitting}
    names = [one.skill.name for one in found.candidates if one.skill.id not in shown]
    problem = "is never cut: raise model.prompt_tokens or answer_tokens"
    return fitting, [Refusal(Refused.PROMPT_TOO_LONG, f"{name} {problem}") for name in names]


def _fits(one: RewriteCandidate, model: ModelOptions) -> bool:
    room = room_for_skills(model)
    return tokens_of(one.skill) <= min(room, model.answer_tokens) and weigh(one) <= room


def _places(one: RewriteCandidate, model: ModelOptions) -> tuple[ShownPart, ...]:
    """Return where the sections of a skill stand that is shown by them."""
    found = sections_of(one.skill.content, room_for_section(one, model))
    return tuple(ShownPart(one.skill.id, start, end) for start, end in found)


def _batches(candidates: Sequence[RewriteCandidate], model: ModelOptions) -> list[Batch]:
    calls: list[list[RewriteCandidate]] = []
    used = room = room_for_skills(model)
    for one in candidates:
        weight = weigh(one) if _fits(one, model) else room
        if used + weight > room:
            calls.append([])
            used = 0
        calls[-1].append(one)
        used += weight
    return [
        Batch(
            number=str(number),
            kind=KIND,
            members=tuple((one.skill.id, one.skill.version) for one in call),
            spans=() if _fits(call[0], model) else _places(call[0], model),
        )
        for number, call in enumerate(calls, 1)
    ]


def _as_one(batch: Batch, rounds: Sequence[Round]) -> Sequence[Round]:
    """Return the rounds of an exchange as if all sections of a skill had been answered about at once."""
    if not batch.spans or len(rounds) < batch.sections:
        return rounds
    read = rounds[: batch.sections]
    whole = {name: [item for one in read for item in items_of(one.answer, name)] for name in ("toSave", "toDelete")}
    broken = (one.answer for one in read if isinstance(read_skills(one.answer), Refusal))
    return [replace(read[0], answer=next(broken, whole)), *rounds[batch.sections :]]


async def _whole(
    context: ModelContext, batch: Batch, shown: Mapping[str, RewriteCandidate], rewrites: Sequence[Rewrite]
) -> tuple[list[Rewrite], list[Refusal]]:
    """Return rewrites of whole skills: those of the sections of one are one."""
    if not batch.spans or not shown:
        return [*rewrites], []
    whole = shown["s1"]
    tried = tried_texts(await context.read(lambda view: view.skills.earlier())).get(whole.skill.name, ())
    made = joined(whole, batch.spans, {one.candidate.skill.id: one for one in rewrites}, tried)
    return ([made], []) if isinstance(made, Rewrite) else ([], [made] if isinstance(made, Refusal) else [])


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
        handles=frozenset(shown if batch.spans else handles(batch.member_ids)),
        tried=tried_texts(await context.read(lambda view: view.skills.earlier())),
        vocabulary=context.vocabulary,
    )
    if batch.spans:  # the summary is that of the whole
        saves = tuple(one.model_copy(update={"summary": None}) for one in read.saves)
        read = replace(read, saves=saves)
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
