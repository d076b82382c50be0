"""Writes skills as lines of a prompt."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from agentcore.domain.skill import Skill
from agentcore.llm.chat import estimate_tokens
from dream.options import SkillConsolidationOptions
from dream.passes.prompts import quoted

SPARSE: Final = "sparse-content"
"""Mark of a skill that says little."""
_WIDEST_HANDLE: Final = "s0000"
_MARKS: Final = f"uses=000000 {SPARSE}"


def handles(record_ids: Sequence[str], letter: str = "s") -> Mapping[str, str]:
    """Return the record id of each handle, in order.

    Example:
        >>> dict(handles(["9f3a", "77c0"]))
        {'s1': '9f3a', 's2': '77c0'}
    """
    return {f"{letter}{place}": record_id for place, record_id in enumerate(record_ids, 1)}


def is_sparse(skill: Skill, terms: SkillConsolidationOptions, as_of: datetime) -> bool:
    """Tell whether a skill says little and had time to say more."""
    return len(skill.content) < terms.sparse_below and skill.created_at < as_of - terms.sparse_after


def skill_line(handle: str, skill: Skill, *marks: str) -> str:
    """Return a skill as one line of data, its procedure whole."""
    parts = [f"[{handle}]", f"name={quoted(skill.name)}", *(mark for mark in marks if mark)]
    if skill.see_also:
        parts.append(f"see-also={quoted(', '.join(skill.see_also))}")
    return " ".join([*parts, f"summary={quoted(skill.summary)}", quoted(skill.content)])


def tokens_of(skill: Skill) -> int:
    """Return what the line of a skill takes in a prompt at most, its line break included."""
    return estimate_tokens(f"{skill_line(_WIDEST_HANDLE, skill, _MARKS)}\n")
