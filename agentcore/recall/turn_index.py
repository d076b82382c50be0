"""One scope's turns as postings, ranked with the conversation around them."""

import math
from collections.abc import Collection, Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agentcore.domain.filters import TurnFilter
from agentcore.domain.instants import to_micros
from agentcore.recall.index import Bm25Index
from agentcore.recall.options import TurnOptions
from agentcore.recall.postings import Floats, Keys, Slots
from agentcore.recall.ranking import Ranking
from agentcore.recall.sessions import NOWHERE, Sessions
from agentcore.recall.tokenizer import Tokenizer
from agentcore.stores.protocols import FeedPosition, TurnRow

_WASTE_WORTH_RENUMBERING: Final = 1024


class TurnIndex:
    """Postings of one scope's turns; lives until recall makes room for another.

    A turn's score is its own BM25, plus a share of its neighbours' up to two turns away in the same session, plus a
    share of its session's, where the session counts as one document (see `TurnOptions`). The answer to a question often
    stands in the turn after it, in other words.

    Not thread-safe: the recall thread owns it.

    Args:
        tokenizer: Cuts turns and queries.
        options: How scores are made.

    Example:
        >>> index = TurnIndex(Tokenizer(), TurnOptions())
        >>> index.take([TurnRow(1, "s", "Where did Ana move?", 10, True), TurnRow(2, "s", "To Lisbon.", 20, True)])
        >>> index.rank("Ana's move", limit=10).keys
        [1, 2]
    """

    def __init__(self, tokenizer: Tokenizer, options: TurnOptions) -> None:
        self._tokenizer = tokenizer
        self._options = options
        self.position = FeedPosition()
        """How far the change feed has been taken over."""
        self._index = Bm25Index(columns=1)
        self._sessions = Sessions()

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate."""
        return self._index.nbytes + self._sessions.nbytes

    def restart(self) -> None:
        """Forget everything and begin the feed anew."""
        self.position = FeedPosition()
        self._index = Bm25Index(columns=1)
        self._sessions = Sessions()

    def drop(self, keys: Iterable[int]) -> None:
        """Leave out turns that are gone; unknown ones change nothing."""
        for key in keys:
            if key in self._index:
                slot = np.array([self._index.postings.slot_of(key)])
                (place,), (length,) = self._places(slot).tolist(), self._index.postings.lengths(slot).tolist()
                self._sessions.remove(place, length=int(length))
                self._index.remove(key)

    def take(self, rows: Iterable[TurnRow]) -> None:
        """Take over turns; what one says never changes, so whichever is here already stays as it is."""
        for row in rows:
            if row.live and row.key not in self._index:
                terms = self._tokenizer.tokens(row.text)
                place = self._sessions.add(row.session_id, key=row.key, occurred_us=row.occurred_us, length=len(terms))
                self._index.add(row.key, terms, (place,))

    def reach(self, position: FeedPosition) -> None:
        """Note that everything up to *position* has been taken over."""
        self.position = position
        gone = self._sessions.gone
        if gone > _WASTE_WORTH_RENUMBERING and 4 * gone > len(self._index):
            self._renumber()

    def tidy(self) -> bool:
        """Go on with a compaction, if one is needed; tell whether there is more."""
        return self._index.tidy()

    def rank(self, query: str, *, limit: int, where: TurnFilter | None = None) -> Ranking:
        """Return the best turns for *query*, equal scores by key.

        Args:
            query: What is asked, of any length.
            limit: How many at most.
            where: Conditions that turns must meet besides.
        """
        return self.rank_and_score(query, (), limit=limit, where=where)[0]

    def rank_and_score(
        self, query: str, keys: Collection[int], *, limit: int, where: TurnFilter | None = None
    ) -> tuple[Ranking, dict[int, float]]:
        """Return the same, and what the turns of *keys* score that match at all, whether or not *where* admits them."""
        scores, near = self._scores(self._tokenizer.query_tokens(query))
        places = np.flatnonzero(near > 0.0)
        if where is not None:
            places = places[self._admitted(where, places)]
        best = _best(places, scores.take(places), self._sessions.keys(places), limit)
        known = [key for key in keys if key in self._index]
        wanted = self._places(np.array([self._index.postings.slot_of(key) for key in known], dtype=np.intp))
        pairs = zip(known, near.take(wanted).tolist(), scores.take(wanted).tolist(), strict=True)
        ranking = Ranking(self._sessions.keys(best).tolist(), scores.take(best).tolist())
        return ranking, {key: score for key, close, score in pairs if close > 0.0}

    def _scores(self, terms: Iterable[str]) -> tuple[Floats, Floats]:
        """What each place scores, and how much of it comes from itself and its neighbours."""
        own, whole = self._own_and_whole(terms)
        options = self._options
        before, after = self._sessions.neighbours()
        padded, none = np.append(own, 0.0), np.array([NOWHERE])
        # The index -1 of a place without a neighbour leads to the zero, and to itself, that stand at the end.
        two_before, two_after = np.append(before, none)[before], np.append(after, none)[after]
        near = own + options.next_weight * (padded[before] + padded[after])
        near += options.second_weight * (padded[two_before] + padded[two_after])
        return near + options.session_weight * whole.take(self._sessions.numbers()), near

    def _own_and_whole(self, terms: Iterable[str]) -> tuple[Floats, Floats]:
        """BM25 of each place's turn, and of each session as one document."""
        options, postings, numbers = self._options, self._index.postings, self._sessions.numbers()
        own, lengths = np.zeros(len(self._sessions)), self._sessions.lengths()
        held = lengths > 0
        whole, sessions = np.zeros(len(lengths)), int(held.sum())
        penalty = options.session_b * lengths / (lengths[held].mean() if sessions else 1.0)
        norm = options.session_k1 * (1.0 - options.session_b + penalty)
        for term in self._known(terms):
            slots, counts = postings.slots(term), postings.counts(term)
            alive = postings.alive(slots)
            slots, counts = slots[alive], counts[alive]
            places = self._places(slots)
            own[places] += _idf(len(slots), len(postings)) * counts / (counts + self._norm(slots))
            by_session = np.bincount(numbers.take(places), weights=counts, minlength=len(whole))
            having = int(np.count_nonzero(by_session))
            whole += _idf(having, sessions) * by_session / (by_session + norm + (by_session == 0.0))
        return own, whole

    def _known(self, terms: Iterable[str]) -> Iterator[int]:
        postings = self._index.postings
        for term in dict.fromkeys(terms):
            number = postings.term_id(term)
            if number is not None and postings.document_frequency(number):
                yield number

    def _norm(self, slots: Slots) -> Floats | float:
        k1, b, postings = self._options.k1, self._options.b, self._index.postings
        if b == 0.0:
            return k1
        return k1 * (1.0 - b + b * postings.lengths(slots) * len(postings) / postings.total_length)

    def _admitted(self, where: TurnFilter, places: Slots) -> NDArray[np.bool_]:
        admitted = np.ones(len(places), dtype=np.bool_)
        numbers, occurred = self._sessions.numbers().take(places), self._sessions.occurred(places)
        if where.session_id is not None:
            admitted &= numbers == self._sessions.number_of(where.session_id)
        if where.besides is not None:
            admitted &= numbers != self._sessions.number_of(where.besides)
        if where.said_after is not None:
            admitted &= occurred >= to_micros(where.said_after)
        if where.said_before is not None:
            admitted &= occurred < to_micros(where.said_before)
        return admitted

    def _places(self, slots: Slots) -> Slots:
        return self._index.postings.values(slots)[0].astype(np.intp)

    def _renumber(self) -> None:
        """Give the turns that are here places without gaps."""
        sessions, postings = Sessions(), self._index.postings
        for name, _, key, occurred_us in self._sessions.turns():
            length = int(postings.lengths(np.array([postings.slot_of(key)]))[0])
            place = sessions.add(name, key=key, occurred_us=occurred_us, length=length)
            self._index.set_values(key, (place,))
        self._sessions = sessions


def _idf(having: int, total: int) -> float:
    return math.log1p((total - having + 0.5) / (having + 0.5))


def _best(places: Slots, scores: Floats, keys: Keys, limit: int) -> Slots:
    if limit < len(scores):
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        kept = np.flatnonzero(scores >= least)
        places, scores, keys = places[kept], scores[kept], keys[kept]
    return places[np.lexsort((keys, -scores))[:limit]]
