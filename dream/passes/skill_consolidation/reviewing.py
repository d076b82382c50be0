"""What was reviewed: the pass ledger, kept skill by skill, so that unchanged skills cost nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from agentcore.domain.skill import Skill
from dream.domain.batch import Batch
from dream.domain.change import fingerprint
from dream.domain.cluster import SettledCluster
from dream.passes.protocol import ModelContext
from dream.passes.skill_consolidation.neighbourhood import packed
from dream.passes.skill_lines import tokens_of

KIND = "skills"
_REVIEW = "skill-review"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be reviewed.

    Args:
        calls: Skills that are shown together, those to be reviewed among them.
        due: Ids of those to be reviewed.
        too_long: Skills that no prompt has room for.
    """

    calls: tuple[tuple[Skill, ...], ...]
    due: frozenset[str]
    too_long: tuple[Skill, ...]

    def count(self) -> int:
        """Count the skills to be reviewed that are in a call."""
        return sum(skill.id in self.due for call in self.calls for skill in call)


def planned(skills: Sequence[Skill], settled: Sequence[SettledCluster], context: ModelContext, room: int) -> Plan:
    """Return which skills are shown together because one of them is new, changed or due again.

    Statistics do not make a skill new, and neither does the answer of the last review.
    """
    terms = context.options.skill_consolidation
    recent = {one.fingerprint for one in settled if one.declined_at > context.as_of - terms.review_after}
    weights = {skill.id: tokens_of(skill) for skill in skills}
    due = frozenset(skill.id for skill in skills if review_mark(skill, context.directives) not in recent)
    # What an answer cannot hold cannot be rewritten either.
    longest = min(room, context.options.model.answer_tokens)
    too_long = tuple(skill for skill in skills if weights[skill.id] > longest)
    fitting = [skill for skill in skills if weights[skill.id] <= longest]
    if due.isdisjoint(skill.id for skill in fitting):
        return Plan((), due, too_long)
    calls = packed(fitting, weights, threshold=terms.threshold, room=room)
    # Alone, a skill can be neither merged nor linked.
    asked = [call for call in calls if len(call) > 1 and not due.isdisjoint(skill.id for skill in call)]
    return Plan(tuple(asked), due, too_long)


def review_mark(skill: Skill, directives: Mapping[str, str]) -> str:
    """Return what identifies a review: what the skill says, and what the model was told."""
    told = blake2b("\x1f".join(directives.values()).encode(), digest_size=8).hexdigest()
    return fingerprint(f"{_REVIEW}:{told}", skill)


def settling(
    reviewed: Iterable[Skill], gone: Iterable[str], settled: Sequence[SettledCluster], context: ModelContext
) -> tuple[tuple[SettledCluster, ...], tuple[str, ...]]:
    """Return the marks to keep of *reviewed* skills as they now are, and those that no longer stand for anything.

    Args:
        reviewed: Skills as the answer leaves them.
        gone: Ids of skills that it retires.
        settled: The marks there are.
        context: The run's.
    """
    kept = tuple(
        SettledCluster(
            fingerprint=review_mark(skill, context.directives),
            record_ids=(skill.id,),
            declines=1,
            declined_at=context.as_of,
        )
        for skill in reviewed
    )
    marks = {one.fingerprint for one in kept}
    touched = {*gone, *(record_id for one in kept for record_id in one.record_ids)}
    old = {one.fingerprint for one in settled if not touched.isdisjoint(one.record_ids)}
    return kept, tuple(sorted(old - marks))


def batch_of(number: int, skills: Sequence[Skill]) -> Batch:
    """Return the batch that shows *skills*."""
    return Batch(number=str(number), kind=KIND, members=tuple((skill.id, skill.version) for skill in skills))
