"""Answers a query with entries: from the index to what is in the store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from operator import attrgetter
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentcore.domain.decay import Decay
from agentcore.domain.filters import RecallFilter
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.records import builder
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import to_micros
from agentcore.errors import InvalidOptionsError
from agentcore.recall.dense import DenseRecall
from agentcore.recall.filters import admits
from agentcore.recall.follow import KeptRecords, ask
from agentcore.recall.options import RecallOptions
from agentcore.recall.results import DenseScore, Explanation, Hit
from agentcore.recall.thread import LoopShare, RecallThread
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
_SHORT_QUERY: Final = 500
"""Characters of a query that is cut into words on the event loop's thread: 50 us."""
_FEW_POSTINGS: Final = 60_000
"""Postings that are read on it at most: below a millisecond, and as long as waking another thread may take."""
_FEW_WANTED: Final = 100
"""Entries that are built on it at most."""


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
        with_former: Whether superseded entries that held at the time asked about answer too.
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
    with_former: bool = False

    def admits(self, entry: MemoryEntry) -> bool:
        """Tell whether *entry* may answer, as it is by now; when it held is for the facets to tell."""
        if not self.with_former:
            return entry.is_active and (self.where is None or admits(self.where, entry))
        where = replace(self.where or RecallFilter(), statuses=frozenset(), about=None)
        return (entry.is_active or entry.valid_until is not None) and admits(where, entry)

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
        held: The same two of active entries and of superseded ones that tell until when they held.
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
        held: "tuple[IndexCache[ScopeIndex, IndexRow], IndexCache[Facets, FacetRow]]",
        options: RecallOptions,
        dense: DenseRecall | None = None,
    ) -> None:
        self._storage = storage
        self._thread = thread
        self.cache: Final = entries
        """The indexes."""
        self._facets = facets
        self._held = held
        self._phrase_weight = options.phrase_weight
        self._dense = dense
        self._loop_share = LoopShare()

    async def search(self, scope: Scope, query: str, *, k: int, where: RecallFilter | None) -> list[Hit]:
        """Return the *k* best active entries for *query*, best first; see `Recall.search`."""
        if where is None and 0 < k <= _FEW_WANTED and len(query) <= _SHORT_QUERY:
            hits = await self._search_here(scope, query, k)
            if hits is not None:
                return hits
        question = await self.question(scope, query, k=k)
        return [hit for hit, _ in await self._ask(replace(question, where=where))]

    async def _search_here(self, scope: Scope, query: str, k: int) -> list[Hit] | None:
        """Rank on the event loop's thread; None where nothing is at hand, or it would hold the loop up.

        The recall thread rests meanwhile, the index holds what is committed, and of the entries only those that were
        not built for an answer before are read, elsewhere.
        """
        if self._dense is not None or self._phrase_weight:
            return None
        if not self._thread.is_idle:
            # Behind others that ask, all would wake the thread one after the other.
            await self._thread.rest()
        await self._loop_share.turn()
        follower, present = self.cache.at_hand(scope), self._storage.present(scope)
        if follower is None or follower.index is None or present is None or present.revision != follower.revision:
            return None
        began = perf_counter()
        index, kept = follower.index, follower.kept
        if index.postings_of(query) > _FEW_POSTINGS:
            return None
        ranking = index.rank(query, decay=present.decay, now_us=to_micros(present.now), limit=k)
        found = _again(kept, ranking.keys, present.decay, present.now)
        self._loop_share.hold(perf_counter() - began)
        if len(found) < len(ranking.keys):
            missing = [key for key in ranking.keys if key not in found]
            read = await self._storage.read(scope, partial(_entries, keys=missing, revision=present.revision))
            if read is None:
                return None
            if follower.revision == present.revision and not follower.lock.locked():
                _keep(kept, read, present.now)
            found |= read
        parts = zip(ranking.keys, ranking.scores, ranking.spans, strict=True)
        return [Hit(found[key], score, span) for key, score, span in parts if key in found]

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
        if question.where is not None and question.where.about is not None:
            former = await self._storage.read(question.scope, lambda view: view.entries.has_former())
            question = replace(question, with_former=former)
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
            return await self._asked(self.cache, question.scope, looked)
        entries, of_entries = self._held if question.with_former else (self.cache, self._facets)
        async with of_entries.current(question.scope) as facets:
            admitted = facets.index.admitting(question.where)
            look = await self._asked(entries, question.scope, partial(looked, admitted=admitted))
            return look if is_last or look.revision == facets.index.position.revision else None

    async def _asked(
        self, cache: "IndexCache[ScopeIndex, IndexRow]", scope: Scope, looked: Callable[..., _Candidates]
    ) -> _Candidates:
        async with cache.held(scope) as (index, follower):
            look = partial(looked, index=index, kept=follower.kept)
            return await ask(self._storage, self._thread, scope, (follower,), look)

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


