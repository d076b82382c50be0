"""Rewrites on trial: one that made its skill fail more often is taken back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from agentcore.domain.memory import Status
from agentcore.domain.skill import Skill
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.passes.skill_optimization.outcomes import Outcomes

REVERT: Final = "skill-revert"


@dataclass(frozen=True, slots=True)
class Trial:
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


def trials(skills: Sequence[Skill], earlier: Sequence[Skill]) -> list[Trial]:
    """Return the rewrites that nobody has touched since.

    Args:
        skills: Active skills.
        earlier: Retired skills with their names.
    """
    kept = {(former.name, former.status_at): former for former in earlier if former.status is Status.SUPERSEDED}
    return [
        Trial(skill, kept[skill.name, skill.updated_at])
        for skill in skills
        if skill.updated_at is not None and (skill.name, skill.updated_at) in kept
    ]


def verdict(trial: Trial, outcomes: Outcomes, *, least_uses: int) -> str | None:
    """Return why a rewrite is taken back; None while it was used too little, or failed no more often than before."""
    rewritten = trial.skill.updated_at
    uses_before, failed_before = outcomes.tally(trial.former, trial.skill.id, until=rewritten)
    uses_after, failed_after = outcomes.tally(trial.skill, trial.skill.id, until=None)
    if min(uses_before, uses_after) < least_uses or failed_after * uses_before <= failed_before * uses_after:
        return None
    since, before = f"{failed_after} of {uses_after} uses", f"{failed_before} of {uses_before}"
    return f"failed in {since} since its rewrite, in {before} before it"


def reverted(trial: Trial, why: str, as_of: datetime) -> ChangeSet:
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
