"""Answers a query with turns of the conversation log."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from agentcore.domain.conversation import Turn, spoken_line
from agentcore.domain.filters import TurnFilter
from agentcore.domain.scope import Scope
from agentcore.errors import InvalidOptionsError
from agentcore.recall.follow import FeedSource
from agentcore.recall.index_cache import FileIndexStore, IndexBudget, IndexCache, IndexKind
from agentcore.recall.options import TurnOptions
from agentcore.recall.results import Passage, Ranking, within
from agentcore.recall.thread import RecallThread
from agentcore.stores.storage import ReadView, Storage
from agentcore.stores.values import FeedPage, FeedPosition, TurnRow

if TYPE_CHECKING:
    from agentcore.recall.turn_index import TurnIndex


_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class TurnHit:
    """One turn that answers a query.

    Args:
        turn: The turn.
        score: BM25 of the turn with what stands around it, above 0; comparable within one answer only.
        span: Where the passage that matched best begins and ends in its content; None for all of it.
    """

    turn: Turn
    score: float
    span: Passage | None = None

    @property
    def passage(self) -> str:
        """The passage that matched best; of a short turn all that was said."""
        return within(self.turn.content, self.span)

    @property
    def text(self) -> str:
        """What is shown: the passage with its turn's date and speaker."""
        return spoken_line(self.turn.speaker, self.passage, self.turn.occurred_at)


class TurnRecall:
    """Finds turns by what was said in and around them; lives as long as `Recall`, which opens and closes it.

    Args:
        storage: Where the turns are.
        thread: What owns the indexes.
        options: How to rank.
        budget: Makes room when all indexes together take too much memory.
        index_store: Keeps large indexes over restarts; None keeps none.
    """

    def __init__(
        self,
        storage: Storage,
        thread: RecallThread,
        *,
        options: TurnOptions,
        budget: IndexBudget,
        index_store: FileIndexStore | None = None,
    ) -> None:
        self._thread = thread
        self._options = options
        self.cache: Final[IndexCache[TurnIndex, TurnRow]] = IndexCache(
            FeedSource(storage, thread, self._new_index, _feed, index_store), budget=budget
        )
        """The indexes."""

    async def close(self) -> None:
        """Drop every index."""
        await self.cache.close()

    async def search(self, scope: Scope, query: str, *, k: int = 10, where: TurnFilter | None = None) -> list[TurnHit]:
        """Return the *k* best turns for *query*, best first; equal scores in the order of arrival.

        Turns that the host's own machinery wrote, and its prompts, are never returned.

        Args:
            scope: Whose conversations to search.
            query: What is asked, of any length; one without a word finds nothing.
            k: How many at most, 1 or more.
            where: Conditions that turns must meet besides.

        Raises:
            InvalidOptionsError: *k* is below 1.
            HostNotStartedError: recall is not open.
        """
        if k < 1:
            raise InvalidOptionsError(field="k", value=k, allowed="give 1 or more")
        self._thread.require_open()
        if not query.strip():
            return []
        return (await self.cache.ask(scope, partial(turns_found, query=query, k=k, where=where))).hits

    def _new_index(self) -> "TurnIndex":
        # Opening a host must not pay for NumPy: the first query does, on the recall thread.
        from agentcore.recall.turn_index import TurnIndex  # noqa: PLC0415

        return TurnIndex(self._thread.tokenizer(), self._options)


def _feed(view: ReadView, position: FeedPosition, limit: int) -> FeedPage[TurnRow]:
    return view.turns.changes_since(position, limit=limit)


@dataclass(frozen=True, slots=True)
class TurnsFound:
    """What a query finds among turns.

    Args:
        hits: The best turns, best first.
        scores: By id what the turns score whose scores were wanted, if they match at all, admitted or not.
        standing: Passages in which a person asked for something that is to hold on, best first.
        around: What stands around the hits, each with its place behind them.
    """

    hits: list[TurnHit]
    scores: dict[str, float]
    standing: list[TurnHit]
    around: list[tuple[int, TurnHit]]


def turns_found(
    view: ReadView,
    index: "TurnIndex",
    *,
    query: str,
    k: int,
    where: TurnFilter | None = None,
    named: Collection[str] = (),
    standing: int = 0,
    fill: bool = False,
) -> TurnsFound:
    """Rank and fetch, on the recall thread, with an index that holds what the view holds.

    Args:
        view: Where turns are fetched.
        index: What ranks them.
        query: What is asked.
        k: How many hits at most.
        where: Conditions that they must meet.
        named: Ids of turns whose scores are wanted.
        standing: How many standing wishes at most.
        fill: Whether what stands around the hits is wanted where they are fewer than *k*.
    """
    # It cuts as the index does, and NumPy comes with that.
    from agentcore.recall.standing import standing_span  # noqa: PLC0415

    keys = view.turns.keys_of(named) if named else {}
    ranked = index.rank_all(query, keys.values(), limit=min(k, _MOST), where=where, standing=standing, fill=fill)
    scores, around = ranked.scores, ranked.around
    found = view.turns.by_keys([*ranked.best.keys, *ranked.standing.keys, *around.keys])

    def fetched(ranking: Ranking) -> list[TurnHit]:
        parts = zip(ranking.keys, ranking.scores, ranking.spans, strict=True)
        return [TurnHit(found[key], score, span) for key, score, span in parts if key in found]

    beside = [
        (place, TurnHit(found[key], 0.0, span))
        for place, (key, span) in enumerate(zip(around.keys, around.spans, strict=True), start=around.first)
        if key in found
    ]
    wished = [replace(hit, span=standing_span(hit.turn.content, hit.span)) for hit in fetched(ranked.standing)]

    scored = {turn_id: scores[key] for turn_id, key in keys.items() if key in scores}
    return TurnsFound(fetched(ranked.best), scored, wished, beside)


TURNS: Final = IndexKind("turns", "recall.snapshot.turns", _feed)
"""What is kept of turns."""
