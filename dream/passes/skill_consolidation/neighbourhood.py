"""Which skills are shown together: those of a name prefix, and those that share rare words."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import chain, pairwise
from math import log
from typing import Final

from agentcore.domain.skill import Skill
from dream.passes.skill_names import prefix_of
from dream.passes.terms import terms_of

_SALIENT: Final = 12
"""Terms of a skill that are compared: its rarest."""
_CROWD: Final = 40
"""A term of more skills than this says nothing about two of them."""
_SIBLINGS: Final = 0.5
"""Skills of one prefix are joined after skills that are more alike than this, and before the others."""


def packed(
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
