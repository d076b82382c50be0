"""The pass: it counts what keeps failing, has it classified, and annotates the skills behind it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from agentcore.domain.capability import Capability
from agentcore.domain.skill import Skill
from agentcore.llm.chat import ChatRequest
from agentcore.stores.storage import ReadView
from dream.domain.batch import Answer, Batch, Packing
from dream.domain.cluster import SettledCluster
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.passes.protocol import ModelContext
from dream.passes.run_memo import RunMemo
from dream.passes.skill_lines import handles
from dream.passes.wisp_failures.judging import Desk, Judged, judge
from dream.passes.wisp_failures.promotion import listed, storable, stored
from dream.passes.wisp_failures.question import question, room_for_cases, weigh
from dream.passes.wisp_failures.scene import Case, Scene, fresh_cases, survey
from dream.passes.wisp_failures.section import named

KIND: Final = "wisps"


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a batch is about, by handle, as it is now."""

    cases: Mapping[str, Case]
    skills: Mapping[str, Skill]
    handles: frozenset[str]


class WispFailures:
    """Learns from wisps: the host counts patterns, the model says why, and the skill that produced them is told.

    A pattern is looked at again when it fails once more, or after a week; see
    `docs/explanation/failures-and-consumption.md`.
    """

    name: ClassVar[str] = "wisp-failures"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.WISPS, Capability.SKILLS, Capability.LLM})
    directives: ClassVar[tuple[str, ...]] = ("wisp-failure-dream",)

    def __init__(self) -> None:
        self._scenes = RunMemo[Scene]()

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

    async def request(self, context: ModelContext, batch: Batch) -> ChatRequest | None:
        """Word the question; None if nothing of it fails any more."""
        shown = await _shown(context, batch, await self._scene(context))
        if not shown.cases:
            return None
        return question(context, shown.cases, shown.skills, directives=self.directives, purpose=self.name)

    async def review(self, _context: ModelContext, _batch: Batch, _answer: Answer) -> ChatRequest | None:
        """Ask for no repair: an annotation that cannot be used is left out."""
        return None

    async def interpret(self, context: ModelContext, batch: Batch, answers: Sequence[Answer]) -> Proposal:
        """Annotate skills, and remember which patterns were asked about.

        One that the model left unclassified waits like the others until it fails once more.
        """
        scene = await self._scene(context)
        shown = await _shown(context, batch, scene)
        desk = Desk(
            cases=shown.cases,
            skills=shown.skills,
            handles=shown.handles,
            catalogue=await context.read(lambda view: view.skills.catalogue()),
            vocabulary=context.vocabulary,
            as_of=context.as_of,
        )
        # Comparing texts takes longer than the event loop may stall.
        judged = await asyncio.to_thread(judge, answers[-1], desk)
        if isinstance(judged, Refusal):
            return Proposal(refused=(judged,))
        settled, unsettled = await _settling(context, shown, scene)
        return Proposal(
            change_sets=tuple(judged.change_sets),
            refused=tuple(judged.refused),
            notes={"patterns": [_note(shown.cases[handle], handle, judged) for handle in judged.classes]},
            looked_at=batch.member_ids,
            settled=settled,
            unsettled=unsettled,
        )

    async def _scene(self, context: ModelContext) -> Scene:
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


def _apart(cases: Sequence[Case]) -> list[Case]:
    """Return cases no two of which may change the same skill: an answer is about the skill as it was shown."""
    taken: set[str] = set()
    chosen: list[Case] = []
    for case in cases:
        mine = {skill.id for skill in case.skills}
        if taken.isdisjoint(mine):
            chosen.append(case)
            taken |= mine
    return chosen


def _batches(context: ModelContext, cases: Sequence[Case]) -> list[Batch]:
    room, samples = room_for_cases(context.options.model), context.options.wisp_failures.samples
    calls: list[list[Case]] = []
    used = room
    for case in cases:
        weight = weigh(case, samples)
        if used + weight > room:
            calls.append([])
            used = 0
        calls[-1].append(case)
        used += weight
    return [_batch(number, call) for number, call in enumerate(calls, 1)]


def _batch(number: int, cases: Sequence[Case]) -> Batch:
    skills = {skill.id: skill.version for case in cases for skill in case.skills}
    return Batch(
        number=str(number),
        kind=KIND,
        members=tuple((run.id, 1) for case in cases for run in case.pattern.failures),
        beside=tuple(skills.items()),
    )


async def _shown(context: ModelContext, batch: Batch, scene: Scene) -> _Shown:
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
        Case(case.pattern, tuple(skill for skill in case.skills if skill.id in packed))
        for case in scene.cases
        if any(run.id in members for run in case.pattern.failures)
    ]
    return _Shown({f"w{place}": case for place, case in enumerate(mine, 1)}, skills, frozenset(given))


async def _settling(
    context: ModelContext, shown: _Shown, scene: Scene
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


def _note(case: Case, handle: str, judged: Judged) -> dict[str, Any]:
    return {
        "description": " ".join(case.pattern.description.split())[:120],
        "failures": len(case.pattern.failures),
        "runs": case.pattern.runs,
        "steps": named(run.failed_step_id for run in case.pattern.failures),
        "tools": named(run.failed_tool_name for run in case.pattern.failures),
        "classification": judged.classes[handle].value,
        "skill": judged.annotated.get(handle),
    }
