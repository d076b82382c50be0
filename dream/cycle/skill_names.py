"""Which names of skills are taken, as one transaction finds and leaves them."""

from collections.abc import Sequence
from dataclasses import replace

from agentcore.domain.memory import Status
from agentcore.domain.skill import Skill
from agentcore.stores.storage import ReadView
from dream.domain.change import ChangeSet
from dream.guards import Knowledge


def with_skill_names(view: ReadView, change_sets: Sequence[ChangeSet], knowledge: Knowledge) -> Knowledge:
    """Return *knowledge* with what guards ask of the names that *change_sets* mention."""
    pairs = [(change.before, change.after) for one in change_sets for change in one.changes]
    new = {after.name for before, after in pairs if before is None and isinstance(after, Skill)}
    successors = {after.successor for _, after in pairs if isinstance(after, Skill) and after.successor}
    if not new and not successors:
        return knowledge
    live = frozenset(name for name in successors if view.skills.named(name) is not None)
    return replace(knowledge, live_skills=live, taken_names=frozenset(view.skills.taken(new)))


def after_change(change_set: ChangeSet, knowledge: Knowledge) -> Knowledge:
    """Return what guards have to know once *change_set* is accepted."""
    pairs = [(change.before, change.after) for change in change_set.changes]
    skills = [after for _, after in pairs if isinstance(after, Skill)]
    if not skills:
        return knowledge
    new = {after.name for before, after in pairs if before is None and isinstance(after, Skill)}
    retired = {before.name for before, _ in pairs if isinstance(before, Skill)}
    active = {skill.name for skill in skills if skill.status is Status.ACTIVE}
    return replace(
        knowledge,
        live_skills=(knowledge.live_skills - retired) | active,
        taken_names=knowledge.taken_names | new,
    )
