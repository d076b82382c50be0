"""Asks the model how to merge and connect skills, with what their use tells of them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from itertools import combinations
from typing import Final

from agentcore.domain.skill import Skill, SkillUse
from agentcore.llm.chat import ChatRequest, estimate_tokens
from agentcore.stores.storage import ReadView
from dream.options import ModelOptions
from dream.passes.answers import answer_form, item_schema
from dream.passes.prompts import build_request, fenced, quoted
from dream.passes.protocol import ModelContext
from dream.passes.skills.answers import Retirement, SkillDraft
from dream.passes.skills.lines import SPARSE, is_sparse, skill_line
from dream.passes.skills.skill_names import prefix_of

MOST_USES: Final = 10_000
"""The newest so many uses are looked at."""
_MOST_IN_SESSION: Final = 50
"""Skills of one session that are paired; more are the mark of a test, not of a task."""


@dataclass(frozen=True)
class SkillUsage:
    """Uses of a time window.

    Args:
        counts: By name of the skill.
        pairs: By two names in order: sessions that used both.
    """

    counts: Counter[str]
    pairs: Counter[tuple[str, str]]

    def together(self, names: Collection[str], *, most: int) -> list[tuple[tuple[str, str], int]]:
        """Return the pairs used together most often of which at least one name is among *names*."""
        pairs = {pair for name in names for pair in self._by_name.get(name, ())}
        found = ((pair, self.pairs[pair]) for pair in pairs)
        return nsmallest(most, found, key=lambda item: (-item[1], item[0]))

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for pair in self.pairs:
            for name in pair:
                found[name].append(pair)
        return found


def usage(uses: Sequence[SkillUse], names: Collection[str]) -> SkillUsage:
    """Count the uses of the skills that have one of *names*."""
    sessions: dict[str, set[str]] = {}
    for use in uses:
        if use.skill_name in names:
            sessions.setdefault(use.session_id, set()).add(use.skill_name)
    pairs = Counter(pair for used in sessions.values() for pair in combinations(sorted(used)[:_MOST_IN_SESSION], 2))
    return SkillUsage(Counter(use.skill_name for use in uses if use.skill_name in names), pairs)


def read_usage(view: ReadView, context: ModelContext, names: Collection[str]) -> SkillUsage:
    """Read the uses of the window that ends with the run."""
    since = context.as_of - context.options.skill_consolidation.use_window
    uses = view.skill_uses.newest(limit=MOST_USES, since=since)
    return usage([use for use in uses if use.occurred_at <= context.as_of], names)


_FORM: Final = answer_form("skill_consolidation", toDelete=item_schema(Retirement), toSave=item_schema(SkillDraft))
_CONTRACT: Final = """\
Review the skills above. Answer with {"toDelete": [...], "toSave": [...]}; leave a list empty if it has no item.
An item of toSave is {"name", "summary", "content", "sourceNames", "seeAlso"}:
- "name": that of a skill shown, which is rewritten and goes on, or a new one that no skill has or had;
- "content": the procedure in Markdown, whole; null leaves the text of a skill shown as it is;
- "sourceNames": handles of the skills it is made of, its own included;
- "seeAlso": names or handles of related skills, in place of those there were; an empty list leaves them as they are.
An item of toDelete is {"name", "replacedBy", "reason"}: the handle of a skill that goes, and the handle of the skill
shown, or the name of the item of toSave, that takes its place. A skill goes only if what replaces it tells all that
it tells, steps in their order. Do not delete without saving: toDelete with an empty toSave is refused whole. Use each
skill in one item only. A skill that is fine stands in neither list."""

_SKILLS: Final = "Skills:"
_PAIRS: Final = "Skills used in the same sessions, with the count of sessions:"
_PREFIXES: Final = "Skills that share the first part of their name:"
_LISTS: Final = 6
"""A sixth of a prompt at most goes to the lists below the skills."""


def room_for_skills(options: ModelOptions) -> int:
    """Return the tokens that the lines of skills may take."""
    frame = estimate_tokens(f"{_CONTRACT}\n{_SKILLS}\n{_PAIRS}\n{_PREFIXES}") + 64
    return max(0, options.prompt_tokens - options.prompt_tokens // _LISTS - frame)


def question(
    context: ModelContext, skills: Mapping[str, Skill], usage: SkillUsage, directives: Sequence[str], purpose: str
) -> ChatRequest:
    """Return the question about skills by handle."""
    terms = context.options.skill_consolidation
    lines = [
        skill_line(
            handle,
            skill,
            f"uses={usage.counts[skill.name]}",
            SPARSE if is_sparse(skill, terms, context.as_of) else "",
        )
        for handle, skill in skills.items()
    ]
    room = context.options.model.prompt_tokens // _LISTS // 2
    together = usage.together({skill.name for skill in skills.values()}, most=terms.co_used)
    pairs = _fitting([f"- {quoted(one)} and {quoted(other)}: {count}" for (one, other), count in together], room)
    prefixes = _fitting(_clusters(list(skills.values())), room)
    return build_request(
        context,
        directives=directives,
        blocks=[
            fenced(context.marker, _SKILLS, lines),
            *([fenced(context.marker, _PAIRS, pairs)] if pairs else []),
            *([fenced(context.marker, _PREFIXES, prefixes)] if prefixes else []),
            _CONTRACT,
        ],
        answer=_FORM,
        purpose=purpose,
    )


def _clusters(skills: Sequence[Skill]) -> list[str]:
    names: dict[str, list[str]] = {}
    for skill in skills:
        if prefix_of(skill.name):
            names.setdefault(prefix_of(skill.name), []).append(skill.name)
    return [f"- {quoted(f'{prefix}/*')}: {quoted(', '.join(of))}" for prefix, of in names.items() if len(of) > 1]


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """Return the first lines that take at most *room* tokens."""
    kept: list[str] = []
    for line in lines:
        room -= estimate_tokens(f"{line}\n")
        if room < 0:
            break
        kept.append(line)
    return kept
