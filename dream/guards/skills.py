"""Skills are procedures people rely on: none goes without one in its place, takes another's name, or tells a secret."""

from agentcore.domain.memory import Status, Trust
from agentcore.domain.skill import Skill
from dream.domain.change import ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.knowledge import Knowledge
from dream.guards.secrets import secret_in


def replaces_skills(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Refuse to retire an active skill unless its successor is an active one, kept or written by the set."""
    kept = {skill.name for skill in _after(change_set) if _is_active(skill)}
    gone = {skill.name for skill in _before(change_set) if _is_active(skill)} - kept
    for change in change_set.changes:
        before, after = change.before, change.after
        if not (isinstance(before, Skill) and isinstance(after, Skill)):
            continue
        retires = _is_active(before) and not _is_active(after)
        if retires and (after.successor in gone or after.successor not in kept | knowledge.live_skills):
            return Refusal(Refused.NO_REPLACEMENT, before.name)
    return None


def takes_no_name(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Refuse to rename a skill, and to give a new one a name that another has or once had."""
    for change in change_set.changes:
        before, after = change.before, change.after
        if not isinstance(after, Skill):
            continue
        if isinstance(before, Skill) and before.name != after.name:
            return Refusal(Refused.MISMATCHED, after.id)
        if before is None and _is_active(after) and after.name in knowledge.taken_names:
            return Refusal(Refused.NAME_TAKEN, after.name)
    return None


def raises_no_skill(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse skills above what went in: more trusted, or used later, than the skills of the set were.

    A text that a skill of the set had already is trusted as it was there, in whichever skill it stands afterwards.
    """
    befores = list(_before(change_set))
    texts: dict[tuple[str, str], Trust] = {}
    for skill in befores:
        texts[_text(skill)] = max(skill.trust, texts.get(_text(skill), skill.trust))
    least = min((skill.trust for skill in befores), default=Trust.STATED)
    used = max((skill.last_used_at for skill in befores if skill.last_used_at is not None), default=None)
    for change in change_set.changes:
        after = change.after
        if not isinstance(after, Skill):
            continue
        most = change.before.trust if isinstance(change.before, Skill) else least
        if after.trust > texts.get(_text(after), most):
            return Refusal(Refused.TRUST_RAISED, after.id)
        if after.last_used_at is not None and (used is None or after.last_used_at > used):
            return Refusal(Refused.REINFORCEMENT_RAISED, after.id)
    return None


def tells_no_secret(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse skills with a line that looks like a secret, unless the line stood in a skill that the set began with.

    What a person wrote into a skill is theirs to keep; what a model says of it, or makes of a conversation, is not.
    """
    told = {line for skill in _before(change_set) for line in _lines(skill)}
    for skill in _after(change_set):
        secret = secret_in("\n".join(line for line in _lines(skill) if line not in told))
        if secret is not None:
            where = skill.id if secret_in(skill.name) else skill.name
            return Refusal(Refused.SECRET, f"{where} looks like it holds a {secret}")
    return None


def _lines(skill: Skill) -> list[str]:
    texts = (skill.name, skill.summary, skill.status_reason or "", *skill.content.splitlines())
    return [line.strip() for line in texts]


def _text(skill: Skill) -> tuple[str, str]:
    return skill.summary, skill.content


def _before(change_set: ChangeSet) -> list[Skill]:
    return [change.before for change in change_set.changes if isinstance(change.before, Skill)]


def _after(change_set: ChangeSet) -> list[Skill]:
    return [change.after for change in change_set.changes if isinstance(change.after, Skill)]


def _is_active(skill: Skill) -> bool:
    return skill.status is Status.ACTIVE
