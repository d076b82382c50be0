"""Answers a query with entries: from the index to what is in the store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from agentcore.domain.filters import RecallFilter
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import to_micros
from agentcore.errors import InvalidOptionsError
from agentcore.recall.dense import DenseRecall
from agentcore.recall.filters import admits
from agentcore.recall.options import RecallOptions
from agentcore.recall.results import DenseScore, Explanation, Hit
from agentcore.recall.thread import RecallThread
from agentcore.stores.storage import ReadView, Storage

if TYPE_CHECKING:
    from agentcore.recall.dense_index import Similarities
    from agentcore.recall.entry_index import ScopeIndex
    from agentcore.recall.facets import Admitted, Facets
    from agentcore.recall.index_cache import IndexCache
    from agentcore.recall.results import Ranking
    from agentcore.stores.values import FacetRow, IndexRow


_FETCHED_AT_ONCE: Final = 2_000
_FETCHED_WITH_RANKING: Final = 200
"""Entries that are read in the transaction of the ranking: more would hold other queries up."""
_RETRIES: Final = 2
_DEEPER: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryQuery:
    """What is asked of entries.

    Args:
        scope: Whose memory to search.
        query: What is asked, of any length.
        k: How many at most, 1 or more.
        where: Conditions that entries must meet besides.
        phrase_weight: How much neighbouring words of the query count that stand next to each other.
        is_explained: Whether to say how scores came about.
        vector: The query's vector, where meaning counts too.
        near: How near the entries are to it.
        weight: Share of the vectors.
    """

    scope: Scope
    query: str
    k: int
    where: RecallFilter | None = None
    phrase_weight: float = 0.0
    is_explained: bool = False
    vector: Sequence[float] | None = None
    near: "Similarities | None" = None
    weight: float = 0.0

    @property
    def first_limit(self) -> int:
        """How many to look at first."""
        return self.k if self.phrase_weight == 0.0 else 2 * self.k


@dataclass(frozen=True, slots=True)
class _Candidates:
    """What the index said, at which revision of the scope, and the best of the entries as they were then."""

    index: "ScopeIndex"
    ranking: "Ranking"
    revision: int
    explanations: Mapping[int, Explanation]
    found: Mapping[int, MemoryEntry]


class EntrySearch:
    """Finds entries; lives as long as `Recall`, whose documentation says what it finds.

    Args:
        storage: Where the entries are.
        thread: What owns the indexes.
        entries: The indexes.
        facets: What filters ask of entries.
        options: How to rank.
        dense: What vectors say; None where words alone answer.
    """

    def __init__(
        self,
        storage: Storage,
        thread: RecallThread,
        *,
        entries: "IndexCache[ScopeIndex, IndexRow]",
        facets: "IndexCache[Facets, FacetRow]",
        options: RecallOptions,
        dense: DenseRecall | None = None,
    ) -> None:
        self._storage = storage
        self._thread = thread
        self.cache: Final = entries
        """The indexes."""
        self._facets = facets
        self._phrase_weight = options.phrase_weight
        self._dense = dense

    async def search(self, scope: Scope, query: str, *, k: int, where: RecallFilter | None) -> list[Hit]:
        """Return the *k* best active entries for *query*, best first; see `Recall.search`."""
        question = await self.question(scope, query, k=k)
        return [hit for hit, _ in await self._ask(replace(question, where=where))]

    async def explain(
        self, scope: Scope, query: str, *, k: int, where: RecallFilter | None
    ) -> list[tuple[Hit, Explanation]]:
        """Return the same hits, each with how its score came about."""
        question = await self.question(scope, query, k=k)
        asked = await self._ask(replace(question, where=where, is_explained=True))
        return [(hit, why) for hit, why in asked if why is not None]

    async def question(self, scope: Scope, query: str, *, k: int) -> EntryQuery:
        """Return what is to be asked, with the vector of the query where there is a model.

        Raises:
            InvalidOptionsError: *k* is below 1.
            HostNotStartedError: recall is not open.
        """
        if k < 1:
            raise InvalidOptionsError(field="k", value=k, allowed="give 1 or more")
        self._thread.require_open()
        is_asked = self._dense is not None and bool(query.strip())
        vector = await self._dense.query_vector(query) if self._dense is not None and is_asked else None
        return EntryQuery(scope=scope, query=query, k=k, phrase_weight=self._phrase_weight, vector=vector)

    async def compared(self, question: EntryQuery) -> EntryQuery:
        """Return the question with how near the entries are to its vector, if it has one."""
        if self._dense is None or question.vector is None:
            return question
        near = await self._dense.near(question.scope, question.vector)
        return replace(question, near=near, weight=self._dense.weight)

    async def _ask(self, question: EntryQuery) -> list[tuple[Hit, Explanation | None]]:
        if not question.query.strip():
            return []
        for _ in range(_RETRIES):
            hits = await self._attempt(question)
            if hits is not None:
                return hits
        return await self._attempt(question, is_last=True) or []

    async def _attempt(
        self, question: EntryQuery, *, is_last: bool = False
    ) -> list[tuple[Hit, Explanation | None]] | None:
        """Rank and fetch; None if a writer came between the reads of it and there is another attempt."""
        limit = question.first_limit
        while True:
            look = await self._look(question, limit, is_last=is_last)
            if look is None:
                return None
            rest = look.ranking.keys[_FETCHED_WITH_RANKING:]
            fetched = await self._fetch(question.scope, rest, None if is_last else look.revision)
            if fetched is None:
                return None
            found = {**look.found, **fetched} if fetched else look.found
            if question.phrase_weight == 0.0:
                hits = _scored(look, found, question)
            else:
                hits = await self._thread.run(_scored, look, found, question)
            if _is_enough(hits, look.ranking, question, limit):
                return hits[: question.k]
            limit *= _DEEPER

    async def _look(self, question: EntryQuery, limit: int, *, is_last: bool) -> _Candidates | None:
        """Rank and fetch in one transaction; None if the filter's facets are behind it and there is another attempt."""
        question = await self.compared(question)
        looked = partial(_looked, question=question, limit=limit, fetched=_FETCHED_WITH_RANKING)
        if question.where is None:
            return await self.cache.ask(question.scope, looked)
        async with self._facets.current(question.scope) as facets:
            admitted = facets.index.admitting(question.where)
            look = await self.cache.ask(question.scope, partial(looked, admitted=admitted))
            return look if is_last or look.revision == facets.index.position.revision else None

    async def _fetch(self, scope: Scope, keys: Sequence[int], revision: int | None) -> dict[int, MemoryEntry] | None:
        """Return the entries of *keys*; None if *revision* is given and is no longer the scope's."""
        found: dict[int, MemoryEntry] = {}
        for start in range(0, len(keys), _FETCHED_AT_ONCE):
            part = keys[start : start + _FETCHED_AT_ONCE]
            read = await self._storage.read(scope, partial(_entries, keys=part, revision=revision))
            if read is None:
                return None
            found |= read
        return found


