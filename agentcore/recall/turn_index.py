"""Holds one scope's turns as postings, and ranks them with the conversation around them."""

import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agentcore.domain.filters import TurnFilter
from agentcore.domain.temporal import to_micros
from agentcore.recall.bm25.arrays import PART_BITS, Floats, Slots, SparseSums
from agentcore.recall.bm25.index import best
from agentcore.recall.bm25.postings import Postings
from agentcore.recall.options import TurnOptions
from agentcore.recall.passage_index import CutRecord, PassageIndex, records_of, share_of_length
from agentcore.recall.results import Passage, Ranking, within
from agentcore.recall.sessions import NOWHERE, Sessions, as_array
from agentcore.recall.snapshot import Kept, Snapshot
from agentcore.recall.standing import WISH, is_standing
from agentcore.recall.tokenizer import Tokenizer
from agentcore.stores.values import FeedPosition, TurnRow

_WASTE_WORTH_CLOSING: Final = 1024
_NEWNESS: Final = 0.25
"""What the newest standing wish scores beside the share of the best score that its turn has."""
_NEW: Final = 10
"""Wishes after which a wish scores half as much for being new."""
_TERMS_PER_PLACE: Final = 3
"""Terms of what matches that fill a place: a term takes two or three tokens, with what search leaves out beside it."""
_TURN: Final = 0
"""Column of the passages that holds the number of their turn."""


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around the turns that match.

    Args:
        first: The place of the first behind the matches.
        keys: The turns.
        spans: The passage of each.
    """

    first: int = 0
    keys: Sequence[int] = ()
    spans: Sequence[Passage | None] = ()


@dataclass(frozen=True, slots=True)
class TurnRankings:
    """What a query finds among turns.

    Args:
        best: The turns that match, best first.
        scores: What the turns score that were named and match.
        standing: Passages with a standing wish, best first.
        around: What stands around the turns that match.
    """

    best: Ranking
    scores: dict[int, float]
    standing: Ranking
    around: Around


class TurnIndex:
    """Postings of one scope's turns; lives until recall makes room for another.

    A turn's own score is the BM25 of its best passage. To that comes a share of its neighbours' own up to two turns
    away in the same session, and a share of its session's, where the session counts as one document (see
    `TurnOptions`): the answer to a question often stands in the turn after it, in other words. The sum is multiplied
    with what the turn's length leaves of it (see `share_of_length`).

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
        self._turns = self._empty()
        self._sessions = Sessions()
        self._own = SparseSums()

    @property
    def cut(self) -> str:
        """What decides beside the texts what is kept."""
        return f"{self._options.passage_tokens} tokens, {self._options.length_weight} of length, with wishes"

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate."""
        return self._turns.index.nbytes + self._sessions.nbytes + self._own.nbytes

    def restart(self) -> None:
        """Forget everything and begin the feed anew."""
        self.position = FeedPosition()
        self._turns = self._empty()
        self._sessions = Sessions()

    def drop(self, keys: Iterable[int]) -> None:
        """Leave out turns that are gone; unknown ones change nothing."""
        postings = self._postings
        for key in keys:
            if key in self._turns:
                slots = self._turns.slots_of(key)
                turn, length = int(postings.column(_TURN, slots[:1])[0]), int(postings.lengths(slots).sum())
                self._sessions.remove(turn, length=length)
                self._turns.remove(key)

    def take(self, rows: Iterable[TurnRow]) -> None:
        """Take over turns; what one says never changes, so whichever is here already stays as it is."""
        new = {row.key: row for row in rows if row.live and row.key not in self._turns}
        self.unkept += len(new)
        records = [self._cut(row) for row in new.values()]
        self._turns.put(
            [
                replace(record, values=(self._placed(row, record),))
                for row, record in zip(new.values(), records, strict=True)
            ]
        )

    def _cut(self, row: TurnRow) -> CutRecord:
        record = self._turns.cut(row.key, row.content, (), before=row.heading)
        if not row.by_person:
            return record
        parts = zip(record.terms, record.passages, strict=True)
        return replace(
            record,
            terms=[[*terms, WISH] if is_standing(within(row.content, span)) else terms for terms, span in parts],
        )

    def _placed(self, row: TurnRow, record: CutRecord) -> int:
        """Give a turn its place in its session and return its number."""
        share = self._share(row.content) if len(record.passages) > 1 else 1.0
        add = self._sessions.add
        return add(row.session_id, key=row.key, occurred_us=row.occurred_us, length=record.length, share=share)

    def _share(self, content: str) -> float:
        options = self._options
        return share_of_length(content, passage_tokens=options.passage_tokens, weight=options.length_weight)

    def reach(self, position: FeedPosition) -> None:
        """Note that everything up to *position* has been taken over."""
        self.position = position

    def tidy(self) -> bool:
        """Go on with a compaction, or close the gaps between turns, if one is needed; tell whether there is more."""
        gone = self._sessions.gone
        if gone > _WASTE_WORTH_CLOSING and 4 * gone > len(self._turns):
            self._sessions.close_gaps()
            return True
        return self._turns.index.tidy()

    def __len__(self) -> int:
        return len(self._turns)

    def kept(self) -> Kept:
        """Return what the index is made of, without what removals left behind.

        Beside the postings stand, for each turn in their order, the number of its session, when it was said, and the
        bits of its share.
        """
        self._turns.index.compact()
        self._sessions.close_gaps()
        places = self._places(_heads(self._postings.lists.keys))
        shares = self._sessions.shares(places).view(np.int64)
        beside = self._sessions.numbers(places), self._sessions.occurred(places), shares
        return Kept(self._postings.lists, self._sessions.names, [as_array(one) for one in beside], self.cut)

    def adopt(self, snapshot: Snapshot) -> None:
        """Take what was kept of the index in place of what is here."""
        lists, (numbers, occurred, shares) = snapshot.kept.lists, snapshot.kept.beside
        heads, keys = _heads(lists.keys), np.array(lists.keys, dtype=np.int64)
        # The order in which they are kept numbers the turns anew.
        turns = np.zeros(len(keys))
        turns[heads[1:]] = 1.0
        lists.columns[_TURN][:] = array("d", turns.cumsum().tobytes())
        lengths = np.array(lists.lengths, dtype=np.int64)
        self._sessions = Sessions.of(
            snapshot.kept.names,
            keys=records_of(keys[heads]).tolist(),
            numbers=numbers,
            occurred=occurred,
            lengths=np.add.reduceat(lengths, heads).tolist() if len(heads) else (),
            shares=array("d", shares.tobytes()),
        )
        self._turns = self._empty()
        self._turns.adopt(lists)
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
        found = self.rank_all(query, keys, limit=limit, where=where)
        return found.best, found.scores

    def rank_all(
        self,
        query: str,
        keys: Collection[int],
        *,
        limit: int,
        where: TurnFilter | None = None,
        standing: int = 0,
        fill: bool = False,
    ) -> "TurnRankings":
        """Return the same, and *standing* passages in which a person asked for something that is to hold on.

        What was asked for holds whatever the query says: likeness to the query ranks it, and how new it is.
        """
        matching, matched, whole = self._scores(self._tokenizer.query_tokens(query))
        places, scores = matching, matched
        if where is not None:
            admitted = self._admitted(where, places)
            places, scores = places[admitted], scores[admitted]
        found, reached = best(self._sessions.keys(places), scores, limit)
        ranking = Ranking(found.tolist(), reached.tolist(), self._shown(found.tolist()))
        self._turns.index.sums.drain()
        wishes = self._standing(matching, matched, limit=standing)
        around = self._around(matching, whole, ranking, limit=limit) if fill else Around()
        if not keys:
            return TurnRankings(ranking, {}, wishes, around)
        known = [key for key in keys if key in self._turns]
        wanted = self._places(np.array([self._turns.slots_of(key)[0] for key in known], dtype=np.intp))
        at = np.searchsorted(matching, wanted)
        at[at == len(matching)] = 0
        pairs = zip(known, wanted.tolist(), at.tolist(), strict=True)
        scored = {key: float(matched[place]) for key, turn, place in pairs if len(matching) and matching[place] == turn}
        return TurnRankings(ranking, scored, wishes, around)

    def _around(self, matching: Slots, whole: Floats, ranking: Ranking, *, limit: int) -> Around:
        """Return what stands around all that match: the other turns of their sessions, then their other passages.

        It comes where there is room for more than matches, so its places begin where these are sure to be told.
        """
        if not len(matching) or len(ranking.keys) == limit:
            return Around()
        heads = [self._turns.slots_of(key)[0] for key in ranking.keys]
        terms = int(self._postings.lengths(np.array(heads, dtype=np.intp)).sum())
        first = max(len(heads), terms // _TERMS_PER_PLACE)
        room = limit - first
        if room <= 0:
            return Around()
        numbers = self._sessions.numbers(np.arange(len(self._sessions) + 1))
        likely = np.where(numbers >= 0, whole.take(numbers), 0.0)
        likely[matching] = 0.0
        places = np.flatnonzero(likely)
        near = places[np.argsort(-likely[places], kind="stable")[:room]]
        keys = self._sessions.keys(near).tolist()
        parts = [self._turns.passages_of(key)[0] for key in keys]
        shown = set(zip(ranking.keys, ranking.spans, strict=True))
        for key in ranking.keys:
            if len(parts) >= room:
                break
            others = self._turns.passages_of(key)
            spans = self._turns.spans(others) if len(others) > 1 else []
            parts += [part for part, span in zip(others, spans, strict=False) if (key, span) not in shown]
        parts = parts[:room]
        return Around(first, records_of(np.array(parts, dtype=np.int64)).tolist(), self._turns.spans(parts))

    def _standing(self, matching: Slots, matched: Floats, *, limit: int) -> Ranking:
        """Return the best passages with a wish: their turn's share of the best score, and a weight for the newest."""
        term = self._postings.term_id(WISH)
        if not limit or term is None:
            return Ranking([], [])
        slots = self._postings.slots(term)
        slots = slots[self._postings.alive(slots)]
        places = self._places(slots)
        scores = np.zeros(len(slots))
        if len(matching):
            at = np.searchsorted(matching, places).clip(max=len(matching) - 1)
            scores = np.where(matching[at] == places, matched[at] / matched.max(), 0.0)
        newest_first = np.lexsort((slots, -self._sessions.occurred(places)))
        scores[newest_first] += _NEWNESS / (1.0 + np.arange(len(slots)) / _NEW)
        chosen = newest_first[np.argsort(-scores[newest_first], kind="stable")[:limit]]
        keys = self._sessions.keys(places[chosen]).tolist()
        return Ranking(keys, scores[chosen].tolist(), self._turns.spans(self._postings.keys(slots[chosen]).tolist()))

    def _shown(self, keys: Sequence[int]) -> list[Passage | None]:
        """Return the best passage of each turn, the first of equals: of a turn found by its neighbours the first."""
        if not self._turns.has_parts:
            return [None] * len(keys)
        passages, sums = [self._turns.passages_of(key) for key in keys], self._turns.index.sums
        return self._turns.spans(
            [
                held[int(sums.at(self._turns.slots_of(key)).argmax())] if len(held) > 1 else held[0]
                for key, held in zip(keys, passages, strict=True)
            ]
        )

    def _scores(self, terms: Iterable[str]) -> tuple[Slots, Floats, Floats]:
        """The places, ascending, of turns that match themselves or next to one that does, and what they score.

        BM25 of the passages is left in the scratch vector of their index.
        """
        whole, passages = self._passages_and_whole(terms), self._turns.index.sums
        options, own = self._options, self._own
        own.begin(len(self._sessions) + 1)
        own.raise_to(self._places(passages.touched()), passages.at(passages.touched()))
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
        near += options.session_weight * whole.take(self._sessions.numbers(places))
        return places, near * self._sessions.shares(places), whole

    def _passages_and_whole(self, terms: Iterable[str]) -> Floats:
        """Leave BM25 of each passage by its slot in the scratch vector; return that of each session as one document."""
        options, postings, sums = self._options, self._postings, self._turns.index.sums
        sums.begin(postings.slot_count)
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
            sums.add(slots, _idf(len(slots), len(postings)) * counts / (counts + self._norm(slots)))
            numbers = self._sessions.numbers(self._places(slots))
            by_session = np.bincount(numbers, weights=counts, minlength=len(whole))
            having = int(np.count_nonzero(by_session))
            whole += _idf(having, sessions) * by_session / (by_session + norm + (by_session == 0.0))
        return whole

    def _known(self, terms: Iterable[str]) -> Iterator[int]:
        postings = self._postings
        for term in dict.fromkeys(terms):
            number = postings.term_id(term)
            if number is not None and postings.document_frequency(number):
                yield number

    def _norm(self, slots: Slots) -> Floats | float:
        k1, b, postings = self._options.k1, self._options.b, self._postings
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
        return self._sessions.places(self._postings.column(_TURN, slots).astype(np.intp))

    @property
    def _postings(self) -> Postings:
        return self._turns.index.postings

    def _empty(self) -> PassageIndex:
        options = self._options
        return PassageIndex(
            self._tokenizer, passage_tokens=options.passage_tokens, k1=options.k1, b=options.b, columns=1
        )


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


def _heads(keys: "array[int]") -> Slots:
    """Return the slots of the first passage of each turn."""
    return np.flatnonzero((np.array(keys, dtype=np.int64) & ((1 << PART_BITS) - 1)) == 0)
