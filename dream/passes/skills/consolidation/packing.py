"""Chooses the skills that nobody reviewed as they are, and packs similar ones together."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from itertools import chain, pairwise
from math import log
from typing import Final

from agentcore.domain.skill import Skill
from dream.domain.change import fingerprint
from dream.domain.cluster import SettledCluster
from dream.domain.step import Batch
from dream.passes.protocol import ModelContext
from dream.passes.skills.lines import tokens_of
from dream.passes.skills.skill_names import prefix_of
from dream.passes.terms import terms_of

_SALIENT: Final = 12
"""Terms of a skill that are compared: its rarest."""
_CROWD: Final = 40
"""A term of more skills than this says nothing about two of them."""
_SIBLINGS: Final = 0.5
"""Skills of one prefix are joined after skills that are more alike than this, and before the others."""


def grouped(
    skills: Sequence[Skill], weights: Mapping[str, int], *, threshold: float, room: int
) -> list[tuple[Skill, ...]]:
    """Partition skills into calls of at most *room* tokens, related skills together, none cut.

    Args:
        skills: By name; each fits into a call.
        weights: Tokens of each, by id.
        threshold: Weighted Jaccard similarity from which two are related.
        room: Tokens of a call.
    """
    groups = _Groups(skills, weights, room)
    for first, second in _edges(skills, threshold):
        groups.join(first, second)
    calls: list[list[Skill]] = []
    used = room
    for group in groups.all():
        weight = sum(weights[skill.id] for skill in group)
        if used + weight > room:
            calls.append([])
            used = 0
        calls[-1] += group
        used += weight
    return [tuple(call) for call in calls]


def _edges(skills: Sequence[Skill], threshold: float) -> list[tuple[int, int]]:
    """Return pairs of places of related skills, the most alike first."""
    alike = {(first, second): score for first, second, score in _alike(skills, threshold)}
    for first, second in pairwise(range(len(skills))):
        prefix = prefix_of(skills[first].name)
        if prefix and prefix == prefix_of(skills[second].name):
            alike[first, second] = max(_SIBLINGS, alike.get((first, second), 0.0))
    return sorted(alike, key=lambda pair: (-alike[pair], pair))


def _alike(skills: Sequence[Skill], threshold: float) -> Iterator[tuple[int, int, float]]:
    """Yield pairs of places with the weighted Jaccard similarity of their rarest terms, from the threshold up."""
    terms = [frozenset(terms_of(f"{skill.name} {skill.summary} {skill.content}")) for skill in skills]
    common = Counter(chain.from_iterable(terms))
    weight = {term: log(1 + len(skills) / count) for term, count in common.items()}
    # A term that stands in one skill alone tells it from all others, and joins it to none.
    telling = {term: (count, term) for term, count in common.items() if 1 < count <= _CROWD}
    kept = [nsmallest(_SALIENT, found & telling.keys(), key=telling.__getitem__) for found in terms]
    total = [sum(weight[term] for term in found) for found in kept]
    earlier: defaultdict[str, list[int]] = defaultdict(list)
    for second, found in enumerate(kept):
        shared: defaultdict[int, float] = defaultdict(float)
        for term in found:
            worth = weight[term]
            for first in earlier[term]:
                shared[first] += worth
            earlier[term].append(second)
        for first, both in shared.items():
            likeness = both / (total[first] + total[second] - both)
            if likeness >= threshold:
                yield first, second, likeness


class _Groups:
    """Skills joined to groups, none heavier than a call."""

    def __init__(self, skills: Sequence[Skill], weights: Mapping[str, int], room: int) -> None:
        self._skills = skills
        self._room = room
        self._root = list(range(len(skills)))
        self._weight = [weights[skill.id] for skill in skills]

    def join(self, first: int, second: int) -> None:
        """Make one group of two, if it fits into a call."""
        one, other = sorted((self._find(first), self._find(second)))
        if one != other and self._weight[one] + self._weight[other] <= self._room:
            self._root[other] = one
            self._weight[one] += self._weight[other]

    def all(self) -> list[list[Skill]]:
        """Return the groups, each by name, in the order of their first names."""
        groups: defaultdict[int, list[Skill]] = defaultdict(list)
        for place, skill in enumerate(self._skills):
            groups[self._find(place)].append(skill)
        return list(groups.values())

    def _find(self, place: int) -> int:
        while self._root[place] != place:
            self._root[place] = self._root[self._root[place]]
            place = self._root[place]
        return place


KIND = "skills"
_REVIEW = "skill-review"


@dataclass(frozen=True, slots=True)
class SkillReviewPlan:
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


def planned(
    skills: Sequence[Skill], settled: Sequence[SettledCluster], context: ModelContext, room: int
) -> SkillReviewPlan:
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
        return SkillReviewPlan((), due, too_long)
    calls = grouped(fitting, weights, threshold=terms.threshold, room=room)
    # Alone, a skill can be neither merged nor linked.
    asked = [call for call in calls if len(call) > 1 and not due.isdisjoint(skill.id for skill in call)]
    return SkillReviewPlan(tuple(asked), due, too_long)


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
