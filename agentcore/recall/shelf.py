"""Shelf: the indexes of one kind of record, a scope each, kept up by the change feed."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from agentcore.domain.decay import Decay
from agentcore.domain.instants import to_micros
from agentcore.domain.scope import Scope
from agentcore.recall.asking import ask
from agentcore.recall.budget import IndexBudget
from agentcore.recall.follower import Follower, Source
from agentcore.recall.following import Following
from agentcore.stores.protocols import ReadView

Row = TypeVar("Row")
Index = TypeVar("Index", bound="Following[Any]")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Current(Generic[Index]):
    """An index that holds everything committed, nobody else's until it is given back.

    Args:
        index: The index; to be used on the recall thread.
        now_us: The instant of that, microseconds since 1970.
        decay: How importance is read then.
    """

    index: Index
    now_us: int
    decay: Decay


class Shelf(Generic[Index, Row]):
    """Holds an index for each scope asked of late; lives as long as recall.

    Args:
        source: Where the records come from, and what makes and owns their indexes.
        budget: Makes room when all indexes together take too much memory.
    """

    def __init__(self, source: Source[Index, Row], *, budget: IndexBudget) -> None:
        self._source = source
        self._budget = budget
        self._scopes: dict[Scope, Follower[Index, Row]] = {}

    async def close(self) -> None:
        """Drop every index, keeping those that are worth it."""
        for scope in list(self._scopes):
            await self._drop(scope)

    async def scrub(self, scope: Scope) -> None:
        """Delete what was kept of a scope's index.

        Raises:
            StorageUnavailableError: it cannot be deleted.
        """
        if self._source.keeper is not None:
            await self._source.keeper.scrub(scope)

    @asynccontextmanager
    async def held(self, scope: Scope) -> AsyncGenerator[tuple[Index, Follower[Index, Row]]]:
        """Yield the scope's index and its follower, for `ask`; nobody else uses or changes them meanwhile.

        Who holds several takes those of entries first, then those of turns, then those of skills.

        Raises:
            HostNotStartedError: recall is not open.
        """
        self._source.thread.require_open()
        follower = self._follower(scope)
        async with follower.lock:
            index = await follower.opened()
            yield index, follower
        await self._budget.use(self._evict, scope, index.nbytes)

    @asynccontextmanager
    async def current(self, scope: Scope) -> AsyncGenerator[Current[Index]]:
        """Yield the scope's index with everything committed before; nobody else uses or changes it meanwhile.

        Raises:
            HostNotStartedError: recall is not open.
        """
        async with self.held(scope) as (index, follower):
            now, decay = await follower.catch_up()
            follower.tidy_at_leisure()
            yield Current(index, to_micros(now), decay)

    async def ask(self, scope: Scope, work: Callable[[ReadView, Index], T]) -> T:
        """Call *work* on the recall thread with a view of the scope and the index that holds what the view holds.

        Nobody else uses or changes the index meanwhile (see `agentcore.recall.asking`).

        Args:
            scope: Whose records to ask for.
            work: What to ask of both; it may be long only where the question is.

        Raises:
            HostNotStartedError: recall is not open.
        """
        async with self.held(scope) as (index, follower):
            asked = partial(_asked, index=index, work=work)
            return await ask(self._source.storage, self._source.thread, scope, (follower,), asked)

    @asynccontextmanager
    async def as_it_is(self, scope: Scope) -> AsyncGenerator[Index]:
        """Yield the scope's index as far as it has followed; nobody else uses or changes it meanwhile."""
        follower = self._follower(scope)
        async with follower.lock:
            yield await follower.opened()

    def _follower(self, scope: Scope) -> Follower[Index, Row]:
        follower = self._scopes.get(scope)
        if follower is None:
            follower = self._scopes[scope] = Follower(scope, self._source)
        return follower

    async def _evict(self, scope: Scope) -> None:
        """Drop a scope's index to make room; one in use stays and counts again from its next use on."""
        if scope in self._scopes and not self._scopes[scope].lock.locked():
            await self._drop(scope)

    async def _drop(self, scope: Scope) -> None:
        follower = self._scopes[scope]
        async with follower.lock:
            try:
                await follower.keep()
            finally:
                if self._scopes.get(scope) is follower:
                    del self._scopes[scope]


def _asked(view: ReadView, *, index: Index, work: Callable[[ReadView, Index], T]) -> T:
    return work(view, index)
