"""Wisps that keep succeeding: listed for people, and stored as skills if the options say so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from agentcore.domain.memory import Trust
from agentcore.domain.signals import WispRun
from agentcore.domain.skill import Skill
from agentcore.domain.text import normalise
from agentcore.hosting.checks import MAX_NAME
from dream.domain.built_in_passes import WISP_FAILURES
from dream.domain.change import Change, ChangeSet
from dream.guards.secrets import secret_in
from dream.options import PromotionPolicy
from dream.passes.protocol import ModelContext
from dream.passes.skill_names import clean_skill_name
from dream.passes.wisp_failures.patterns import Promotion
from dream.passes.wisp_failures.scene import Scene

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

    promotion: Promotion
    run: WispRun
    name: str

    @property
    def mark(self) -> str:
        """What a person declines by taking the skill back."""
        return blake2b(f"{PROMOTE}\x1f{self.promotion.shape}".encode(), digest_size=16).hexdigest()


def listed(scene: Scene) -> list[dict[str, Any]]:
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


async def storable(context: ModelContext, scene: Scene) -> list[Storable]:
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
