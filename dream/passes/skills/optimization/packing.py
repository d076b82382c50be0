"""Chooses the skills at risk, and the rewrites on trial that made a skill fail more often."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Final

from agentcore.domain.memory import Status
from agentcore.domain.signals import Feedback
from agentcore.domain.skill import Skill
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.reasons import Refused
from dream.domain.rounds import ShownPart
from dream.passes.protocol import ModelContext
from dream.passes.skills.lines import is_sparse
from dream.passes.skills.optimization.outcomes import Outcomes, Retry

REVERT: Final = "skill-revert"


@dataclass(frozen=True, slots=True)
class RewriteTrial:
    """A skill and what it was before its last rewrite.

    Args:
        skill: As it is.
        former: The copy that the rewrite kept.
    """

    skill: Skill
    former: Skill

    @property
    def marks(self) -> dict[str, str]:
        """What a person declines by taking the reversion back."""
        return {self.skill.id: fingerprint(REVERT, self.skill)}


def trials(skills: Sequence[Skill], earlier: Sequence[Skill]) -> list[RewriteTrial]:
    """Return the rewrites that nobody has touched since.

    Args:
        skills: Active skills.
        earlier: Retired skills with their names.
    """
    kept = {(former.name, former.status_at): former for former in earlier if former.status is Status.SUPERSEDED}
    return [
        RewriteTrial(skill, kept[skill.name, skill.updated_at])
        for skill in skills
        if skill.updated_at is not None and (skill.name, skill.updated_at) in kept
    ]


def verdict(trial: RewriteTrial, outcomes: Outcomes, *, min_uses: int) -> str | None:
    """Return why a rewrite is taken back; None while it was used too little, or failed no more often than before."""
    rewritten = trial.skill.updated_at
    uses_before, failed_before = outcomes.tally(trial.former, trial.skill.id, until=rewritten)
    uses_after, failed_after = outcomes.tally(trial.skill, trial.skill.id, until=None)
    if min(uses_before, uses_after) < min_uses or failed_after * uses_before <= failed_before * uses_after:
        return None
    since, before = f"{failed_after} of {uses_after} uses", f"{failed_before} of {uses_before}"
    return f"failed in {since} since its rewrite, in {before} before it"


def reverted(trial: RewriteTrial, why: str, as_of: datetime) -> ChangeSet:
    """Return the changes that bring the former text back, and keep the one that failed in its place.

    Each text keeps the trust of whoever wrote it.
    """
    skill, former = trial.skill, trial.former
    back = replace(skill, summary=former.summary, content=former.content, trust=former.trust, updated_at=as_of)
    tried = replace(
        former,
        summary=skill.summary,
        content=skill.content,
        trust=skill.trust,
        updated_at=skill.updated_at,
        status=Status.ARCHIVED,
        status_reason=why,
        status_at=as_of,
    )
    changes = (
        Change[Skill](before=skill, after=back, reason=why),
        Change[Skill](before=former, after=tried, reason=why),
    )
    return ChangeSet(operation=REVERT, changes=changes, fingerprints=trial.marks)


REWRITE: Final = "skill-optimize"
_REVIEW: Final = "optimize-review"
_MOST_RETRIES: Final = 3
"""Retries shown with a skill."""


@dataclass(frozen=True, slots=True)
class RewriteCandidate:
    """A skill to be looked at.

    Args:
        skill: It.
        failures: The newest signals against it, in the order of time.
        sparse: Whether it says too little.
        retries: The newest tool calls that had to be repeated where it was used: told besides, no reason to look at it.
    """

    skill: Skill
    failures: tuple[Feedback, ...]
    sparse: bool
    retries: tuple[Retry, ...] = ()

    def mark(self, directives: Mapping[str, str]) -> str:
        """Return what identifies a look at it: what it says, the newest failure, and what the model was told."""
        newest = max(((one.recorded_at, one.id) for one in self.failures), default=None)
        told = "\x1f".join((*directives.values(), newest[1] if newest else ""))
        return fingerprint(f"{_REVIEW}:{blake2b(told.encode(), digest_size=8).hexdigest()}", self.skill)


@dataclass(frozen=True, slots=True)
class RewriteWork:
    """What there is to do.

    Args:
        candidates: Skills that nobody looked at as they are, by name.
        worse: Rewrites to be taken back, with the reason.
    """

    candidates: tuple[RewriteCandidate, ...]
    worse: tuple[tuple[RewriteTrial, str], ...]


def candidate_of(skill: Skill, outcomes: Outcomes, context: ModelContext) -> RewriteCandidate:
    """Return a skill with what speaks against it."""
    terms = context.options.skill_optimization
    since = context.as_of - terms.failure_window
    failures, retries = outcomes.against(skill, since=since), outcomes.retried(skill, since=since)
    sparse = is_sparse(skill, context.options.skill_consolidation, context.as_of)
    return RewriteCandidate(skill, tuple(failures[-terms.max_failures :]), sparse, tuple(retries[-_MOST_RETRIES:]))


async def find(context: ModelContext, outcomes: Outcomes) -> RewriteWork:
    """Find what a run has to do, consolidation or no consolidation."""
    skills, earlier = await context.read(lambda view: (view.skills.catalogue(), view.skills.earlier()))
    waiting = await context.waiting()
    least = context.options.skill_optimization.min_uses
    judged = [(trial, verdict(trial, outcomes, min_uses=least)) for trial in trials(skills, earlier)]
    worse = [(trial, why) for trial, why in judged if why is not None]
    withheld = await context.withheld({mark for trial, _ in worse for mark in trial.marks.values()})
    declined = {mark for mark, reason in withheld.items() if reason is Refused.UNDONE_BY_PERSON}
    # One that a person has yet to decide about is not rewritten meanwhile.
    going_back = {trial.skill.id for trial, _ in worse if declined.isdisjoint(trial.marks.values())}
    worse = [(trial, why) for trial, why in worse if withheld.keys().isdisjoint(trial.marks.values())]
    candidates = [candidate_of(skill, outcomes, context) for skill in skills if skill.id not in going_back | waiting]
    candidates = [one for one in candidates if one.failures or one.sparse]
    return RewriteWork(tuple(await _fresh(context, candidates)), tuple(worse))


async def _fresh(context: ModelContext, candidates: Sequence[RewriteCandidate]) -> list[RewriteCandidate]:
    """Return those that were not looked at as they are, and whose rewrite no person took back."""
    seen = {one.fingerprint for one in await context.settled()}
    unseen = [one for one in candidates if one.mark(context.directives) not in seen]
    declined = frozenset(await context.declined({fingerprint(REWRITE, one.skill) for one in unseen}))
    return [one for one in unseen if fingerprint(REWRITE, one.skill) not in declined]


def section_id(skill: Skill, number: int) -> str:
    """Return what a section of a skill is told from the others by."""
    return f"{skill.id}/{number}"


def sections(candidate: RewriteCandidate, places: Sequence[ShownPart]) -> dict[str, RewriteCandidate]:
    """Return the sections of a long skill by handle, each as a skill with the same failures."""
    skill = candidate.skill
    return {
        f"s{number}": replace(
            candidate,
            skill=replace(skill, id=section_id(skill, number), content=skill.content[place.start : place.end]),
        )
        for number, place in enumerate(places, 1)
    }


def tried_texts(earlier: Sequence[Skill]) -> dict[str, list[str]]:
    """Return the texts that were taken back because their skill failed more often, by its name."""
    tried: dict[str, list[str]] = {}
    for skill in earlier:
        if skill.status is Status.ARCHIVED:
            tried.setdefault(skill.name, []).append(skill.content)
    return tried
