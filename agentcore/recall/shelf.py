"""Shelf: the indexes of one kind of record, a scope each, kept up by the change feed."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from agentcore.domain.decay import Decay
from agentcore.domain.instants import to_micros
from agentcore.domain.scope import Scope
from agentcore.recall.budget import IndexBudget
from agentcore.recall.thread import RecallThread
from agentcore.stores.protocols import FeedPage, FeedPosition, ReadView, Storage

Row = TypeVar("Row")
Row_contra = TypeVar("Row_contra", contravariant=True)
Index = TypeVar("Index", bound="Following[Any]")
T = TypeVar("T")
Index_contra = TypeVar("Index_contra", bound="Following[Any]", contravariant=True)

Feed: TypeAlias = Callable[[ReadView, FeedPosition, int], FeedPage[Row]]
"""Gives the next page of one kind of record after a position, with so many rows at most."""

_PAGE: Final = 1_000
_TRIES: Final = 2
_ROWS_AT_ONCE: Final = 200
"""Rows indexed before the thread is free for somebody else, and the event loop for a breath: about 5 ms."""


class Following(Protocol[Row_contra]):
    """An index that follows the feed of one scope; every change may be repeated."""

    position: FeedPosition
    """How far the feed has been taken over."""

    def restart(self) -> None:
        """Forget everything and begin the feed anew."""
        ...

    def drop(self, keys: Iterable[int]) -> None:
        """Leave out records that are gone; unknown ones change nothing."""
        ...

    def take(self, rows: Iterable[Row_contra]) -> None:
        """Take over records as they are now; those that readers may not see leave."""
        ...

    def reach(self, position: FeedPosition) -> None:
        """Note that everything up to *position* has been taken over."""
        ...

    def tidy(self) -> bool:
        """Spend a few milliseconds on what removals left behind, if that is worth it; tell whether there is more."""
        ...

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate."""
        ...


class Keeper(Protocol[Index_contra]):
    """Keeps indexes over restarts."""

    async def load(self, scope: Scope, index: Index_contra) -> None:
        """Fill an empty index with what was kept of it, if that can be used."""
        ...

    async def save(self, scope: Scope, index: Index_contra) -> None:
        """Keep an index that holds everything committed, if that is worth it."""
        ...

    async def discard(self, scope: Scope) -> None:
        """Delete what was kept, if that is possible: something in it is gone."""
        ...

    async def scrub(self, scope: Scope) -> None:
        """Delete what was kept, or raise: something in it must not stay."""
        ...


