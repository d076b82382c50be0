"""Runs the pass wisp-failures: writes what keeps failing into the skill that produced it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from agentcore.domain.memory import Trust
from agentcore.domain.signals import FailureCategory, WispRun
from agentcore.domain.skill import Skill
from agentcore.domain.text import normalise
from agentcore.hosting.checks import MAX_NAME
from agentcore.llm.chat import ChatRequest
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import WISP_FAILURES
from dream.domain.change import Change, ChangeSet
from dream.domain.cluster import SettledCluster
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.rounds import Answer, NextRound, Round
from dream.domain.step import Batch, Packing
from dream.guards.secrets import secret_in
from dream.options import PromotionPolicy
from dream.passes.declared import DeclaredPass
from dream.passes.exchange_state import Item
from dream.passes.protocol import ModelContext, RunMemo
from dream.passes.skills.lines import handles
from dream.passes.skills.skill_names import clean_skill_name
from dream.passes.verified_exchange import VerifiedExchange
from dream.passes.wisp_failures.judging import UPDATES, Annotation, FailureJudgeInput, classified, judge
from dream.passes.wisp_failures.patterns import FailureCase, FailureSurvey, RepeatedTask, fresh_cases, named, survey
from dream.passes.wisp_failures.prompt import question, room_for_cases, weigh

PROMOTE: Final = "wisp-promote"
_FOLDER: Final = "wisps/"
_LISTED: Final = 20
"""Candidates named in a report."""


@dataclass(frozen=True, slots=True)
class Storable:
    """A wisp that can become a skill.

    Args:
        promotion: What speaks for it.
        run: The oldest successful run whose steps were kept.
        name: What the skill will be called.
    """

    promotion: RepeatedTask
    run: WispRun
    name: str

    @property
    def mark(self) -> str:
        """What a person declines by taking the skill back."""
        return blake2b(f"{PROMOTE}\x1f{self.promotion.shape}".encode(), digest_size=16).hexdigest()


def listed(scene: FailureSurvey) -> list[dict[str, Any]]:
    """Return the candidates as a report names them."""
    return [
        {
            "description": " ".join(one.description.split())[:120],
            "shape": one.shape,
            "successes": len(one.successes),
            "runs": one.runs,
            "skill": None if skill is None else skill.name,
        }
        for one, skill in scene.promotions[:_LISTED]
    ]


async def storable(context: ModelContext, scene: FailureSurvey) -> list[Storable]:
    """Return what is to be stored, or proposed: no name twice, nothing a person took back or has yet to decide.

    Without a person to approve it, nothing is stored unless the options say so.
    """
    if context.options.of(WISP_FAILURES.name).promotion is not PromotionPolicy.STORE:
        return []
    found: dict[str, Storable] = {}
    for promotion, _ in scene.promotions:
        run = next((run for run in promotion.successes if run.definition_body), None)
        name = clean_skill_name(promotion.description)
        if run is None or not name or secret_in(f"{run.definition_body}\n{promotion.description}"):
            continue
        whole = f"{_FOLDER}{name}"[:MAX_NAME].rstrip("-./")
        found.setdefault(whole, Storable(promotion, run, whole))
    taken = await context.read(lambda view: view.skills.taken(set(found))) if found else set[str]()
    withheld = await context.withheld({one.mark for one in found.values()})
    return [one for name, one in found.items() if name not in taken and one.mark not in withheld]


def stored(found: Sequence[Storable], context: ModelContext, new_id: Callable[[], str]) -> tuple[ChangeSet, ...]:
    """Return the changes that store wisps as skills."""
    return tuple(_change_set(one, context, new_id()) for one in found)


def _change_set(one: Storable, context: ModelContext, skill_id: str) -> ChangeSet:
    counted = f"{len(one.promotion.successes)} of {one.promotion.runs} runs succeeded"
    body = (one.run.definition_body or "").replace("```", "` ` `")
    skill = Skill(
        id=skill_id,
        scope=context.scope,
        name=one.name,
        summary=" ".join(normalise(one.promotion.description).split())[:200],
        content=f"A wisp that works: {counted}. Run these steps as they stand.\n\n```json\n{body}\n```",
        created_at=context.as_of,
        trust=Trust.INFERRED,
    )
    change = Change[Skill](before=None, after=skill, reason=counted)
    return ChangeSet(operation=PROMOTE, changes=(change,), fingerprints={skill_id: one.mark})


KIND: Final = "wisps"


@dataclass(frozen=True, slots=True)
class _ShownCases:
    """What a batch is about, by handle, as it is now."""

    cases: Mapping[str, FailureCase]
    skills: Mapping[str, Skill]
    handles: frozenset[str]


class WispFailures(DeclaredPass, declaration=WISP_FAILURES):
    """Learns from wisps: the host counts patterns, the model says why, and the skill that produced them is told.

    A pattern is looked at again when it fails once more, or after a week; see
    `docs/explanation/failures-and-consumption.md`.
    """

    def __init__(self) -> None:
        self._scenes = RunMemo[FailureSurvey]()

    async def has_work(self, context: ModelContext) -> Work:
        """Patterns that failed again since they were looked at, and wisps to be stored."""
        scene = await survey(context)
        pending = len(await fresh_cases(context, scene)) + len(await storable(context, scene))
        return Work(pending, reports=bool(scene.promotions))

    async def pack(self, context: ModelContext) -> Packing:
        """Put the patterns into batches, the most frequent first; list and store what keeps succeeding."""
        scene = await self._scene(context)
        cases = await fresh_cases(context, scene)
        chosen = _apart(cases)[: context.options.wisp_failures.max_patterns]
        promotions = listed(scene)
        return Packing(
            batches=tuple(_batches(context, chosen)),
            change_sets=stored(await storable(context, scene), context, context.new_id),
            looked_at=tuple(sorted(context.reopened)),
            backlog=len(cases) - len(chosen),
            notes={"promotion_candidates": promotions} if promotions else {},
        )

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask what fails no more, have the annotations read a second time, and repaired."""
        return await self._exchange(context, batch, await self._scene(context)).next_round(rounds)

    def _exchange(self, context: ModelContext, batch: Batch, scene: FailureSurvey) -> VerifiedExchange[Annotation]:
        async def asked(cited: frozenset[str] | None) -> ChatRequest | None:
            shown = await _shown(context, batch, scene)
            cases = {handle: one for handle, one in shown.cases.items() if cited is None or handle in cited}
            skills = {handle: one for handle, one in shown.skills.items() if cited is None or handle in cited}
            return question(context, cases, skills, directives=self.instructions, purpose=self.name) if cases else None

        async def judged(answer: Answer) -> tuple[Sequence[Item[Annotation]], Sequence[Refusal]]:
            judge_input = await _judge_input(context, batch, scene)
            # Comparing texts takes longer than the event loop may stall.
            return await asyncio.to_thread(judge, answer, judge_input)

        return VerifiedExchange(context=context, batch=batch, name=UPDATES, question=asked, judge=judged)

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Annotate skills, and remember which patterns were asked about.

        One that the model left unclassified waits like the others until it fails once more.
        """
        scene = await self._scene(context)
        outcome = await self._exchange(context, batch, scene).outcome(rounds)
        judge_input = await _judge_input(context, batch, scene)
        found = classified(outcome.answer, judge_input)
        if outcome.waits or isinstance(found, Refusal):
            return Proposal(refused=outcome.refused, waits=outcome.waits)
        shown = await _shown(context, batch, scene)
        settled, unsettled = await _settling(context, shown, scene)
        made = [one.value for one in outcome.settled]
        annotated = {one.handle: one.skill.name for one in made}
        classes, _ = found
        return Proposal(
            change_sets=tuple(one.change_set for one in made),
            for_review=tuple(one.value.change_set for one in outcome.for_review),
            refused=(*outcome.refused, *outcome.unread),
            notes={
                "patterns": [
                    _note(shown.cases[handle], category, annotated.get(handle)) for handle, category in classes.items()
                ]
            },
            looked_at=batch.member_ids,
            settled=settled,
            unsettled=unsettled,
        )

    async def _scene(self, context: ModelContext) -> FailureSurvey:
        """Return what the run packed from: it is the same for all questions, and takes long to look at."""
        return await self._scenes.of(context, lambda: survey(context))

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """List the patterns and the promotion candidates."""
        patterns = [pattern for note in notes for pattern in note.get("patterns", ())]
        promotions = [one for note in notes for one in note.get("promotion_candidates", ())]
        return {
            **({"patterns": patterns} if patterns else {}),
            **({"promotion_candidates": promotions} if promotions else {}),
            **summed([{"annotated": sum(pattern["skill"] is not None for pattern in patterns)}], "annotated"),
        }


def _apart(cases: Sequence[FailureCase]) -> list[FailureCase]:
    """Return cases no two of which may change the same skill: an answer is about the skill as it was shown."""
    taken: set[str] = set()
    chosen: list[FailureCase] = []
    for case in cases:
        mine = {skill.id for skill in case.skills}
        if taken.isdisjoint(mine):
            chosen.append(case)
            taken |= mine
    return chosen


def _batches(context: ModelContext, cases: Sequence[FailureCase]) -> list[Batch]:
    room, samples = room_for_cases(context.options.model), context.options.wisp_failures.samples
    calls: list[list[FailureCase]] = []
    used = room
    for case in cases:
        weight = weigh(case, samples)
        if used + weight > room:
            calls.append([])
            used = 0
        calls[-1].append(case)
        used += weight
    return [_batch(number, call) for number, call in enumerate(calls, 1)]


def _batch(number: int, cases: Sequence[FailureCase]) -> Batch:
    skills = {skill.id: skill.version for case in cases for skill in case.skills}
    return Batch(
        number=str(number),
        kind=KIND,
        members=tuple((run.id, 1) for case in cases for run in case.pattern.failures),
        beside=tuple(skills.items()),
    )


async def _shown(context: ModelContext, batch: Batch, scene: FailureSurvey) -> _ShownCases:
    packed, members = dict(batch.beside), set(batch.member_ids)
    given = handles([skill_id for skill_id, _ in batch.beside])

    def look(view: ReadView) -> dict[str, Skill]:
        found = {handle: view.skills.get(skill_id) for handle, skill_id in given.items()}
        return {
            handle: skill
            for handle, skill in found.items()
            if skill is not None and skill.status == "active" and skill.version == packed[skill.id]
        }

    skills = await context.read(look)
    mine = [
        FailureCase(case.pattern, tuple(skill for skill in case.skills if skill.id in packed))
        for case in scene.cases
        if any(run.id in members for run in case.pattern.failures)
    ]
    return _ShownCases({f"w{place}": case for place, case in enumerate(mine, 1)}, skills, frozenset(given))


async def _settling(
    context: ModelContext, shown: _ShownCases, scene: FailureSurvey
) -> tuple[tuple[SettledCluster, ...], tuple[str, ...]]:
    """Return the marks of the patterns that were asked about, and those they take the place of."""
    looked_at = {case.pattern.key for case in shown.cases.values()}
    settled = tuple(
        SettledCluster(
            fingerprint=case.mark(context.directives),
            record_ids=(case.pattern.key,),
            declines=1,
            declined_at=context.as_of,
        )
        for case in scene.cases
        if case.pattern.key in looked_at
    )
    kept = {one.fingerprint for one in settled}
    former = [one for one in await context.settled() if looked_at.intersection(one.record_ids)]
    return settled, tuple(one.fingerprint for one in former if one.fingerprint not in kept)


async def _judge_input(context: ModelContext, batch: Batch, scene: FailureSurvey) -> FailureJudgeInput:
    shown = await _shown(context, batch, scene)
    return FailureJudgeInput(
        cases=shown.cases,
        skills=shown.skills,
        handles=shown.handles,
        catalogue=await context.read(lambda view: view.skills.catalogue()),
        vocabulary=context.vocabulary,
        as_of=context.as_of,
    )


def _note(case: FailureCase, category: FailureCategory, skill: str | None) -> dict[str, Any]:
    return {
        "description": " ".join(case.pattern.description.split())[:120],
        "failures": len(case.pattern.failures),
        "runs": case.pattern.runs,
        "steps": named(run.failed_step_id for run in case.pattern.failures),
        "tools": named(run.failed_tool_name for run in case.pattern.failures),
        "classification": category.value,
        "skill": skill,
    }
