"""Asks vectors about a query, and waits for the embedder no longer than agreed."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from agentcore.domain.scope import Scope
from agentcore.errors import AgentcoreError, InvalidOptionsError
from agentcore.recall.follow import FeedSource
from agentcore.recall.index_cache import IndexBudget, IndexCache
from agentcore.recall.thread import RecallThread
from agentcore.stores.storage import ReadView, Storage, UnitOfWork
from agentcore.stores.values import FeedPage, FeedPosition, IndexRow, TextVector

if TYPE_CHECKING:
    from agentcore.recall.dense_index import DenseIndex, Similarities

_log = logging.getLogger(__name__)

_LOOKED_FOR_AT_ONCE: Final = 500
_LONGEST_TEXT: Final = 8_000
"""Characters of a text that the model is given: its beginning says what it is about."""


class TextEmbedder(Protocol):
    """What makes vectors: `agentcore.llm.Embedder`, as this floor knows it."""

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each of *texts*, in their order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseOptions:
    """How vectors take part in recall; immutable, checked when made.

    Raises:
        InvalidOptionsError: a number is out of range.
    """

    weight: float = 0.3
    """Share of the relevance that vectors decide, above 0, below 1."""
    query_timeout: timedelta = timedelta(milliseconds=500)
    """Time the model has for the vector of a query; after it words alone answer."""
    batch: int = 64
    """Texts that the model is given at once, 1 or more."""
    retry_after: timedelta = timedelta(seconds=30)
    """Time the model is left alone after it failed; 0 or more."""

    def __post_init__(self) -> None:
        """Refuse values that have no meaning."""
        if not 0.0 < self.weight < 1.0:
            raise InvalidOptionsError(field="weight", value=self.weight, allowed="give a number above 0 and below 1")
        if self.query_timeout <= timedelta(0):
            raise InvalidOptionsError(field="query_timeout", value=self.query_timeout, allowed="give a time above 0")
        if self.batch < 1:
            raise InvalidOptionsError(field="batch", value=self.batch, allowed="give 1 or more")
        if self.retry_after < timedelta(0):
            raise InvalidOptionsError(field="retry_after", value=self.retry_after, allowed="give a time of 0 or more")


class DenseRecall:
    """The vectors of entries; lives as long as `Recall`.

    A query waits for its own vector, for a bounded time, and for nothing else of the model: vectors of entries are
    made in batches by `fill`, for scopes that were asked, and kept in the store once for each text.

    Args:
        storage: Where entries and vectors are.
        thread: What owns the indexes.
        budget: The memory that all indexes share.
        embedder: The model.
        options: How vectors take part.
    """

    def __init__(
        self,
        storage: Storage,
        thread: RecallThread,
        *,
        budget: IndexBudget,
        embedder: TextEmbedder,
        options: DenseOptions,
    ) -> None:
        self._storage = storage
        self._thread = thread
        self._embedder = embedder
        self._options = options
        self._cache: IndexCache[DenseIndex, IndexRow] = IndexCache(
            FeedSource(storage, thread, _new_index, _feed), budget=budget
        )
        self._waiting: dict[Scope, None] = {}
        self._asked = asyncio.Event()
        self._rests_until = 0.0

    @property
    def weight(self) -> float:
        """Share of the relevance that vectors decide."""
        return self._options.weight

    @property
    def lacks_vectors(self) -> bool:
        """Whether `fill` has something to do."""
        return bool(self._waiting)

    async def close(self) -> None:
        """Drop every index."""
        await self._cache.close()

    async def query_vector(self, query: str) -> list[float] | None:
        """Return the vector of *query*; None, with the reason in the log, if words alone have to answer."""
        reason = "resting"
        if not self._is_resting():
            try:
                async with asyncio.timeout(self._options.query_timeout.total_seconds()):
                    (vector,) = made = await self._embed([query])
                # Outside the timeout: the first check of all loads NumPy, which is not the model's fault.
                await self._thread.run(_check, made)
            except TimeoutError:
                reason = "timed_out"
            except (AgentcoreError, ValueError, OSError) as error:
                reason = _reason(error)
            else:
                return vector
            self.rest()
        _log.info("recall_without_vectors", extra={"reason": reason, "model": self._embedder.model})
        return None

    async def near(self, scope: Scope, vector: Sequence[float]) -> "Similarities":
        """Return how near the scope's entries are to a query's vector, as far as there are vectors of them."""
        async with self._cache.current(scope) as current:
            index = current.index
            await self._thread.run(index.expect, len(vector))
            await self._look_up(scope, index)
            similarities = await self._thread.run(index.similarities, vector)
            if index.wanting(1):
                self._waiting[scope] = None
                self._asked.set()
        return similarities

    async def fill(self) -> None:
        """Wait until a scope that was asked lacks vectors, and have one batch of them made.

        Raises:
            AgentcoreError: the model gives none; nothing is lost, and a later call goes on.
        """
        while not self._waiting:
            self._asked.clear()
            await self._asked.wait()
        scope = next(iter(self._waiting))
        async with self._cache.as_it_is(scope) as index:
            wanted = await self._thread.run(index.wanting, self._options.batch)
        if not wanted:
            self._waiting.pop(scope, None)
            return
        texts = await self._storage.read(scope, partial(_texts, keys=list(wanted)))
        vectors = await self._vectors({key: texts[key] for key in wanted if key in texts})
        made = [TextVector(key, wanted[key], vector) for key, vector in vectors.items()]
        if made:
            await self._storage.write(scope, partial(_keep, model=self._embedder.model, vectors=made))
        async with self._cache.as_it_is(scope) as index:
            await self._thread.run(index.attach, {one.content_hash: one.vector for one in made})
            # What was refused, has changed meanwhile, or is of another length: the next change or query decides.
            await self._thread.run(index.set_aside, list(wanted))

    def rest(self) -> timedelta:
        """Leave the model alone for a while, and return for how long."""
        self._rests_until = asyncio.get_running_loop().time() + self._options.retry_after.total_seconds()
        return self._options.retry_after

    async def _vectors(self, texts: Mapping[int, str]) -> dict[int, bytes]:
        """Return the vectors of *texts*; a text that the model refuses is left out, whatever it was asked with."""
        from agentcore.recall.dense_index import pack  # noqa: PLC0415 - NumPy, see Recall

        try:
            made = await self._embed(list(texts.values())) if texts else []
            return dict(zip(texts, await self._thread.run(pack, made) if made else [], strict=True))
        except AgentcoreError as error:
            if not getattr(error, "is_about_the_texts", False):
                raise
        if len(texts) == 1:
            _log.warning("embedding_refused", extra={"model": self._embedder.model})
            return {}
        middle = len(texts) // 2
        halves = list(texts.items())[:middle], list(texts.items())[middle:]
        return await self._vectors(dict(halves[0])) | await self._vectors(dict(halves[1]))

    async def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        made = await self._embedder.embed([text[:_LONGEST_TEXT] for text in texts])
        return [list(vector) for vector in made]

    async def _look_up(self, scope: Scope, index: "DenseIndex") -> None:
        """Take over what the store has of vectors that have not been looked for."""
        while wanted := await self._thread.run(index.unlooked, _LOOKED_FOR_AT_ONCE):
            found = await self._storage.read(scope, partial(_kept, model=self._embedder.model, wanted=wanted))
            await self._thread.run(index.attach, found)
            await self._thread.run(index.looked, list(wanted))

    def _is_resting(self) -> bool:
        return asyncio.get_running_loop().time() < self._rests_until


def _new_index() -> "DenseIndex":
    # Opening a host must not pay for NumPy: the first query does, on the recall thread.
    from agentcore.recall.dense_index import DenseIndex  # noqa: PLC0415

    return DenseIndex()


def _check(vectors: Sequence[Sequence[float]]) -> None:
    from agentcore.recall.dense_index import pack  # noqa: PLC0415 - as above

    pack(vectors)


def _reason(error: Exception) -> str:
    return str(getattr(error, "failure", None) or type(error).__name__)


def _feed(view: ReadView, position: FeedPosition, limit: int) -> FeedPage[IndexRow]:
    return view.entries.changes_since(position, limit=limit)


def _kept(view: ReadView, *, model: str, wanted: Mapping[int, str]) -> dict[str, bytes]:
    return view.vectors.get(model, set(wanted.values()))


def _texts(view: ReadView, *, keys: Sequence[int]) -> dict[int, str]:
    return {key: entry.content for key, entry in view.entries.by_keys(keys).items()}


def _keep(unit: UnitOfWork, *, model: str, vectors: Sequence[TextVector]) -> int:
    return unit.vectors.put(model, vectors)
