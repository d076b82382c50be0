"""Since when a skill says what it says now, and which skills went into it: their uses and failures are its own."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agentcore.domain.memory import Status
from agentcore.domain.skill import Skill
from agentcore.stores.storage import ReadView
from dream.passes.protocol import PassView
from dream.passes.skill_consolidation.operations import MERGE, REWRITE

_KEEPS_ALL: Final = frozenset({MERGE, REWRITE})
"""Operations after which a skill says all that it said before."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which a skill of this name said what another one, or the same, says now.

    Args:
        name: What it was called.
        since: Its beginning; None if it was always so.
        until: Its end; None if it lasts.
    """

    name: str
    since: datetime | None
    until: datetime | None

    def holds(self, at: datetime) -> bool:
        """Tell whether an instant is within it."""
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)


@dataclass(frozen=True, slots=True)
class Lineage:
    """What is known of the past of skills.

    Args:
        parents: Retired skills by the name of the one that took their place.
        rewrites: Changes by skill id, newest first: the skill before and after, and whether it says all it said.
    """

    parents: Mapping[str, Sequence[Skill]]
    rewrites: Mapping[str, Sequence[tuple[Skill, Skill, bool]]]

    @classmethod
    def read(cls, view: PassView, *, used: Collection[str], failing: Collection[str]) -> "Lineage":
        """Read what the uses of skills need.

        Args:
            view: Where.
            used: Names under which skills were used.
            failing: Those of them that were used where something went wrong.
        """
        parents = _parents(view, used)
        heirs = {name for name, gone in parents.items() if any(one.name in failing for one in gone)}
        skills = [one for name in sorted({*failing, *heirs}) if (one := view.skills.named(name)) is not None]
        skills += [one for gone in parents.values() for one in gone]
        ids = {one.id for one in skills if one.updated_at is not None}
        rewrites: defaultdict[str, list[tuple[Skill, Skill, bool]]] = defaultdict(list)
        for row in reversed(view.books.journal.of_records(ids) if ids else []):
            before, after = row.record_before, row.record_after
            if isinstance(before, Skill) and isinstance(after, Skill):
                rewrites[row.record_id].append((before, after, row.operation in _KEEPS_ALL))
        return cls(parents, rewrites)

    def stretches(
        self, skill: Skill, skill_id: str | None = None, *, until: datetime | None = None
    ) -> Sequence[Stretch]:
        """Return the times in which the text of *skill* was in use, under its name and those of what went into it.

        Args:
            skill: A skill, or a former text of it.
            skill_id: Whose text it is, if it is a former one.
            until: When it went; None if it did not.
        """
        found: list[Stretch] = []
        open_texts = [(skill, skill_id or skill.id, until)]
        seen: set[str] = set()
        while open_texts:
            one, one_id, end = open_texts.pop()
            seen.add(one_id)
            since = self._since(one, one_id)
            found.append(Stretch(one.name, since, end))
            open_texts += [
                (parent, parent.id, gone)
                for parent in self.parents.get(one.name, ())
                if (gone := parent.status_at) is not None and parent.id not in seen
                if (since is None or gone > since) and (end is None or gone <= end)
            ]
        return found

    def _since(self, skill: Skill, skill_id: str) -> datetime | None:
        """Return when a skill began to say all that it says now; None if it always did."""
        text, since = skill.content, skill.updated_at
        for before, after, keeps_all in self.rewrites.get(skill_id, ()):
            if (after.content, after.updated_at) == (text, since):
                if not keeps_all:
                    break
                text, since = before.content, before.updated_at
        return since


def _parents(view: ReadView, used: Collection[str]) -> dict[str, list[Skill]]:
    """Return the retired skills among those used, and what they went into, by the name of their successor."""
    parents: defaultdict[str, list[Skill]] = defaultdict(list)
    live, seen = view.skills.names(), set[str]()
    wanted = view.skills.taken(set(used) - live)
    while wanted:
        seen |= wanted
        heirs: set[str] = set()
        for name in sorted(wanted):
            for skill in view.skills.ever_named(name):
                if skill.status is Status.ARCHIVED and skill.successor not in {None, skill.name}:
                    heirs.add(str(skill.successor))
                    parents[str(skill.successor)].append(skill)
        wanted = heirs - live - seen
    return dict(parents)
