"""Holds the open indexes, a scope each, within the memory they share, and keeps large ones in files over restarts."""

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from agentcore.domain.decay import Decay
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import to_micros
from agentcore.errors import StorageUnavailableError
from agentcore.recall.follow import Feed, FeedFollower, FeedIndex, FeedSource, StorableIndex, ask
from agentcore.recall.thread import RecallThread
from agentcore.stores.storage import ReadView, Storage, UnitOfWork
from agentcore.stores.values import FeedPosition

if TYPE_CHECKING:
    from agentcore.recall.snapshot import Kept, Snapshot


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

    def reached(self, scope: Scope) -> int | None:
        """Return the revision of a scope that its index has reached; None where that is not known."""
        follower = self._scopes.get(scope)
        return None if follower is None else follower.revision

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


_log = logging.getLogger(__name__)

_CHANGES_WORTH_A_FILE: Final = 0.05


@dataclass(frozen=True, slots=True)
class IndexKind:
    """What is kept of one kind of record.

    Args:
        ending: How its files end.
        seal: Setting with the checksum of a scope's file: a file that the database knows nothing of is of another one.
        feed: Where its rows come from.
    """

    ending: str
    seal: str
    feed: Feed[Any]


class FileIndexStore:
    """Keeps indexes over restarts; a file that cannot be used is left aside, said so, and the index built anew.

    A file holds the terms of every record, so removing one deletes its scope's file. It is written again when the
    index is closed.

    Args:
        folder: Created when the first file is written.
        storage: Knows which files are its own.
        thread: What owns the indexes.
        kind: What is kept.
        least: Records from which an index is kept.
    """

    def __init__(self, folder: Path, storage: Storage, thread: RecallThread, kind: IndexKind, *, least: int) -> None:
        self._folder = folder
        self._kind = kind
        self._storage = storage
        self._thread = thread
        self._least = least

    def path(self, scope: Scope) -> Path:
        """Return the file of a scope, whether or not it exists."""
        return self._folder / f"{blake2b(str(scope).encode(), digest_size=16).hexdigest()}.{self._kind.ending}"

    async def load(self, scope: Scope, index: StorableIndex[Any]) -> None:
        """Fill an empty index with what was kept of it, if that can be used."""
        snapshot = await asyncio.to_thread(self._read, scope)
        if snapshot is None:
            return
        if snapshot.seal != await self._storage.read(scope, partial(_seal, kind=self._kind)):
            _refuse("it is not the one that the database knows")
        elif snapshot.kept.cut != index.cut:
            _refuse("its texts were cut otherwise than the options now say")
        elif await self._storage.read(scope, partial(_is_out_of_reach, kind=self._kind, position=snapshot.position)):
            _refuse("the change feed no longer reaches back to it")
        else:
            await self._thread.run(index.adopt, snapshot)

    async def save(self, scope: Scope, index: StorableIndex[Any]) -> None:
        """Keep an index that holds everything committed, if it is large and has no file or one a twentieth behind."""
        if len(index) < self._least:
            return
        if index.unkept < _CHANGES_WORTH_A_FILE * len(index) and await asyncio.to_thread(self.path(scope).exists):
            return
        kept, position = await self._thread.run(index.kept), index.position
        written = await asyncio.to_thread(self._write, scope, kept, position)
        if written is not None:
            await self._storage.write(scope, lambda unit: self._seal(unit, *written, position))

    async def discard(self, scope: Scope) -> None:
        """Delete what was kept of an index, if that is possible: it is behind, and used only as far as it is right."""
        try:
            await self.scrub(scope)
        except StorageUnavailableError as error:
            _log.warning("recall_snapshot_not_deleted", extra={"error": type(error.__cause__).__name__})

    async def scrub(self, scope: Scope) -> None:
        """Delete what was kept of an index, and what somebody is about to keep.

        Raises:
            StorageUnavailableError: The file is there and cannot be deleted.
        """
        await asyncio.to_thread(self._delete, scope)

    def _read(self, scope: Scope) -> "Snapshot | None":
        # Opening a host must not pay for NumPy.
        from agentcore.recall.snapshot import UnusableSnapshotError, read_snapshot  # noqa: PLC0415

        try:
            return read_snapshot(self.path(scope), scope=str(scope))
        except FileNotFoundError:
            return None
        except UnusableSnapshotError as error:
            _refuse(str(error))
            return None

    def _write(self, scope: Scope, kept: "Kept", position: FeedPosition) -> tuple[Path, str] | None:
        """Write a file that is not yet the scope's; return it and its seal, None where nothing can be written."""
        from agentcore.recall.snapshot import write_snapshot  # noqa: PLC0415

        path = self.path(scope).with_suffix(f".{self._kind.ending}.{os.getpid()}.new")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            return path, write_snapshot(path, kept, position, scope=str(scope))
        except OSError as error:
            with suppress(OSError):
                path.unlink()
            _log.warning("recall_snapshot_not_written", extra={"error": type(error).__name__})
            return None

    def _seal(self, unit: UnitOfWork, path: Path, seal: str, position: FeedPosition) -> None:
        """Make a file the scope's, unless a record that stands in it was removed meanwhile."""
        page = self._kind.feed(unit, position, 1)
        if page.rebuild or page.removed:
            path.unlink(missing_ok=True)
            return
        try:
            # Before the commit: a file with another seal than the database's is merely not used.
            path.replace(self.path(unit.scope))
        except OSError as error:
            _log.warning("recall_snapshot_not_written", extra={"error": type(error).__name__})
        else:
            unit.settings.put(self._kind.seal, seal)

    def _delete(self, scope: Scope) -> None:
        path = self.path(scope)
        for old in (path, *self._folder.glob(f"{path.name}.*.new")):
            try:
                old.unlink()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                remedy = "delete it yourself, as it holds words of what was forgotten"
                raise StorageUnavailableError(
                    path=f"index file {old}", problem="cannot be deleted", remedy=remedy
                ) from error


def _refuse(reason: str) -> None:
    _log.warning("recall_snapshot_refused", extra={"reason": reason})


def _is_out_of_reach(view: ReadView, *, kind: IndexKind, position: FeedPosition) -> bool:
    return kind.feed(view, position, 1).rebuild


def _seal(view: ReadView, *, kind: IndexKind) -> str | None:
    return view.settings.get(kind.seal)
