"""Keeps an index up with what is committed, and asks indexes and the store in one state of the database."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeAlias, TypeVar

from agentcore.domain.decay import Decay
from agentcore.domain.scope import Scope
from agentcore.recall.thread import RecallThread
from agentcore.stores.storage import ReadView, Storage
from agentcore.stores.values import FeedPage, FeedPosition

if TYPE_CHECKING:
    from agentcore.recall.snapshot import Kept, Snapshot


Row = TypeVar("Row")
Row_contra = TypeVar("Row_contra", contravariant=True)
Index_contra = TypeVar("Index_contra", bound="FeedIndex[Any]", contravariant=True)

Feed: TypeAlias = Callable[[ReadView, FeedPosition, int], FeedPage[Row]]
"""Gives the next page of one kind of record after a position, with so many rows at most."""


class FeedIndex(Protocol[Row_contra]):
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


class IndexStore(Protocol[Index_contra]):
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


class StorableIndex(FeedIndex[Row_contra], Protocol[Row_contra]):
    """An index that can be kept in a file."""

    unkept: int
    """Rows taken over since it was read from a file."""

    @property
    def cut(self) -> str:
        """What decides beside the texts what is kept: how they are cut into passages."""
        ...

    def __len__(self) -> int:
        """How many records it holds."""
        ...

    def kept(self) -> "Kept":
        """Return what it is made of, without what removals left behind."""
        ...

    def adopt(self, snapshot: "Snapshot") -> None:
        """Take what was kept in place of what is here."""
        ...


Index = TypeVar("Index", bound="FeedIndex[Any]")

_KEPT_BYTES: Final = 16 << 20
_RECORD_BYTES: Final = 1_000
_CHARACTER_BYTES: Final = 4


class KeptRecords:
    """Records of one scope that were built for an answer and are as the index holds them; lives as long as the index.

    Building a record takes longer than finding it, and what answers one question often answers the next. Whoever takes
    over a change drops what it touches; where there is no more room, what was put first makes it.
    """

    def __init__(self) -> None:
        self._records: dict[int, tuple[Any, int]] = {}
        self.nbytes = 0
        """Memory held, in bytes: an estimate."""

    def among(self, keys: Iterable[int]) -> dict[int, Any]:
        """Return those of *keys* that are here."""
        records = self._records
        return {key: records[key][0] for key in keys if key in records}

    def put(self, key: int, record: Any, characters: int) -> None:
        """Keep a record that was read at the revision which the index has reached."""
        self.drop((key,))
        nbytes = _RECORD_BYTES + _CHARACTER_BYTES * characters
        self._records[key] = (record, nbytes)
        self.nbytes += nbytes
        while self.nbytes > _KEPT_BYTES:
            self.drop((next(iter(self._records)),))

    def drop(self, keys: Iterable[int]) -> None:
        """Leave out records that have changed or are gone; unknown ones change nothing."""
        for key in keys:
            gone = self._records.pop(key, None)
            if gone is not None:
                self.nbytes -= gone[1]

    def clear(self) -> None:
        """Leave out everything."""
        self._records.clear()
        self.nbytes = 0


_PAGE: Final = 1_000
_ROWS_AT_ONCE: Final = 200
"""Rows indexed before the thread is free for somebody else, and the event loop for a breath: about 5 ms."""


@dataclass(frozen=True, slots=True)
class FeedSource(Generic[Index, Row]):
    """What the followers of one kind of record have in common.

    Args:
        storage: Where the records are.
        thread: What owns the indexes.
        make: Makes an empty index, on the thread.
        feed: Where its rows come from.
        index_store: Keeps indexes over restarts; None where they are built anew.
    """

    storage: Storage
    thread: RecallThread
    make: Callable[[], Index]
    feed: Feed[Row]
    index_store: IndexStore[Index] | None = None


class FeedFollower(Generic[Index, Row]):
    """Has the index of one scope take over what is committed; lives until its cache makes room for another.

    Whoever uses or changes the index holds `lock` meanwhile.

    Args:
        scope: Whose records it follows.
        source: Where they come from.
    """

    def __init__(self, scope: Scope, source: FeedSource[Index, Row]) -> None:
        self._scope = scope
        self._source = source
        self.lock: Final = asyncio.Lock()
        self.index: Index | None = None
        """The index, once it is made."""
        self.revision: int | None = None
        """The scope's revision that the index has reached the end of."""
        self.kept: Final = KeptRecords()
        """Records as they were at that revision."""
        self._has_moved = False

    async def opened(self) -> Index:
        """Return the index, with what was kept of it if it is new."""
        if self.index is None:
            index = await self._source.thread.run(self._source.make)
            if self._source.index_store is not None:
                await self._source.index_store.load(self._scope, index)
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
        if page.rebuild or page.more or (page.removed and source.index_store is not None):
            return page
        self.revision = None
        self._drop_kept(page)
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
        self._drop_kept(page)
        if (page.removed or page.rebuild) and self._source.index_store is not None:
            await self._source.index_store.discard(self._scope)
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

    def _drop_kept(self, page: FeedPage[Any]) -> None:
        if page.rebuild:
            self.kept.clear()
        self.kept.drop(page.removed)
        self.kept.drop(row.key for row in page.rows)

    def tidy_at_leisure(self) -> None:
        """Have the thread clear what removals left behind, when it has nothing else to do."""
        if self._has_moved and self.index is not None:
            self._has_moved = False
            self._source.thread.at_leisure(self.index.tidy)

    async def keep(self) -> None:
        """Keep the index over a restart, if it was made and is worth it."""
        if self.index is not None and self._source.index_store is not None:
            await self.catch_up()
            await self._source.index_store.save(self._scope, self.index)


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


T = TypeVar("T")

_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class _Behind:
    """A follower that has more to take over than a question may wait for on the thread."""

    follower: FeedFollower[Any, Any]
    page: FeedPage[Any]


async def ask(
    storage: Storage,
    thread: RecallThread,
    scope: Scope,
    followers: Sequence[FeedFollower[Any, Any]],
    work: Callable[[ReadView], T],
) -> T:
    """Call *work* on the recall thread with a view of the scope, when the indexes hold what the view holds.

    What was committed since the last question is taken over in the same view, so that a question after a write costs
    no more turns of the event loop than any other; only where that is much, it is taken over in slices before. Beside a
    writer that never rests and writes much, the last view may be ahead of the indexes.

    Args:
        storage: Where the records are.
        thread: What owns the indexes.
        scope: Whose records to ask for.
        followers: Whose indexes *work* uses; the caller holds their locks.
        work: What to ask; it may be long only where the question is.
    """
    for one in followers:
        if one.revision is None:
            await one.catch_up()
    answer: tuple[T] | _Behind
    for _ in range(_TRIES):
        answer = await thread.run(storage.read_here, scope, partial(_followed, followers=followers, work=work))
        for one in followers:
            one.tidy_at_leisure()
        if not isinstance(answer, _Behind):
            return answer[0]
        await answer.follower.take(answer.page)
        await answer.follower.catch_up()
    return await thread.run(storage.read_here, scope, work)


def _followed(
    view: ReadView, *, followers: Sequence[FeedFollower[Any, Any]], work: Callable[[ReadView], T]
) -> tuple[T] | _Behind:
    for one in followers:
        page = one.follow(view)
        if page is not None:
            return _Behind(one, page)
    return (work(view),)
