"""The catalogue beside a question: all skills if they fit, else those that are most like the conversation."""

from collections import Counter, OrderedDict
from collections.abc import Sequence
from math import log
from threading import Lock
from typing import Final

from agentcore.domain.skill import Skill
from agentcore.llm.tokens import estimate_tokens
from agentcore.recall.tokenizer import Tokenizer
from dream.passes.prompting import quoted

_TEXTS_REMEMBERED: Final = 20_000


class Stems:
    """The terms of texts, cut once; lives as long as its pass, and may be asked from several threads."""

    def __init__(self) -> None:
        self._tokenizer = Tokenizer()
        self._lock = Lock()
        self._known: OrderedDict[str, frozenset[str]] = OrderedDict()

    def of(self, text: str) -> frozenset[str]:
        """Return the terms of *text*, each once."""
        with self._lock:
            if text not in self._known:
                self._known[text] = frozenset(self._tokenizer.tokens(text))
                if len(self._known) > _TEXTS_REMEMBERED:
                    self._known.popitem(last=False)
            return self._known[text]


def catalogue_line(skill: Skill) -> str:
    """Return a skill as one line of the catalogue."""
    return f"- name={quoted(skill.name)} summary={quoted(skill.summary)}"


def shown(skills: Sequence[Skill], texts: Sequence[str], stems: Stems, *, room: int) -> list[Skill]:
    """Return the skills that fit into *room* tokens, by name; if not all do, those most like *texts*.

    Likeness is the sum of the weights of the terms that a skill's name and summary share with the texts; a term weighs
    more the fewer skills have it.
    """
    weights = [estimate_tokens(f"{catalogue_line(skill)}\n") for skill in skills]
    if sum(weights) <= room:
        return list(skills)
    terms = [stems.of(f"{skill.name} {skill.summary}") for skill in skills]
    common = Counter(term for found in terms for term in found)
    asked = frozenset[str]().union(*(stems.of(text) for text in texts))
    likeness = [sum(log(1 + len(skills) / common[term]) for term in found & asked) for found in terms]
    ranked = sorted(range(len(skills)), key=lambda place: (-likeness[place], skills[place].name))
    kept: list[Skill] = []
    for place in ranked:
        room -= weights[place]
        if room < 0:
            break
        kept.append(skills[place])
    return sorted(kept, key=lambda skill: skill.name)
