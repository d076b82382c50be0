"""Words what is judged of a skill, and judges it by the words of what the skill is made of."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from agentcore.domain.skill import Skill
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.verification import Assertion, EvidenceLine
from dream.guards.detail import DetailKind
from dream.guards.names import Vocabulary
from dream.guards.verdict import Verdict
from dream.passes.rewriting import judged_by_words

_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_NUMBER: Final = re.compile(r"^(\s*)(?:\(?\d{1,3}[.):]|step\s+\d{1,3}\s*[.):-])\s+", re.IGNORECASE)
_ADDRESSES: Final = frozenset({DetailKind.URL, DetailKind.EMAIL})
"""What no step of general practice brings."""


def skill_text(summary: str, content: str, names: Iterable[str] = ()) -> str:
    r"""Return what a skill says as one text; steps go by their order, not by their numbers.

    Args:
        summary: Its line of the catalogue.
        content: The procedure.
        names: What it is called, or what it takes the place of.

    Example:
        >>> skill_text("Send a mail", "1. Draft it.\n2. Ask.", ["mail/send"])
        '# mail/send\n> Send a mail\n- Draft it.\n- Ask.'
    """
    return "\n".join((*(f"# {name}" for name in names), f"> {summary}", *_unnumbered(content)))


def skill_line(skill: Skill, *, is_beside: bool = False) -> EvidenceLine:
    """Return a skill as evidence."""
    return EvidenceLine(text=skill_text(skill.summary, skill.content, [skill.name]), role="skill", is_beside=is_beside)


def verdict_of(
    label: str, assertion: Assertion, vocabulary: Vocabulary, *, may_lose: bool = False
) -> Verdict | Refusal:
    """Return what words tell of a procedure: proven, undecided, or why it is refuted.

    Args:
        label: How a refusal calls it.
        assertion: What it says, and what it is made of.
        vocabulary: Words that are no names.
        may_lose: Whether its evidence may speak against parts of it, which only a second reading can tell.
    """
    found = judged_by_words(assertion, vocabulary)
    invented = tuple(one for one in found.invented if not assertion.adds or one.kind in _ADDRESSES)
    lost = () if may_lose else found.lost
    for code, details in ((Refused.INVENTED_DETAIL, invented), (Refused.LOST_DETAIL, lost)):
        if details:
            return Refusal(code, f"{label}: {', '.join(map(str, details))}")
    # Steps of two procedures, one between the other, may mean what neither meant.
    is_one = sum(not line.is_beside for line in assertion.evidence) == 1
    return Verdict.PROVEN if found.is_proven and is_one else Verdict.UNDECIDED


def named_line(name: str, text: str) -> Iterator[EvidenceLine]:
    """Yield the name of a new skill if its own text speaks of it."""
    if name in text:
        yield EvidenceLine(text=f"# {name}", role="skill", is_beside=True)


def beside_of(text: str, skills: Iterable[Skill]) -> Iterator[EvidenceLine]:
    """Yield other skills that a text names, so that a reader knows what they are."""
    for skill in skills:
        if skill.name in text:
            yield EvidenceLine(text=f"# {skill.name}\n> {skill.summary}", role="skill", is_beside=True)


def _unnumbered(content: str) -> Iterator[str]:
    fence = ""
    for line in content.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        yield line if fence or mark else _NUMBER.sub(r"\1- ", line)
