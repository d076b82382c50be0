"""Answers a query with skills."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from agentcore.domain.memory import Status
from agentcore.domain.scope import Scope
from agentcore.domain.skill import Skill
from agentcore.errors import InvalidOptionsError
from agentcore.recall.follow import FeedSource
from agentcore.recall.index_cache import IndexBudget, IndexCache
from agentcore.recall.thread import RecallThread
from agentcore.stores.storage import ReadView, Storage
from agentcore.stores.values import FeedPage, FeedPosition, SkillRow

if TYPE_CHECKING:
    from agentcore.recall.skill_index import SkillIndex


@dataclass(frozen=True, slots=True)
class SkillHit:
    """One skill that answers a query.

    Args:
        skill: The skill.
        score: BM25, above 0; comparable within one answer only.
    """

    skill: Skill
    score: float


class SkillRecall:
    """Finds skills by what they are called and what they say; lives as long as `Recall`, which opens and closes it.

    Args:
        storage: Where the skills are.
        thread: What owns the indexes.
        budget: Makes room when all indexes together take too much memory.
    """

    def __init__(self, storage: Storage, thread: RecallThread, *, budget: IndexBudget) -> None:
        self._thread = thread
        self.cache: Final[IndexCache[SkillIndex, SkillRow]] = IndexCache(
            FeedSource(storage, thread, self._new_index, _feed), budget=budget
        )
        """The indexes."""

    async def close(self) -> None:
        """Drop every index."""
        await self.cache.close()

    async def search(self, scope: Scope, query: str, *, k: int = 10) -> list[SkillHit]:
        """Return the *k* best active skills for *query*, best first; equal scores in the order of arrival.

        Args:
            scope: Whose skills to search.
            query: What is asked, of any length; one without a word finds nothing.
            k: How many at most, 1 or more.

        Raises:
            InvalidOptionsError: *k* is below 1.
            HostNotStartedError: recall is not open.
        """
        if k < 1:
            raise InvalidOptionsError(field="k", value=k, allowed="give 1 or more")
        self._thread.require_open()
        if not query.strip():
            return []
        return await self.cache.ask(scope, partial(skills_found, query=query, k=k))

    def _new_index(self) -> "SkillIndex":
        # Opening a host must not pay for NumPy: the first query does, on the recall thread.
        from agentcore.recall.skill_index import SkillIndex  # noqa: PLC0415

        return SkillIndex(self._thread.tokenizer())


def _feed(view: ReadView, position: FeedPosition, limit: int) -> FeedPage[SkillRow]:
    return view.skills.changes_since(position, limit=limit)


def skills_found(view: ReadView, index: "SkillIndex", *, query: str, k: int) -> list[SkillHit]:
    """Rank and fetch, on the recall thread, with an index that holds what the view holds."""
    ranking = index.rank(query, limit=k)
    found = view.skills.by_keys(ranking.keys)
    return [
        SkillHit(found[key], score)
        for key, score in zip(ranking.keys, ranking.scores, strict=True)
        if key in found and found[key].status is Status.ACTIVE
    ]