@dataclass(slots=True)
class _Held(Generic[Index]):
    """A scope's index, once it is made, and the lock that keeps each query's catching-up and ranking together."""

    index: Index | None = None
    revision: int | None = None
    """The scope's revision that the index has reached the end of."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


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
        storage: Where the records are.
        thread: What owns the indexes.
        make: Makes an empty index, on the thread.
        feed: Where its rows come from.
        budget: Makes room when all indexes together take too much memory.
        keeper: Keeps indexes over restarts; None where they are built anew.
    """

    def __init__(
        self,
        storage: Storage,
        thread: RecallThread,
        *,
        make: Callable[[], Index],
        feed: Feed[Row],
        budget: IndexBudget,
        keeper: Keeper[Index] | None = None,
    ) -> None:
        self._storage = storage
        self._thread = thread
        self._make = make
        self._feed = feed
        self._budget = budget
        self._keeper = keeper
        self._scopes: dict[Scope, _Held[Index]] = {}

    async def close(self) -> None:
        """Drop every index, keeping those that are worth it."""
        for scope in list(self._scopes):
            await self._drop(scope)

    async def scrub(self, scope: Scope) -> None:
        """Delete what was kept of a scope's index.

        Raises:
            StorageUnavailableError: it cannot be deleted.
        """
        if self._keeper is not None:
            await self._keeper.scrub(scope)

    @asynccontextmanager
    async def current(self, scope: Scope) -> AsyncGenerator[Current[Index]]:
        """Yield the scope's index with everything committed before; nobody else uses or changes it meanwhile.

        Raises:
            HostNotStartedError: recall is not open.
        """
        self._thread.require_open()
        held = self._scopes.setdefault(scope, _Held())
        async with held.lock:
            index = await self._index(scope, held)
            now, decay = await self._catch_up(scope, held, index)
            yield Current(index, to_micros(now), decay)
        await self._budget.use(self._evict, scope, index.nbytes)

    async def ask(self, scope: Scope, work: Callable[[ReadView, Index], T]) -> T:
        """Call *work* on the recall thread with a view of the scope and the index that holds what the view holds.

        Nobody else uses or changes the index meanwhile. A writer that commits between catching up and asking has the
        index catch up again; beside one that never rests, the last view may be ahead of the index.

        Args:
            scope: Whose records to ask for.
            work: What to ask of both; it may be long only where the question is.

        Raises:
            HostNotStartedError: recall is not open.
        """
        self._thread.require_open()
        held = self._scopes.setdefault(scope, _Held())
        async with held.lock:
            index = await self._index(scope, held)
            answer = await self._ask(scope, held, index, work)
        await self._budget.use(self._evict, scope, index.nbytes)
        return answer

    async def _ask(self, scope: Scope, held: _Held[Index], index: Index, work: Callable[[ReadView, Index], T]) -> T:
        for _ in range(_TRIES + 1):
            if held.revision is not None:
                if_current = partial(_if_current, work=work, index=index, reached=held.revision)
                answer = await self._thread.run(self._storage.read_here, scope, if_current)
                if answer is not None:
                    return answer[0]
            await self._catch_up(scope, held, index)
        return await self._thread.run(self._storage.read_here, scope, lambda view: work(view, index))

    @asynccontextmanager
    async def as_it_is(self, scope: Scope) -> AsyncGenerator[Index]:
        """Yield the scope's index as far as it has followed; nobody else uses or changes it meanwhile."""
        held = self._scopes.setdefault(scope, _Held())
        async with held.lock:
            yield await self._index(scope, held)

    async def _index(self, scope: Scope, held: _Held[Index]) -> Index:
        if held.index is None:
            index = await self._thread.run(self._make)
            if self._keeper is not None:
                await self._keeper.load(scope, index)
            held.index = index
        return held.index

    async def _evict(self, scope: Scope) -> None:
        """Drop a scope's index to make room; one in use stays and counts again from its next use on."""
        if scope in self._scopes and not self._scopes[scope].lock.locked():
            await self._drop(scope)

    async def _drop(self, scope: Scope) -> None:
        held = self._scopes[scope]
        async with held.lock:
            try:
                if held.index is not None and self._keeper is not None:
                    await self._catch_up(scope, held, held.index)
                    await self._keeper.save(scope, held.index)
            finally:
                if self._scopes.get(scope) is held:
                    del self._scopes[scope]

    async def _catch_up(self, scope: Scope, held: _Held[Index], index: Index) -> tuple[datetime, Decay]:
        """Take over the feed to its end; return the instant of that and how importance is read then."""
        while True:
            next_page = partial(_next_page, feed=self._feed, position=index.position, reached=held.revision)
            now, decay, page = await self._storage.read(scope, next_page)
            if page is None:
                return now, decay
            held.revision = None
            if (page.removed or page.rebuild) and self._keeper is not None:
                await self._keeper.discard(scope)
            await self._take(index, page)
            if not page.more:
                held.revision = page.position.revision
                self._thread.at_leisure(index.tidy)
                return now, decay

    async def _take(self, index: Index, page: FeedPage[Row]) -> None:
        # A first page that was interrupted may have left records that have been retired since and will not be told.
        if page.rebuild or index.position == FeedPosition():
            await self._thread.run(index.restart)
        if page.removed:
            await self._thread.run(index.drop, page.removed)
        for rows in _slices(page.rows):
            await self._thread.run(index.take, rows)
        if not page.rebuild:
            await self._thread.run(index.reach, page.position)


def _next_page(
    view: ReadView, *, feed: Feed[Row], position: FeedPosition, reached: int | None
) -> tuple[datetime, Decay, FeedPage[Row] | None]:
    """Return the next page; None if the scope is still at the revision that was reached, as it nearly always is."""
    unchanged = reached is not None and view.revision == reached
    return view.now, view.decay, None if unchanged else feed(view, position, _PAGE)


def _if_current(view: ReadView, *, work: Callable[[ReadView, Index], T], index: Index, reached: int) -> tuple[T] | None:
    """Return what *work* answers; None if the scope is past the revision that was reached."""
    return (work(view, index),) if view.revision == reached else None


def _slices(rows: Sequence[Row]) -> Iterator[list[Row]]:
    remaining = iter(rows)
    while part := list(islice(remaining, _ROWS_AT_ONCE)):
        yield part
