"""Holds the open indexes, a scope each, within the memory they share."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeVar

from agentcore.domain.decay import Decay
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import to_micros
from agentcore.recall.follow import FeedFollower, FeedIndex, FeedSource, ask
from agentcore.stores.storage import ReadView

Close: TypeAlias = Callable[[Scope], Awaitable[None]]

_BYTES_PER_INDEX: Final = 16_384
"""What an empty one costs with its lock and its lists."""


class IndexBudget:
    """Closes the index unused for longest when all together take too much memory; lives as long as recall.

    The index just used stays, however large it is.

    Args:
        limit: Bytes that all may take.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._open: OrderedDict[tuple[Close, Scope], int] = OrderedDict()

    async def use(self, close: Close, scope: Scope, nbytes: int) -> None:
        """Note that an index was used, and close others until there is room for it.

        Args:
            close: Closes the index of a scope; also tells apart what kind of records it is of.
            scope: Whose index it is.
            nbytes: What it takes.
        """
        held = nbytes + _BYTES_PER_INDEX
        self._used += held - self._open.pop((close, scope), 0)
        self._open[close, scope] = held
        while self._used > self._limit and len(self._open) > 1:
            (close_oldest, oldest), freed = self._open.popitem(last=False)
            self._used -= freed
            await close_oldest(oldest)

    def use_again(self, close: Close, scope: Scope) -> None:
        """Note that an index was used which takes as much as before."""
        if (close, scope) in self._open:
            self._open.move_to_end((close, scope))

    def clear(self) -> None:
        """Forget every index."""
        self._open.clear()
        self._used = 0


Row = TypeVar("Row")
Index = TypeVar("Index", bound="FeedIndex[Any]")
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


class IndexCache(Generic[Index, Row]):
    """Holds an index for each scope asked of late; lives as long as recall.

    Args:
        source: Where the records come from, and what makes and owns their indexes.
        budget: Makes room when all indexes together take too much memory.
    """

    def __init__(self, source: FeedSource[Index, Row], *, budget: IndexBudget) -> None:
        self._source = source
        self._budget = budget
        self._scopes: dict[Scope, FeedFollower[Index, Row]] = {}

    async def close(self) -> None:
        """Drop every index, keeping those that are worth it."""
        for scope in list(self._scopes):
            await self._drop(scope)

    async def scrub(self, scope: Scope) -> None:
        """Delete what was kept of a scope's index.

        Raises:
            StorageUnavailableError: it cannot be deleted.
        """
        if self._source.index_store is not None:
            await self._source.index_store.scrub(scope)

    @asynccontextmanager
    async def held(self, scope: Scope) -> AsyncGenerator[tuple[Index, FeedFollower[Index, Row]]]:
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
        await self._budget.use(self._evict, scope, index.nbytes + follower.kept.nbytes)

    def at_hand(self, scope: Scope) -> FeedFollower[Index, Row] | None:
        """Return the follower of a scope whose index nobody uses or changes, if it can be asked at once.

        It may be used on the event loop's thread until that goes on.
        """
        follower = self._scopes.get(scope)
        if follower is None or follower.index is None or follower.lock.locked() or not self._source.thread.is_idle:
            return None
        self._budget.use_again(self._evict, scope)
        return follower

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

        Nobody else uses or changes the index meanwhile (see `agentcore.recall.follow`).

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

    def _follower(self, scope: Scope) -> FeedFollower[Index, Row]:
        follower = self._scopes.get(scope)
        if follower is None:
            follower = self._scopes[scope] = FeedFollower(scope, self._source)
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
