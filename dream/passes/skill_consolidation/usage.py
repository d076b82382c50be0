"""How skills are used: counts, and pairs that are used together."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from itertools import combinations
from typing import Final

from agentcore.domain.skill import SkillUse
from agentcore.stores.storage import ReadView
from dream.passes.protocol import ModelContext

MOST_USES: Final = 10_000
"""The newest so many uses are looked at."""
_MOST_IN_SESSION: Final = 50
"""Skills of one session that are paired; more are the mark of a test, not of a task."""


@dataclass(frozen=True)
class Usage:
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


def usage(uses: Sequence[SkillUse], names: Collection[str]) -> Usage:
    """Count the uses of the skills that have one of *names*."""
    sessions: dict[str, set[str]] = {}
    for use in uses:
        if use.skill_name in names:
            sessions.setdefault(use.session_id, set()).add(use.skill_name)
    pairs = Counter(pair for used in sessions.values() for pair in combinations(sorted(used)[:_MOST_IN_SESSION], 2))
    return Usage(Counter(use.skill_name for use in uses if use.skill_name in names), pairs)


def read_usage(view: ReadView, context: ModelContext, names: Collection[str]) -> Usage:
    """Read the uses of the window that ends with the run."""
    since = context.as_of - context.options.skill_consolidation.use_window
    uses = view.skill_uses.newest(limit=MOST_USES, since=since)
    return usage([use for use in uses if use.occurred_at <= context.as_of], names)