def entries_found(view: ReadView, index: "ScopeIndex", *, question: EntryQuery) -> list[Hit]:
    """Rank and fetch all in one view, on the recall thread, with an index that holds what the view holds."""
    limit = question.first_limit
    while True:
        look = _looked(view, index, question=question, limit=limit, fetched=limit)
        hits = _scored(look, look.found, question)
        if _is_enough(hits, look.ranking, question, limit):
            return [hit for hit, _ in hits[: question.k]]
        limit *= _DEEPER


def _scored(
    look: _Candidates, found: Mapping[int, MemoryEntry], question: EntryQuery
) -> list[tuple[Hit, Explanation | None]]:
    where, ranking, weight = question.where, look.ranking, question.phrase_weight
    pairs = [
        (key, score, found[key], span)
        for key, score, span in zip(ranking.keys, ranking.scores, ranking.spans, strict=True)
        if key in found and found[key].is_active and (where is None or admits(where, found[key]))
    ]
    if weight == 0.0:
        return [(Hit(entry, score, span), look.explanations.get(key)) for key, score, entry, span in pairs]
    shares = look.index.adjacencies(question.query, [entry.content for _, _, entry, _ in pairs])
    factors = [1.0 + weight * share for share in shares]
    scored = sorted(
        (
            (-score * factor, key, factor, entry, span)
            for (key, score, entry, span), factor in zip(pairs, factors, strict=True)
        ),
        key=lambda one: one[:2],
    )
    return [
        (Hit(entry, -negative, span), replace(why, phrase=factor) if (why := look.explanations.get(key)) else None)
        for negative, key, factor, entry, span in scored
    ]


def _is_enough(
    hits: Sequence[tuple[Hit, Explanation | None]], ranking: "Ranking", question: EntryQuery, limit: int
) -> bool:
    """Tell whether nothing that was not looked at can be among the k best: its words next to each other count most."""
    weight, k = question.phrase_weight, question.k
    if weight == 0.0 or len(ranking.keys) < limit:
        return True
    return len(hits) >= k and ranking.scores[-1] * (1.0 + weight) < hits[k - 1][0].score


def _looked(
    view: ReadView,
    index: "ScopeIndex",
    *,
    question: EntryQuery,
    limit: int,
    fetched: int,
    admitted: "Admitted | None" = None,
) -> _Candidates:
    decay, now_us = view.decay, to_micros(view.now)
    query, near, parts = question.query, question.near, dict[int, DenseScore]()
    if near is None:
        ranking = index.rank(query, decay=decay, now_us=now_us, limit=limit, admitted=admitted)
    else:
        fused = partial(index.rank_fused, query, near, question.weight, decay=decay, now_us=now_us)
        ranking, parts = fused(limit=limit, admitted=admitted)
    explained: dict[int, Explanation] = {}
    if question.is_explained:
        plain = index.explain(query, ranking.keys, decay=decay, now_us=now_us)
        explained = {key: replace(why, dense=parts.get(key)) for key, why in plain.items()}
    found = view.entries.by_keys(ranking.keys[:fetched])
    return _Candidates(index, ranking, index.position.revision, explained, found)


def _entries(view: ReadView, *, keys: Sequence[int], revision: int | None) -> dict[int, MemoryEntry] | None:
    return view.entries.by_keys(keys) if revision is None or view.revision == revision else None
