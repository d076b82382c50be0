"""Follower: one scope's index, and how it keeps up with what is committed."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final, Generic, TypeVar

from agentcore.domain.decay import Decay
from agentcore.domain.scope import Scope
from agentcore.recall.following import Feed, Following, Keeper
from agentcore.recall.thread import RecallThread
from agentcore.stores.protocols import FeedPage, FeedPosition, ReadView, Storage

Row = TypeVar("Row")
Index = TypeVar("Index", bound="Following[Any]")

_PAGE: Final = 1_000
_ROWS_AT_ONCE: Final = 200
"""Rows indexed before the thread is free for somebody else, and the event loop for a breath: about 5 ms."""


@dataclass(frozen=True, slots=True)
class Source(Generic[Index, Row]):
    """What the followers of one kind of record have in common.

    Args:
        storage: Where the records are.
        thread: What owns the indexes.
        make: Makes an empty index, on the thread.
        feed: Where its rows come from.
        keeper: Keeps indexes over restarts; None where they are built anew.
    """

    storage: Storage
    thread: RecallThread
    make: Callable[[], Index]
    feed: Feed[Row]
    keeper: Keeper[Index] | None = None


class Follower(Generic[Index, Row]):
    """Has the index of one scope take over what is committed; lives until its shelf makes room for another.

    Whoever uses or changes the index holds `lock` meanwhile.

    Args:
        scope: Whose records it follows.
        source: Where they come from.
    """

    def __init__(self, scope: Scope, source: Source[Index, Row]) -> None:
        self._scope = scope
        self._source = source
        self.lock: Final = asyncio.Lock()
        self.index: Index | None = None
        """The index, once it is made."""
        self.revision: int | None = None
        """The scope's revision that the index has reached the end of."""
        self._has_moved = False

    async def opened(self) -> Index:
        """Return the index, with what was kept of it if it is new."""
        if self.index is None:
            index = await self._source.thread.run(self._source.make)
            if self._source.keeper is not None:
                await self._source.keeper.load(self._scope, index)
            self.index = index
        return self.index

    def follow(self, view: ReadView) -> FeedPage[Row] | None:
        """Take over what is new in the view, on the recall thread; give back a page that is no matter of a moment.

        That is one with more behind it, one that begins anew, and one that removes what was kept in a file.
        """
        index, source = self.index, self._source
        if index is None or self.revision is None:
            raise RuntimeError("Catch up before you follow.")
        if view.revision == self.revision:
            return None
        page = source.feed(view, index.position, _ROWS_AT_ONCE)
        if page.rebuild or page.more or (page.removed and source.keeper is not None):
            return page
        self.revision = None
        index.drop(page.removed)
        index.take(page.rows)
        index.reach(page.position)
        self.revision, self._has_moved = page.position.revision, True
        return None

    async def catch_up(self) -> tuple[datetime, Decay]:
        """Take over the feed to its end; return the instant of that and how importance is read then."""
        index = await self.opened()
        while True:
            next_page = partial(_next_page, feed=self._source.feed, position=index.position, reached=self.revision)
            now, decay, page = await self._source.storage.read(self._scope, next_page)
            if page is None:
                return now, decay
            await self.take(page)
            if not page.more:
                return now, decay

    async def take(self, page: FeedPage[Row]) -> None:
        """Take over a page, in slices."""
        index, run = await self.opened(), self._source.thread.run
        self.revision = None
        if (page.removed or page.rebuild) and self._source.keeper is not None:
            await self._source.keeper.discard(self._scope)
        # A first page that was interrupted may have left records that have been retired since and will not be told.
        if page.rebuild or index.position == FeedPosition():
            await run(index.restart)
        if page.removed:
            await run(index.drop, page.removed)
        for rows in _slices(page.rows):
            await run(index.take, rows)
        if not page.rebuild:
            await run(index.reach, page.position)
        if not page.more:
            self.revision, self._has_moved = page.position.revision, True

    def tidy_at_leisure(self) -> None:
        """Have the thread clear what removals left behind, when it has nothing else to do."""
        if self._has_moved and self.index is not None:
            self._has_moved = False
            self._source.thread.at_leisure(self.index.tidy)

    async def keep(self) -> None:
        """Keep the index over a restart, if it was made and is worth it."""
        if self.index is not None and self._source.keeper is not None:
            await self.catch_up()
            await self._source.keeper.save(self._scope, self.index)


def _next_page(
    view: ReadView, *, feed: Feed[Row], position: FeedPosition, reached: int | None
) -> tuple[datetime, Decay, FeedPage[Row] | None]:
    """Return the next page; None if the scope is still at the revision that was reached, as it nearly always is."""
    unchanged = reached is not None and view.revision == reached
    return view.now, view.decay, None if unchanged else feed(view, position, _PAGE)


def _slices(rows: Sequence[Row]) -> Iterator[list[Row]]:
    remaining = iter(rows)
    while part := list(islice(remaining, _ROWS_AT_ONCE)):
        yield part
