"""Shelf: the indexes of one kind of record, a scope each, kept up by the change feed."""

import asyncio
from collections import OrderedDict
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
from agentcore.recall.thread import RecallThread
from agentcore.stores.protocols import FeedPage, FeedPosition, ReadView, Storage

Row = TypeVar("Row")
Row_contra = TypeVar("Row_contra", contravariant=True)
Index = TypeVar("Index", bound="Following[Any]")

Feed: TypeAlias = Callable[[ReadView, FeedPosition, int], FeedPage[Row]]
"""Gives the next page of one kind of record after a position, with so many rows at most."""

_PAGE: Final = 1_000
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


@dataclass(slots=True)
class _Held(Generic[Index]):
    """A scope's index, once it is made, and the lock that keeps each query's catching-up and ranking together."""

    index: Index | None = None
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
        capacity: Scopes whose index stays; the one unused for longest makes room.
    """

    def __init__(
        self,
        storage: Storage,
        thread: RecallThread,
        *,
        make: Callable[[], Index],
        feed: Feed[Row],
        capacity: int,
    ) -> None:
        self._storage = storage
        self._thread = thread
        self._make = make
        self._feed = feed
        self._capacity = capacity
        self._scopes: OrderedDict[Scope, _Held[Index]] = OrderedDict()

    def clear(self) -> None:
        """Drop every index."""
        self._scopes.clear()

    @asynccontextmanager
    async def current(self, scope: Scope) -> AsyncGenerator[Current[Index]]:
        """Yield the scope's index with everything committed before; nobody else uses or changes it meanwhile.

        Raises:
            HostNotStartedError: recall is not open.
        """
        self._thread.require_open()
        held = self._hold(scope)
        async with held.lock:
            index = await self._index(held)
            now, decay = await self._catch_up(scope, index)
            yield Current(index, to_micros(now), decay)

    @asynccontextmanager
    async def as_it_is(self, scope: Scope) -> AsyncGenerator[Index]:
        """Yield the scope's index as far as it has followed; nobody else uses or changes it meanwhile."""
        held = self._hold(scope)
        async with held.lock:
            yield await self._index(held)

    def _hold(self, scope: Scope) -> _Held[Index]:
        held = self._scopes.get(scope)
        if held is None:
            held = self._scopes[scope] = _Held()
        self._scopes.move_to_end(scope)
        while len(self._scopes) > self._capacity:
            self._scopes.popitem(last=False)
        return held

    async def _index(self, held: _Held[Index]) -> Index:
        if held.index is None:
            held.index = await self._thread.run(self._make)
        return held.index

    async def _catch_up(self, scope: Scope, index: Index) -> tuple[datetime, Decay]:
        """Take over the feed to its end; return the instant of that and how importance is read then."""
        while True:
            next_page = partial(_next_page, feed=self._feed, position=index.position)
            now, decay, page = await self._storage.read(scope, next_page)
            await self._take(index, page)
            if not page.more:
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


def _next_page(view: ReadView, *, feed: Feed[Row], position: FeedPosition) -> tuple[datetime, Decay, FeedPage[Row]]:
    return view.now, view.decay, feed(view, position, _PAGE)


def _slices(rows: Sequence[Row]) -> Iterator[list[Row]]:
    remaining = iter(rows)
    while part := list(islice(remaining, _ROWS_AT_ONCE)):
        yield part
