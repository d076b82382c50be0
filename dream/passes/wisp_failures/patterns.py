"""Finds patterns in failed runs of wisps, and the skills whose text may have caused them."""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

from agentcore.domain.signals import FailureCategory, WispRun
from agentcore.domain.skill import Skill, SkillUse
from agentcore.domain.text import fold_key
from agentcore.recall.tokenizer import Tokenizer
from agentcore.stores.storage import ReadView
from dream.domain.change import fingerprint
from dream.options import WispFailureOptions
from dream.passes.protocol import ModelContext


@dataclass(frozen=True, slots=True, kw_only=True)
class FailurePattern:
    """Failures of wisps that were for the same, or that were built the same.

    Args:
        key: Names it, whichever failures it has at the moment.
        description: What the newest of them was for.
        failures: The runs that failed, in the order of time.
        runs: All runs of that description or shape, successful ones included.
    """

    key: str
    description: str
    failures: tuple[WispRun, ...]
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedTask:
    """A shape that keeps succeeding: a wisp worth storing.

    Args:
        shape: Hash of its steps without their literals.
        successes: The runs that came to their end, in the order of time.
        runs: All runs of the shape.
    """

    shape: str
    successes: tuple[WispRun, ...]
    runs: int

    @property
    def description(self) -> str:
        """What the newest success was for."""
        return self.successes[-1].description


def shape_of(run: WispRun) -> str:
    """Return what tells how a wisp is built; without a shape its exact definition does."""
    return run.shape_hash or run.definition_hash


def find_patterns(runs: Sequence[WispRun], *, least: int) -> list[FailurePattern]:
    """Return what failed *least* times or more; each failure is in one pattern at most, the most frequent first.

    Failures are grouped by what the wisps were for. Those whose description is too rare are grouped by shape: the same
    broken steps under ever new descriptions.
    """
    meant = {run.id: fold_key(run.description) for run in runs}
    failures = [run for run in runs if not run.succeeded]
    often, rare = _groups(failures, lambda run: meant[run.id], least)
    by_shape, _ = _groups([run for run in failures if run.id in rare], shape_of, least)
    of_meaning, of_shape = Counter(meant.values()), Counter(shape_of(run) for run in runs)
    patterns = [
        *(_pattern("description", key, found, of_meaning[key]) for key, found in often),
        *(_pattern("shape", key, found, of_shape[key]) for key, found in by_shape),
    ]
    return sorted(patterns, key=lambda pattern: (-len(pattern.failures), pattern.key))


def find_promotions(runs: Sequence[WispRun], *, least: int, share: float) -> list[RepeatedTask]:
    """Return shapes with *least* successes or more that succeed in more than *share* of their runs."""
    shapes: defaultdict[str, list[WispRun]] = defaultdict(list)
    for run in runs:
        shapes[shape_of(run)].append(run)
    found = [
        RepeatedTask(shape=shape, successes=tuple(run for run in mine if run.succeeded), runs=len(mine))
        for shape, mine in shapes.items()
    ]
    worthy = [one for one in found if len(one.successes) >= least and len(one.successes) > share * one.runs]
    return sorted(worthy, key=lambda one: (-len(one.successes), one.shape))


def _groups(
    runs: Iterable[WispRun], key_of: Callable[[WispRun], str], least: int
) -> tuple[list[tuple[str, list[WispRun]]], set[str]]:
    """Return the groups that are large enough, and the ids of the runs that are in none."""
    groups: defaultdict[str, list[WispRun]] = defaultdict(list)
    for run in runs:
        groups[key_of(run)].append(run)
    large = [(key, found) for key, found in groups.items() if len(found) >= least]
    return large, {run.id for found in groups.values() if len(found) < least for run in found}


def _pattern(by: str, key: str, failures: Sequence[WispRun], runs: int) -> FailurePattern:
    return FailurePattern(
        key=blake2b(f"{by}\x1f{key}".encode(), digest_size=8).hexdigest(),
        description=failures[-1].description,
        failures=tuple(failures),
        runs=runs,
    )


_LONGEST_TITLE: Final = 100
_PLAIN: Final = re.compile(r"[^\w ./:-]+")


def holds_section(content: str, key: str) -> bool:
    """Tell whether *content* has a section on the pattern."""
    # Most skills have none, and are many.
    return f"<!-- wisp-failure {key} -->" in content and _fenced(key).search(content) is not None


def with_section(content: str, key: str, section: str) -> str:
    """Return *content* with *section* in the place of the one on the same pattern, else at its end.

    Example:
        >>> first = with_section("1. Fetch.", "k", "Check the status.")
        >>> with_section(first, "k", "Retry twice.") == with_section("1. Fetch.", "k", "Retry twice.")
        True
    """
    fenced = f"<!-- wisp-failure {key} -->\n{section}\n<!-- end wisp-failure {key} -->"
    if holds_section(content, key):
        return _fenced(key).sub(lambda _: f"\n\n{fenced}", content, count=1).strip()
    return f"{content.rstrip()}\n\n{fenced}"


