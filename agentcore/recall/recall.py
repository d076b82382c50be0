"""Recall: from a query to ranked entries."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from agentcore.domain.decay import Decay
from agentcore.domain.filters import EntryFilter
from agentcore.domain.instants import to_micros
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.scope import Scope
from agentcore.errors import HostNotStartedError, InvalidOptionsError
from agentcore.recall.filtering import admits
from agentcore.recall.hit import Hit
from agentcore.recall.neighbour import Neighbour
from agentcore.recall.options import RecallOptions
from agentcore.stores.protocols import FeedPage, FeedPosition, IndexRow, ReadView, Storage

if TYPE_CHECKING:
    from agentcore.recall.scope_index import Ranking, ScopeIndex
    from agentcore.recall.tokenizer import Tokenizer

P = ParamSpec("P")
T = TypeVar("T")

_PAGE: Final = 1_000
_ROWS_AT_ONCE: Final = 200
"""Entries indexed before the thread is free for somebody else, and the event loop for a breath: about 5 ms."""
_SLICE_SECONDS: Final = 0.02
_MOST_AT_ONCE: Final = 256
_FETCHED_AT_ONCE: Final = 2_000
_RETRIES: Final = 2


@dataclass(slots=True)
class _Held:
    """A scope's index, once it is made, and the lock that keeps each query's catching-up and ranking together."""

    index: "ScopeIndex | None" = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Recall:
    """Finds entries by what they say and how important they are; a hosted service that lives as long as the host.

    Each scope has an index in memory, built when it is first asked and kept up by the store's change feed before
    every query, so that whatever was committed before a query counts in it, whoever wrote it. One thread owns all
    indexes and never works longer than a slice of about 20 ms on anything but a query.

    A score is `bm25 * (1 - w + w * importance)` with importance as of now (`RecallOptions.importance_weight`); it
    covers every entry that shares a word with the query, and equal scores stand in the order of arrival. Archived
    and superseded entries are never returned. An answer that a writer outruns is sought again, at the third time it
    stands, without what has left meanwhile.

    Args:
        storage: Where the entries are; opened before this and closed after it.
        options: How to rank, and how many scopes stay open.
    """

    def __init__(self, storage: Storage, *, options: RecallOptions | None = None) -> None:
        self._storage = storage
        self._options = options or RecallOptions()
        self._tokenizer: Tokenizer | None = None
        self._scopes: OrderedDict[Scope, _Held] = OrderedDict()
        self._thread: ThreadPoolExecutor | None = None

    def on(self, storage: Storage) -> "Recall":
        """Return an unopened recall with the same settings on another storage."""
        return Recall(storage, options=self._options)

    async def start(self) -> None:
        """Open; no index is built before the first query."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="agentcore-recall")

    async def stop(self) -> None:
        """Finish the slice under way and drop the indexes."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.to_thread(thread.shutdown)
        self._scopes.clear()

    async def follow(self, scope: Scope) -> None:
        """Take over everything committed so far, so that the next query need not."""
        held = self._held(scope)
        async with held.lock:
            await self._catch_up(scope, await self._index(held))

    async def search(self, scope: Scope, query: str, *, k: int = 10, where: EntryFilter | None = None) -> list[Hit]:
        """Return the *k* best active entries for *query*, best first.

        Args:
            scope: Whose memory to search.
            query: What is asked, of any length; one without a word finds nothing.
            k: How many at most, 1 or more.
            where: Conditions that entries must meet besides; its states cannot bring back retired ones.

        Raises:
            InvalidOptionsError: *k* is below 1.
            HostNotStartedError: recall is not open.
        """
        if k < 1:
            raise InvalidOptionsError(field="k", value=k, allowed="give 1 or more")
        self._opened()
        if not query.strip():
            return []
        held = self._held(scope)
        for _ in range(_RETRIES):
            hits = await self._attempt(scope, held, query, k, where)
            if hits is not None:
                return hits
        return await self._attempt(scope, held, query, k, where, is_last=True) or []

    async def similar(
        self,
        scope: Scope,
        keys: Sequence[int],
        *,
        threshold: float = 0.5,
        limit: int = 20,
    ) -> dict[int, list[Neighbour]]:
        """Return the active entries that say nearly the same as each of some entries.

        Works in slices of about 20 ms, so that a query never waits long behind it; what is written meanwhile may
        count in the later slices.

        Args:
            scope: Whose memory it is.
            keys: The store's keys of the entries; those that are not active are left out of the answer.
            threshold: Least similarity, above 0, at most 1 (see `agentcore.recall.neighbours`).
            limit: How many neighbours of each at most, most similar first.
        """
        held = self._held(scope)
        await self.follow(scope)
        loop = asyncio.get_running_loop()
        found: dict[int, list[Neighbour]] = {}
        start, size = 0, 1
        while start < len(keys):
            async with held.lock:
                index = await self._index(held)
                began = loop.time()
                found |= await self._on_thread(index.similar, keys[start : start + size], threshold, limit)
                spent = max(loop.time() - began, 1e-6)
            start += size
            size = max(1, min(int(size * _SLICE_SECONDS / spent), 2 * size, _MOST_AT_ONCE))
        return found

    async def alike(self, scope: Scope, keys: Sequence[int], *, threshold: float = 0.5) -> list[tuple[int, int, float]]:
        """Return which of a few active entries say nearly the same as each other, with their similarity.

        Args:
            scope: Whose memory it is.
            keys: The store's keys of the entries, as many as stand in one question; those that are not active are left
                out.
            threshold: Least similarity, above 0, at most 1 (see `agentcore.recall.neighbours`).
        """
        held = self._held(scope)
        await self.follow(scope)
        async with held.lock:
            index = await self._index(held)
            return await self._on_thread(index.alike, keys, threshold)

    async def count_documents(self, scope: Scope, texts: Sequence[str]) -> dict[str, int]:
        """Return, per term of *texts*, in how many active entries of the scope it stands.

        Args:
            scope: Whose memory it is.
            texts: Any texts; those of ASCII alone are skipped, for their terms say nothing that spelling does not.
        """
        wanted = [text for text in texts if not text.isascii()]
        if not wanted:
            return {}
        held = self._held(scope)
        await self.follow(scope)
        async with held.lock:
            index = await self._index(held)
            return await self._on_thread(index.count_documents, wanted)

    def _held(self, scope: Scope) -> _Held:
        held = self._scopes.get(scope)
        if held is None:
            held = self._scopes[scope] = _Held()
        self._scopes.move_to_end(scope)
        while len(self._scopes) > self._options.open_scopes:
            self._scopes.popitem(last=False)
        return held

    async def _attempt(
        self,
        scope: Scope,
        held: _Held,
        query: str,
        k: int,
        where: EntryFilter | None,
        *,
        is_last: bool = False,
    ) -> list[Hit] | None:
        """Rank and fetch; None if a writer came in between, unless this is the last attempt."""
        async with held.lock:
            index = await self._index(held)
            now_us, decay = await self._catch_up(scope, index)
            revision = None if is_last else index.position.revision
            limit = k if where is None else None
            ranking = await self._on_thread(index.rank, query, decay=decay, now_us=now_us, limit=limit)
        return await self._fetch(scope, ranking, k, where, revision)

    async def _index(self, held: _Held) -> "ScopeIndex":
        if held.index is None:
            held.index = await self._on_thread(self._new_index)
        return held.index

    def _new_index(self) -> "ScopeIndex":
        # Opening a host must not pay for NumPy and the tokenizer's tables: the first query does, on this thread.
        from agentcore.recall.scope_index import ScopeIndex  # noqa: PLC0415
        from agentcore.recall.tokenizer import Tokenizer  # noqa: PLC0415

        if self._tokenizer is None:
            self._tokenizer = Tokenizer()
        return ScopeIndex(self._tokenizer, self._options)

    async def _catch_up(self, scope: Scope, index: "ScopeIndex") -> tuple[int, Decay]:
        """Take over the feed to its end; return the instant of that (microseconds) and how importance is read then."""
        while True:
            now, decay, page = await self._storage.read(scope, partial(_next_page, position=index.position))
            await self._take(index, page)
            if not page.more:
                return to_micros(now), decay

    async def _take(self, index: "ScopeIndex", page: FeedPage) -> None:
        # A first page that was interrupted may have left entries that have been retired since and will not be told.
        if page.rebuild or index.position == FeedPosition():
            await self._on_thread(index.restart)
        if page.removed:
            await self._on_thread(index.drop, page.removed)
        for rows in _slices(page.rows):
            await self._on_thread(index.take, rows)
        if not page.rebuild:
            await self._on_thread(index.reach, page.position)

    async def _fetch(
        self,
        scope: Scope,
        ranking: "Ranking",
        k: int,
        where: EntryFilter | None,
        revision: int | None,
    ) -> list[Hit] | None:
        """Turn a ranking into hits; None if *revision* is given and is no longer the scope's."""
        hits: list[Hit] = []
        start, size = 0, min(k if where is None else 4 * k, _FETCHED_AT_ONCE)
        while len(hits) < k and start < len(ranking.keys):
            keys = ranking.keys[start : start + size]
            found = await self._storage.read(scope, partial(_entries, keys=keys, revision=revision))
            if found is None:
                return None
            for key, score in zip(keys, ranking.scores[start : start + size], strict=True):
                entry = found.get(key)
                if entry is not None and entry.is_active and (where is None or admits(where, entry)):
                    hits.append(Hit(entry, score))
            start += size
            size = min(4 * size, _FETCHED_AT_ONCE)
        return hits[:k]

    def _opened(self) -> ThreadPoolExecutor:
        if self._thread is None:
            raise HostNotStartedError(service="recall")
        return self._thread

    async def _on_thread(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run *call* on the recall thread; a cancelled caller still waits, so that no slice runs unknown."""
        work = partial(call, *args, **kwargs)
        future = asyncio.get_running_loop().run_in_executor(self._opened(), work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])
            raise


def _next_page(view: ReadView, *, position: FeedPosition) -> tuple[datetime, Decay, FeedPage]:
    return view.now, view.decay, view.entries.changes_since(position, limit=_PAGE)


def _entries(view: ReadView, *, keys: Sequence[int], revision: int | None) -> dict[int, MemoryEntry] | None:
    return view.entries.by_keys(keys) if revision is None or view.revision == revision else None


def _slices(rows: Sequence[IndexRow]) -> Iterator[list[IndexRow]]:
    remaining = iter(rows)
    while part := list(islice(remaining, _ROWS_AT_ONCE)):
        yield part
