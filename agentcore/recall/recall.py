"""Answers queries with ranked entries, turns and skills."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from agentcore.domain.filters import RecallFilter
from agentcore.domain.scope import Scope
from agentcore.recall.combined import CombinedRecall
from agentcore.recall.dense import DenseOptions, DenseRecall, TextEmbedder
from agentcore.recall.entries import EntrySearch
from agentcore.recall.follow import Feed, FeedSource
from agentcore.recall.index_cache import FileIndexStore, IndexBudget, IndexCache, IndexKind
from agentcore.recall.options import RecallOptions
from agentcore.recall.related_hypotheses import RelatedHypotheses
from agentcore.recall.results import Explanation, Hit, Neighbour, SharedTerms
from agentcore.recall.skills import SkillRecall
from agentcore.recall.thread import RecallThread
from agentcore.recall.turns import TURNS, TurnRecall
from agentcore.stores.storage import ReadView, Storage
from agentcore.stores.values import FacetRow, FeedPage, FeedPosition, IndexRow

if TYPE_CHECKING:
    from agentcore.recall.entry_index import ScopeIndex
    from agentcore.recall.facets import Facets

T = TypeVar("T")

INDEX_FOLDER: Final = "recall"
"""Name of the folder in the data directory where indexes are kept."""

_SLICE_SECONDS: Final = 0.02
_MOST_AT_ONCE: Final = 256


class Recall:
    """Finds entries by what they say and how important they are; a hosted service that lives as long as the host.

    Each scope has an index in memory, built when it is first asked and kept up by the store's change feed before
    every query, so that whatever was committed before a query counts in it, whoever wrote it. One thread owns all
    indexes and never works longer than a slice of about 20 ms on anything but a query.

    A score is `bm25 * importance * recency * phrase`: the last three are factors whose weights are options (see
    `RecallOptions`), with importance and recency as of now. It covers every entry that shares a word with the query.
    With an embedder, shares of words and of vectors stand in place of bm25 (see `agentcore.recall.dense_index`), and
    every entry is covered. Equal scores stand in the order of arrival. Archived and superseded entries are never
    returned, but for a query about a time: that finds superseded ones that held then, in an index of its own, which is
    built for the first such query of a scope. Ranking and what it finds are of one transaction; beside a writer that
    never rests the index may be behind it, and what has left meanwhile is left out.

    Args:
        storage: Where the entries are; opened before this and closed after it.
        options: How to rank, and how much of it stays open.
        folder: Where large indexes are kept over restarts; None keeps none.
        embedder: Makes vectors of entries and queries, which then count beside the words; None for words alone.
        dense: How vectors take part.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        options: RecallOptions | None = None,
        folder: Path | None = None,
        embedder: TextEmbedder | None = None,
        dense: DenseOptions | None = None,
    ) -> None:
        self._storage = storage
        self._options = options or RecallOptions()
        self._thread = RecallThread()
        self._budget = IndexBudget(self._options.max_index_bytes)
        self._entries = self._index_cache(_feed, self._index_store(folder, _ENTRIES))
        self._facets = self._facets_cache(_facets)
        self._held = self._index_cache(_held)
        self._held_facets = self._facets_cache(_held_facets)
        self.dense: Final = self._new_dense(embedder, dense or DenseOptions())
        """What vectors say of entries; None without an embedder."""
        self._search = EntrySearch(
            storage,
            self._thread,
            entries=self._entries,
            facets=self._facets,
            held=(self._held, self._held_facets),
            options=self._options,
            dense=self.dense,
        )
        self.turns: Final = self._new_turns(folder)
        """Finds turns of the conversation log."""
        self.skills: Final = SkillRecall(storage, self._thread, budget=self._budget)
        """Finds skills."""
        self.hypotheses: Final = RelatedHypotheses(storage, self._entries.reached)
        """Finds hypotheses beside an answer."""
        self.together: Final = CombinedRecall(
            storage, self._thread, entries=self._search, turns=self.turns, skills=self.skills
        )
        """Finds entries and turns in one ranking."""

    def on(self, storage: Storage) -> "Recall":
        """Return an unopened recall by words, with the same settings, on another storage."""
        return Recall(storage, options=self._options)

    async def start(self) -> None:
        """Open; no index is built before the first query."""
        self._thread.start()

    async def stop(self) -> None:
        """Keep large indexes that have changed, and close."""
        if self._thread.is_open:
            try:
                await self._entries.close()
                await self._facets.close()
                await self._held.close()
                await self._held_facets.close()
                if self.dense is not None:
                    await self.dense.close()
                await self.turns.close()
                await self.skills.close()
            finally:
                await self._thread.stop()
                self._budget.clear()

    async def scrub(self, scope: Scope) -> None:
        """Delete the files that a scope's indexes are kept in, as something of it was forgotten.

        Raises:
            StorageUnavailableError: it cannot be deleted.
        """
        await self._entries.scrub(scope)
        await self.turns.cache.scrub(scope)

    async def follow(self, scope: Scope) -> None:
        """Take over everything committed so far, so that the next query need not."""
        async with self._entries.current(scope):
            pass

    async def search(self, scope: Scope, query: str, *, k: int = 10, where: RecallFilter | None = None) -> list[Hit]:
        """Return the *k* best active entries for *query*, best first.

        Args:
            scope: Whose memory to search.
            query: What is asked, of any length; one without a word finds nothing.
            k: How many at most, 1 or more.
            where: Conditions that entries must meet besides; its states cannot bring back retired ones, its time brings
                back superseded ones that held then.

        Raises:
            InvalidOptionsError: *k* is below 1.
            HostNotStartedError: recall is not open.
        """
        return await self._search.search(scope, query, k=k, where=where)

    async def explain(
        self, scope: Scope, query: str, *, k: int = 10, where: RecallFilter | None = None
    ) -> list[tuple[Hit, Explanation]]:
        """Return what `search` does, each hit with how its score came about; arguments and errors as there."""
        return await self._search.explain(scope, query, k=k, where=where)

    async def similar(
        self,
        scope: Scope,
        keys: Sequence[int],
        *,
        threshold: float = 0.5,
        limit: int = 20,
        text_alone: bool = False,
    ) -> dict[int, list[Neighbour]]:
        """Return the active entries that say nearly the same as each of some entries.

        Works in slices of about 20 ms, so that a query never waits long behind it; what is written meanwhile may
        count in the later slices.

        Args:
            scope: Whose memory it is.
            keys: The store's keys of the entries; those that are not active are left out of the answer.
            threshold: Least similarity, above 0, at most 1 (see `agentcore.recall.bm25.neighbours`).
            limit: How many neighbours of each at most, most similar first.
            text_alone: Whether words of categories and tags are left out of the likeness.
        """
        return await self._in_slices(
            scope, keys, lambda index, some: index.similar(some, threshold, limit, text_alone=text_alone)
        )

    async def sharing(self, scope: Scope, keys: Sequence[int], *, limit: int = 20) -> dict[int, list[SharedTerms]]:
        """Return the active entries that share rare terms with each of some entries, the rarest first.

        Works in slices as `similar` does, and takes as long whatever the scope holds.

        Args:
            scope: Whose memory it is.
            keys: The store's keys of the entries; those that are not active are left out of the answer.
            limit: How many of each at most.
        """
        return await self._in_slices(scope, keys, lambda index, some: index.sharing(some, limit))

    async def _in_slices(
        self, scope: Scope, keys: Sequence[int], look: Callable[["ScopeIndex", Sequence[int]], Mapping[int, list[T]]]
    ) -> dict[int, list[T]]:
        await self.follow(scope)
        loop = asyncio.get_running_loop()
        found: dict[int, list[T]] = {}
        start, size = 0, 1
        while start < len(keys):
            async with self._entries.as_it_is(scope) as index:
                began = loop.time()
                found |= await self._thread.run(look, index, keys[start : start + size])
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
            threshold: Least similarity, above 0, at most 1 (see `agentcore.recall.bm25.neighbours`).
        """
        await self.follow(scope)
        async with self._entries.as_it_is(scope) as index:
            return await self._thread.run(index.alike, keys, threshold)

    async def count_documents(self, scope: Scope, texts: Sequence[str]) -> dict[str, int]:
        """Return, per term of *texts*, in how many active entries of the scope it stands.

        Args:
            scope: Whose memory it is.
            texts: Any texts; those of ASCII alone are skipped, for their terms say nothing that spelling does not.
        """
        wanted = [text for text in texts if not text.isascii()]
        if not wanted:
            return {}
        async with self._entries.current(scope) as current:
            return await self._thread.run(current.index.count_documents, wanted)

    def _new_dense(self, embedder: TextEmbedder | None, options: DenseOptions) -> DenseRecall | None:
        if embedder is None:
            return None
        return DenseRecall(self._storage, self._thread, budget=self._budget, embedder=embedder, options=options)

    def _new_turns(self, folder: Path | None) -> TurnRecall:
        options, index_store = self._options.turns, self._index_store(folder, TURNS)
        return TurnRecall(self._storage, self._thread, options=options, budget=self._budget, index_store=index_store)

    def _index_cache(
        self, feed: Feed[IndexRow], index_store: FileIndexStore | None = None
    ) -> "IndexCache[ScopeIndex, IndexRow]":
        source = FeedSource(self._storage, self._thread, self._new_index, feed, index_store)
        return IndexCache(source, budget=self._budget)

    def _facets_cache(self, feed: Feed[FacetRow]) -> "IndexCache[Facets, FacetRow]":
        return IndexCache(FeedSource(self._storage, self._thread, self._new_facets, feed), budget=self._budget)

    def _index_store(self, folder: Path | None, kind: IndexKind) -> FileIndexStore | None:
        if folder is None or self._options.snapshot_min_entries is None:
            return None
        return FileIndexStore(folder, self._storage, self._thread, kind, least=self._options.snapshot_min_entries)

    def _new_index(self) -> "ScopeIndex":
        # Opening a host must not pay for NumPy: the first query does, on the recall thread.
        from agentcore.recall.entry_index import ScopeIndex  # noqa: PLC0415

        return ScopeIndex(self._thread.tokenizer(), self._options)

    def _new_facets(self) -> "Facets":
        from agentcore.recall.facets import Facets  # noqa: PLC0415 - as above

        return Facets()


def _feed(view: ReadView, position: FeedPosition, limit: int) -> FeedPage[IndexRow]:
    return view.entries.changes_since(position, limit=limit)


def _facets(view: ReadView, position: FeedPosition, limit: int) -> FeedPage[FacetRow]:
    return view.entries.facets_since(position, limit=limit)


def _held(view: ReadView, position: FeedPosition, limit: int) -> FeedPage[IndexRow]:
    return view.entries.changes_since(position, limit=limit, with_former=True)


def _held_facets(view: ReadView, position: FeedPosition, limit: int) -> FeedPage[FacetRow]:
    return view.entries.facets_since(position, limit=limit, with_former=True)


_ENTRIES: Final = IndexKind("index", "recall.snapshot", _feed)
