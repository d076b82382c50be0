"""The catalogue beside a question: all skills if they fit, else those that are most like the conversation."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import log

from agentcore.domain.skill import Skill
from agentcore.llm.tokens import estimate_tokens
from dream.passes.prompts import quoted
from dream.passes.terms import terms_of


def catalogue_line(skill: Skill) -> str:
    """Return a skill as one line of the catalogue."""
    return f"- name={quoted(skill.name)} summary={quoted(skill.summary)}"


class Catalogue:
    """The skills there are, weighed and cut into terms once for all questions of a run; lives as long as it.

    Args:
        skills: Them, by name.

    Attributes:
        skills: Them.
        names: Their names in small letters.
    """

    def __init__(self, skills: Sequence[Skill]) -> None:
        self.skills = skills
        self.names = frozenset(skill.name.casefold() for skill in skills)
        self._tokens = [estimate_tokens(f"{catalogue_line(skill)}\n") for skill in skills]
        self._all = sum(self._tokens)
        self._holders: defaultdict[str, list[int]] = defaultdict(list)
        for place, skill in enumerate(skills):
            for term in set(terms_of(f"{skill.name} {skill.summary}")):
                self._holders[term].append(place)

    def shown(self, texts: Iterable[str], *, room: int) -> list[Skill]:
        """Return the skills that fit into *room* tokens, by name; if not all do, those most like *texts*.

        Likeness is the sum of the weights of the terms that a skill's name and summary share with the texts; a term
        weighs more the fewer skills have it.
        """
        if self._all <= room:
            return list(self.skills)
        likeness = [0.0] * len(self.skills)
        for term in sorted({term for text in texts for term in terms_of(text)} & self._holders.keys()):
            holders = self._holders[term]
            weight = log(1 + len(self.skills) / len(holders))
            for place in holders:
                likeness[place] += weight
        kept: list[int] = []
        for place in sorted(range(len(self.skills)), key=lambda place: (-likeness[place], place)):
            room -= self._tokens[place]
            if room < 0:
                break
            kept.append(place)
        return [self.skills[place] for place in sorted(kept)]