def entries_found(view: ReadView, index: "ScopeIndex", kept: KeptRecords, *, question: EntryQuery) -> list[Hit]:
    """Rank and fetch all in one view, on the recall thread, with an index that holds what the view holds."""
    limit = question.first_limit
    while True:
        look = _looked(view, index=index, kept=kept, question=question, limit=limit, fetched=limit)
        hits = _scored(look, look.found, question)
        if _is_enough(hits, look.ranking, question, limit):
            return [hit for hit, _ in hits[: question.k]]
        limit *= _DEEPER


def _scored(
    look: _Candidates, found: Mapping[int, MemoryEntry], question: EntryQuery
) -> list[tuple[Hit, Explanation | None]]:
    ranking, weight = look.ranking, question.phrase_weight
    pairs = [
        (key, score, found[key], span)
        for key, score, span in zip(ranking.keys, ranking.scores, ranking.spans, strict=True)
        if key in found and question.admits(found[key])
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
    *,
    index: "ScopeIndex",
    kept: KeptRecords,
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
    found = _built(view, index, kept, ranking.keys[:fetched])
    return _Candidates(index, ranking, index.position.revision, explained, found)


def _built(view: ReadView, index: "ScopeIndex", kept: KeptRecords, keys: Sequence[int]) -> dict[int, MemoryEntry]:
    """Return entries as they are in the view; only those that are not kept are read."""
    if index.position.revision != view.revision:
        return view.entries.by_keys(keys)
    found = _again(kept, keys, view.decay, view.now)
    read = view.entries.by_keys([key for key in keys if key not in found]) if len(found) < len(keys) else {}
    _keep(kept, read, view.now)
    return found | read


_values = attrgetter(*MemoryEntry.__dataclass_fields__)
_built_of = builder(MemoryEntry)
_IMPORTANCE: Final = [*MemoryEntry.__dataclass_fields__].index("importance")
_SAME_IMPORTANCE: Final = timedelta(seconds=1)
"""Time in which importance stays what it is: with a half-life of 45 days it loses a five-millionth."""
_NOTHING: Final = timedelta()
_METADATA: Final = [*MemoryEntry.__dataclass_fields__].index("metadata")


class _KeptEntry(NamedTuple):
    """An entry that answered before, when it was read, and its values, which nobody else holds."""

    entry: MemoryEntry
    read_at: datetime
    values: Sequence[Any]


def _again(kept: KeptRecords, keys: Sequence[int], decay: Decay, now: datetime) -> dict[int, MemoryEntry]:
    """Return those of *keys* that are kept, as a reader sees them, whatever earlier readers did to theirs."""
    found: dict[int, MemoryEntry] = {}
    for key, (entry, read_at, values) in kept.among(keys).items():
        if not _NOTHING <= now - read_at <= _SAME_IMPORTANCE or entry.metadata != values[_METADATA]:
            own = list(values)
            own[_IMPORTANCE] = decay.value(entry.base, entry.last_seen_at, now)
            own[_METADATA] = dict(values[_METADATA])
            found[key] = _built_of(own)
            kept.put(key, _KeptEntry(found[key], now, values), len(entry.content))
        else:
            found[key] = entry
    return found


def _keep(kept: KeptRecords, read: Mapping[int, MemoryEntry], now: datetime) -> None:
    for key, entry in read.items():
        values = [*_values(entry)]
        values[_METADATA] = dict(entry.metadata)
        kept.put(key, _KeptEntry(entry, now, values), len(entry.content))


def _entries(view: ReadView, *, keys: Sequence[int], revision: int | None) -> dict[int, MemoryEntry] | None:
    return view.entries.by_keys(keys) if revision is None or view.revision == revision else None
