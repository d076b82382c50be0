"""Holds one scope's turns as postings, and ranks them with the conversation around them."""

import math
from array import array
from collections.abc import Collection, Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agentcore.domain.filters import TurnFilter
from agentcore.domain.temporal import to_micros
from agentcore.recall.bm25.arrays import Floats, Keys, Slots, SparseSums
from agentcore.recall.bm25.index import FEW, Bm25Index, best
from agentcore.recall.options import TurnOptions
from agentcore.recall.results import Ranking
from agentcore.recall.sessions import NOWHERE, Sessions, as_array
from agentcore.recall.snapshot import Kept, Snapshot
from agentcore.recall.tokenizer import Tokenizer
from agentcore.stores.values import FeedPosition, TurnRow

_WASTE_WORTH_CLOSING: Final = 1024


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
        self.unkept = 0
        """Turns taken over since it was read from a file."""
        self._index = Bm25Index(columns=1)
        self._sessions = Sessions()
        self._own = SparseSums()

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate."""
        return self._index.nbytes + self._sessions.nbytes + self._own.nbytes

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
                (turn,), (length,) = self._index.postings.values(slot)[0].tolist(), self._index.postings.lengths(slot)
                self._sessions.remove(int(turn), length=int(length))
                self._index.remove(key)

    def take(self, rows: Iterable[TurnRow]) -> None:
        """Take over turns; what one says never changes, so whichever is here already stays as it is."""
        new = {row.key: row for row in rows if row.live and row.key not in self._index}
        self.unkept += len(new)
        terms = [self._tokenizer.tokens(row.text) for row in new.values()]
        turns = [
            (self._sessions.add(row.session_id, key=row.key, occurred_us=row.occurred_us, length=len(its_terms)),)
            for row, its_terms in zip(new.values(), terms, strict=True)
        ]
        if len(new) < FEW:
            for key, its_terms, turn in zip(new, terms, turns, strict=True):
                self._index.add(key, its_terms, turn)
        else:
            self._index.update_many(list(new), terms, turns)

    def reach(self, position: FeedPosition) -> None:
        """Note that everything up to *position* has been taken over."""
        self.position = position

    def tidy(self) -> bool:
        """Go on with a compaction, or close the gaps between turns, if one is needed; tell whether there is more."""
        gone = self._sessions.gone
        if gone > _WASTE_WORTH_CLOSING and 4 * gone > len(self._index):
            self._sessions.close_gaps()
            return True
        return self._index.tidy()

    def __len__(self) -> int:
        return len(self._index)

    def kept(self) -> Kept:
        """Return what the index is made of, without what removals left behind.

        Beside the postings, in their order, stand the number of each turn's session and when it was said.
        """
        self._index.compact()
        self._sessions.close_gaps()
        places = self._places(np.arange(len(self._index)))
        beside = self._sessions.numbers(places), self._sessions.occurred(places)
        return Kept(self._index.postings.lists, self._sessions.names, [as_array(one) for one in beside])

    def adopt(self, snapshot: Snapshot) -> None:
        """Take what was kept of the index in place of what is here."""
        lists, (numbers, occurred) = snapshot.kept.lists, snapshot.kept.beside
        # The order in which they are kept numbers the turns anew.
        lists.columns[0][:] = array("d", range(len(lists.keys)))
        self._sessions = Sessions.of(
            snapshot.kept.names, keys=lists.keys, numbers=numbers, occurred=occurred, lengths=lists.lengths
        )
        self._index = Bm25Index(columns=1)
        self._index.postings.lists = lists
        self.position = snapshot.position
        self.unkept = 0

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
        matching, matched = self._scores(self._tokenizer.query_tokens(query))
        places, scores = matching, matched
        if where is not None:
            admitted = self._admitted(where, places)
            places, scores = places[admitted], scores[admitted]
        ranking = _best(self._sessions.keys(places), scores, limit)
        if not keys:
            return ranking, {}
        known = [key for key in keys if key in self._index]
        wanted = self._places(np.array([self._index.postings.slot_of(key) for key in known], dtype=np.intp))
        at = np.searchsorted(matching, wanted)
        at[at == len(matching)] = 0
        pairs = zip(known, wanted.tolist(), at.tolist(), strict=True)
        return ranking, {
            key: float(matched[place]) for key, turn, place in pairs if len(matching) and matching[place] == turn
        }

    def rarity(self, query: str) -> dict[str, float]:
        """Return the terms of *query* and how rare each is among the turns."""
        postings = self._index.postings
        numbers = {term: postings.term_id(term) for term in self._tokenizer.query_tokens(query)}
        having = {term: 0 if at is None else postings.document_frequency(at) for term, at in numbers.items()}
        return {term: _idf(count, len(postings)) for term, count in having.items()}

    def _scores(self, terms: Iterable[str]) -> tuple[Slots, Floats]:
        """The places, ascending, of turns that match themselves or next to one that does, and what they score."""
        whole = self._own_and_whole(terms)
        options, own = self._options, self._own
        before, after = self._sessions.neighbours()
        places = _around(own.touched(), before, after)
        one_before, one_after = before.take(places), after.take(places)
        # What is nowhere scores nothing, and nowhere is what stands before and after it.
        near = own.at(one_before) + own.at(one_after)
        near *= options.next_weight
        near += own.at(places)
        near += options.second_weight * (own.at(before.take(one_before)) + own.at(after.take(one_after)))
        own.drain()
        matching = near > 0.0
        places, near = places[matching], near[matching]
        return places, near + options.session_weight * whole.take(self._sessions.numbers(places))

    def _own_and_whole(self, terms: Iterable[str]) -> Floats:
        """Leave BM25 of each turn by its place in the scratch vector; return that of each session as one document."""
        options, postings, own = self._options, self._index.postings, self._own
        own.begin(len(self._sessions) + 1)
        lengths = self._sessions.lengths()
        held = lengths > 0
        whole, sessions = np.zeros(len(lengths)), int(held.sum())
        penalty = options.session_b * lengths / (lengths[held].mean() if sessions else 1.0)
        norm = options.session_k1 * (1.0 - options.session_b + penalty)
        for term in self._known(terms):
            slots, counts = postings.slots(term), postings.counts(term)
            if postings.dead:
                alive = postings.alive(slots)
                slots, counts = slots[alive], counts[alive]
            places = self._places(slots)
            own.add(places, _idf(len(slots), len(postings)) * counts / (counts + self._norm(slots)))
            by_session = np.bincount(self._sessions.numbers(places), weights=counts, minlength=len(whole))
            having = int(np.count_nonzero(by_session))
            whole += _idf(having, sessions) * by_session / (by_session + norm + (by_session == 0.0))
        return whole

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
        numbers, occurred = self._sessions.numbers(places), self._sessions.occurred(places)
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
        return self._sessions.places(self._index.postings.values(slots)[0].astype(np.intp))


def _idf(having: int, total: int) -> float:
    return math.log1p((total - having + 0.5) / (having + 0.5))


def _around(places: Slots, before: Slots, after: Slots) -> Slots:
    """Return the places, ascending, that are among *places* or up to two away from one of them."""
    marked = np.zeros(len(before), dtype=np.bool_)
    marked[places] = True
    for neighbours in (before, after):
        one = neighbours.take(places)
        marked[one] = True
        marked[neighbours.take(one)] = True
    marked[NOWHERE] = False
    return np.flatnonzero(marked)


def _best(keys: Keys, scores: Floats, limit: int) -> Ranking:
    found, reached = best(keys, scores, limit)
    return Ranking(found.tolist(), reached.tolist())
