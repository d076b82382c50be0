"""Skills: what a store of them can be asked and told."""

from collections.abc import Collection, Sequence
from typing import Protocol

from agentcore.domain.skill import Skill
from agentcore.stores.protocols.feed import FeedPage, FeedPosition, SkillRow


class SkillReader(Protocol):
    """Read skills."""

    def get(self, skill_id: str) -> Skill | None:
        """Return the skill in whatever state, or None."""
        ...

    def get_many(self, skill_ids: Collection[str]) -> list[Skill]:
        """Return those that exist, in whatever state, sorted by id."""
        ...

    def by_keys(self, keys: Sequence[int]) -> dict[int, Skill]:
        """Return skills by the keys that `changes_since` gave."""
        ...

    def changes_since(self, position: FeedPosition, *, limit: int) -> FeedPage[SkillRow]:
        """Return the next page of the feed of skills after *position*; the default position starts from nothing."""
        ...

    def named(self, name: str) -> Skill | None:
        """Return the active skill of that name, or None."""
        ...

    def ever_named(self, name: str) -> list[Skill]:
        """Return the skills that have this name, in whatever state, in the order they were added."""
        ...

    def resolve(self, prefix: str) -> str:
        """Return the one id, of a skill in whatever state, that starts with *prefix*.

        Raises:
            UnknownRecordError: none or several do.
        """
        ...

    def taken(self, names: Collection[str]) -> set[str]:
        """Return those of *names* that a skill has or once had, in whatever state it is."""
        ...

    def names(self, among: Collection[str] | None = None) -> set[str]:
        """Return the names of active skills: of all, or those among *among*."""
        ...

    def leading_to(self, names: Collection[str]) -> list[Skill]:
        """Return active skills that name one of *names* as related, by name."""
        ...

    def earlier(self) -> list[Skill]:
        """Return retired skills that have the name of an active one, by name, longest retired first."""
        ...

    def catalogue(self, *, prefix: str = "") -> list[Skill]:
        """Return active skills whose name starts with *prefix*, by name."""
        ...


class SkillStore(SkillReader, Protocol):
    """Write skills."""

    def add(self, skill: Skill) -> None:
        """Insert a skill; StaleVersionError if its id is taken, or an active one has its name."""
        ...

    def replace(self, before: Skill, after: Skill) -> None:
        """Write *after* over *before*; StaleVersionError if the stored version is another than *before*'s."""
        ...

    def delete(self, skill_ids: Collection[str]) -> int:
        """Remove skills for good; return how many there were."""
        ...