def without_section(content: str, key: str) -> str:
    """Return *content* without its section on the pattern.

    Example:
        >>> without_section(with_section("1. Fetch.", "k", "Check the status."), "k")
        '1. Fetch.'
    """
    return _fenced(key).sub("", content).strip()


def section_text(pattern: FailurePattern, category: FailureCategory, annotation: str) -> str:
    """Return what a skill is told: what was counted by the host, then what the model makes of it."""
    first, last = pattern.failures[0].occurred_at, pattern.failures[-1].occurred_at
    step = next(iter(named(run.failed_step_id for run in pattern.failures)), None)
    tool = next(iter(named(run.failed_tool_name for run in pattern.failures)), None)
    where = "".join(f", most often at the {kind} `{name}`" for kind, name in (("step", step), ("tool", tool)) if name)
    counted = (
        f"{category.value.capitalize()}: {len(pattern.failures)} of {pattern.runs} runs failed "
        f"from {first:%Y-%m-%d} to {last:%Y-%m-%d}{where}."
    )
    return f"## Wisp failure pattern: {_plain(pattern.description)}\n\n{counted}\n\n{annotation}"


def is_fence(text: str) -> bool:
    """Tell whether *text* could end its section, or pretend to be another."""
    return "<!--" in text or "-->" in text


def _fenced(key: str) -> re.Pattern[str]:
    name = re.escape(key)
    return re.compile(rf"\s*<!-- wisp-failure {name} -->.*?<!-- end wisp-failure {name} -->", re.DOTALL)


def named(names: Iterable[str | None]) -> dict[str, int]:
    """Return how often each step or tool is named, the most frequent first.

    Example:
        >>> named(["parse", None, "fetch", "parse"])
        {'parse': 2, 'fetch': 1}
    """
    counted = Counter(_plain(name) for name in names if name)
    return {name: counted[name] for name in sorted(counted, key=lambda name: (-counted[name], name))}


def _plain(text: str) -> str:
    """Return *text* as words of one line: nothing in it is Markdown."""
    return " ".join(_PLAIN.sub(" ", text).replace("--", " ").split())[:_LONGEST_TITLE].strip()


ANNOTATE: Final = "wisp-annotate"
_MOST_USES: Final = 10_000
_MOST_SKILLS: Final = 3
"""Skills shown with a pattern at most."""


@dataclass(frozen=True, slots=True)
class FailureCase:
    """A pattern, and the skills that may have produced it, the likeliest first."""

    pattern: FailurePattern
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
class FailureSurvey:
    """Everything of the window.

    Args:
        cases: The patterns.
        promotions: Shapes that keep succeeding, with the skill that each came from.
    """

    cases: tuple[FailureCase, ...]
    promotions: tuple[tuple[RepeatedTask, Skill | None], ...]


def annotation_mark(skill: Skill, key: str) -> str:
    """Return what a person declines by taking an annotation back: one on this pattern, in the skill as it is else."""
    return fingerprint(f"{ANNOTATE}:{key}", replace(skill, content=without_section(skill.content, key)))


async def survey(context: ModelContext) -> FailureSurvey:
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
) -> FailureSurvey:
    origins = _Origins(uses, skills)
    patterns = find_patterns(runs, least=terms.min_failures)
    promotions = find_promotions(runs, least=terms.min_successes, share=terms.success_share)
    return FailureSurvey(
        tuple(FailureCase(one, origins.of(one.failures, one.description)) for one in patterns),
        tuple((one, next(iter(origins.used(one.successes)), None)) for one in promotions),
    )


async def fresh_cases(context: ModelContext, scene: FailureSurvey) -> list[FailureCase]:
    """Return the cases that changed since they were looked at, or were looked at too long ago.

    Skills whose annotation a person took back are left out, and cases with none left.
    """
    marks = {annotation_mark(skill, case.pattern.key) for case in scene.cases for skill in case.skills}
    declined = await context.declined(marks)
    oldest = context.as_of - context.options.wisp_failures.review_after
    seen = {one.fingerprint for one in await context.settled() if one.declined_at > oldest}
    open_cases = [
        FailureCase(
            case.pattern, tuple(one for one in case.skills if annotation_mark(one, case.pattern.key) not in declined)
        )
        for case in scene.cases
        if case.mark(context.directives) not in seen
    ]
    waiting = await context.waiting()
    open_cases = [case for case in open_cases if waiting.isdisjoint(run.id for run in case.pattern.failures)]
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
