"""What there is to learn from: patterns with the skills that produced them, and which nobody has looked at yet."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

from agentcore.domain.signals import WispRun
from agentcore.domain.skill import Skill, SkillUse
from agentcore.recall.tokenizer import Tokenizer
from agentcore.stores.storage import ReadView
from dream.domain.change import fingerprint
from dream.options import WispFailureOptions
from dream.passes.protocol import ModelContext
from dream.passes.wisp_failures.patterns import Pattern, Promotion, find_patterns, find_promotions
from dream.passes.wisp_failures.section import without_section

ANNOTATE: Final = "wisp-annotate"
_MOST_USES: Final = 10_000
_MOST_SKILLS: Final = 3
"""Skills shown with a pattern at most."""


@dataclass(frozen=True, slots=True)
class Case:
    """A pattern, and the skills that may have produced it, the likeliest first."""

    pattern: Pattern
    skills: tuple[Skill, ...]

    def mark(self, directives: Mapping[str, str]) -> str:
        """Return what identifies a look at it: the newest failure, the skills' names, and what the model is told.

        The newest is the one heard of last, whenever it happened. What skills say is no reason to ask again, nor are
        failures that leave the window.
        """
        newest = max(self.pattern.failures, key=lambda run: (run.recorded_at, run.occurred_at, run.id))
        names = (skill.name for skill in self.skills)
        told = "\x1f".join((*directives.values(), self.pattern.key, newest.id, *names))
        return blake2b(told.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything of the window.

    Args:
        cases: The patterns.
        promotions: Shapes that keep succeeding, with the skill that each came from.
    """

    cases: tuple[Case, ...]
    promotions: tuple[tuple[Promotion, Skill | None], ...]


def annotation_mark(skill: Skill, key: str) -> str:
    """Return what a person declines by taking an annotation back: one on this pattern, in the skill as it is else."""
    return fingerprint(f"{ANNOTATE}:{key}", replace(skill, content=without_section(skill.content, key)))


async def survey(context: ModelContext) -> Scene:
    """Look at the runs of the window."""
    terms = context.options.wisp_failures
    since = context.as_of - terms.window

    def look(view: ReadView) -> tuple[list[WispRun], list[SkillUse], list[Skill]]:
        runs = view.wisp_runs.newest(limit=terms.max_runs, since=since)
        uses = view.skill_uses.newest(limit=_MOST_USES, since=since) if runs else []
        return runs, uses, view.skills.catalogue() if runs else []

    runs, uses, skills = await context.read(look)
    known = [run for run in runs if run.occurred_at <= context.as_of]
    # Reading thousands of names and descriptions takes longer than the event loop may stall.
    return await asyncio.to_thread(_scene, known, uses, skills, terms)


def _scene(
    runs: Sequence[WispRun], uses: Sequence[SkillUse], skills: Sequence[Skill], terms: WispFailureOptions
) -> Scene:
    origins = _Origins(uses, skills)
    patterns = find_patterns(runs, least=terms.least_failures)
    promotions = find_promotions(runs, least=terms.least_successes, share=terms.success_share)
    return Scene(
        tuple(Case(one, origins.of(one.failures, one.description)) for one in patterns),
        tuple((one, next(iter(origins.used(one.successes)), None)) for one in promotions),
    )


async def fresh_cases(context: ModelContext, scene: Scene) -> list[Case]:
    """Return the cases that changed since they were looked at, or were looked at too long ago.

    Skills whose annotation a person took back are left out, and cases with none left.
    """
    marks = {annotation_mark(skill, case.pattern.key) for case in scene.cases for skill in case.skills}
    declined = await context.declined(marks)
    oldest = context.as_of - context.options.wisp_failures.review_after
    seen = {one.fingerprint for one in await context.settled() if one.declined_at > oldest}
    open_cases = [
        Case(case.pattern, tuple(one for one in case.skills if annotation_mark(one, case.pattern.key) not in declined))
        for case in scene.cases
        if case.mark(context.directives) not in seen
    ]
    had_skills = {case.pattern.key for case in scene.cases if case.skills}
    return [case for case in open_cases if case.skills or case.pattern.key not in had_skills]


class _Origins:
    """Finds the skills behind runs: those looked up in the session before, else those that speak of the same."""

    def __init__(self, uses: Sequence[SkillUse], skills: Sequence[Skill]) -> None:
        self._skills = {skill.name: skill for skill in skills}
        self._uses: defaultdict[str, list[SkillUse]] = defaultdict(list)
        for use in uses:
            if use.skill_name in self._skills:
                self._uses[use.session_id].append(use)
        self._tokenizer = Tokenizer()
        self._words = {skill.name: set(self._tokenizer.tokens(f"{skill.name} {skill.summary}")) for skill in skills}

    def of(self, runs: Sequence[WispRun], description: str) -> tuple[Skill, ...]:
        return self.used(runs) or self._alike(description)

    def used(self, runs: Sequence[WispRun]) -> tuple[Skill, ...]:
        """Return the skills last looked up before *runs* in their sessions."""
        counted: Counter[str] = Counter()
        for run in runs:
            before = [use for use in self._uses.get(run.session_id or "", ()) if use.occurred_at <= run.occurred_at]
            if before:
                counted[max(before, key=lambda use: (use.occurred_at, use.id)).skill_name] += 1
        return self._best(counted)

    def _alike(self, description: str) -> tuple[Skill, ...]:
        words = set(self._tokenizer.tokens(description))
        return self._best(Counter({name: len(words & mine) for name, mine in self._words.items() if words & mine}))

    def _best(self, counted: Counter[str]) -> tuple[Skill, ...]:
        names = sorted(counted, key=lambda name: (-counted[name], name))
        return tuple(self._skills[name] for name in names[:_MOST_SKILLS])
