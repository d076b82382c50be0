"""Defines what recall answers: hits, rankings, explanations, passages, and entries and turns in one ranking."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final

from agentcore.domain.conversation import Turn, spoken_line
from agentcore.domain.memory import MemoryEntry, SourceKind, SourceRef
from agentcore.stores.storage import ReadView


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer of recall.

    Args:
        entry: The entry, its importance as of now.
        score: BM25 weighted by importance, above 0; comparable within one answer only.
    """

    entry: MemoryEntry
    score: float


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A document that shares much with the one asked about.

    Args:
        key: The document's key.
        similarity: Weighted Jaccard similarity, above 0, at most 1.
    """

    key: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Matching records, best first.

    Args:
        keys: Their keys in the store.
        scores: What each scores, above 0.
    """

    keys: list[int]
    scores: list[float]


@dataclass(frozen=True, slots=True)
class TermScore:
    """What one term of the query adds.

    Args:
        term: The term, as the tokenizer makes it.
        idf: How rare it is: log(1 + (N - df + 0.5) / (df + 0.5)).
        count: How often the entry has it.
        norm: What the count is held against: k1 * (1 - b + b * length / average).
    """

    term: str
    idf: float
    count: int
    norm: float

    @property
    def score(self) -> float:
        """The term's share of the relevance: idf * count / (count + norm)."""
        return self.idf * self.count / (self.count + self.norm)


@dataclass(frozen=True, slots=True)
class DenseScore:
    """What vectors make of the relevance.

    Args:
        similarity: Cosine of the entry's vector with the query's; None as long as it has none.
        share: What that adds, from 0 for the least similar entry of the scope to the weight for the most similar one.
        scale: What the sum of the terms is multiplied with for its share.
    """

    similarity: float | None
    share: float
    scale: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a score came about: the sum of the terms, together with what vectors add, times every factor.

    Args:
        terms: The query's terms that the entry has, the rarest first.
        importance: What its importance makes of the score, above 0, at most 1.
        recency: What its recency makes of it, above 0, at most 1.
        phrase: What neighbouring words make of it, 1 or more.
        dense: What vectors make of the relevance; None where words alone answer.
    """

    terms: tuple[TermScore, ...]
    importance: float = 1.0
    recency: float = 1.0
    phrase: float = 1.0
    dense: DenseScore | None = None

    @property
    def bm25(self) -> float:
        """What the terms add up to."""
        return sum(term.score for term in self.terms)

    @property
    def relevance(self) -> float:
        """BM25, or its share and that of the vectors."""
        return self.bm25 if self.dense is None else self.bm25 * self.dense.scale + self.dense.share

    @property
    def score(self) -> float:
        """The score, up to rounding."""
        return prod((self.relevance, self.importance, self.recency, self.phrase))


# Each look behind has one width, so that a run of full stops costs no more than its length.
_END: Final = re.compile(r"(?<=[.!?…])\s|(?<=[.!?…][\"')\]»”\u2019*])\s|(?<=[。\uff01\uff1f｡।])(?=.)")
_PIECES: Final = 4
"""A sentence too long to be shown is cut into pieces of this fraction of what may be shown."""


@dataclass(frozen=True, slots=True)
class Passage:
    """What is shown of a text.

    Args:
        text: One line: the text itself if it is short enough, else whole sentences around the words that matched.
        share: How much of what matched in the whole text it holds, the rarer words for more; 1 where nothing did.
        is_whole: Whether it is all of the text.
    """

    text: str
    share: float = 1.0
    is_whole: bool = True


def passage(text: str, rarity: Mapping[str, float], tokens: Callable[[str], Sequence[str]], *, longest: int) -> Passage:
    """Return the part of *text* that holds most of what was asked, in whole sentences as far as they fit.

    Args:
        text: Any text.
        rarity: The query's terms and how much each is worth.
        tokens: Cuts a text into such terms.
        longest: Characters that are shown at most, without the marks of what is left out.

    Example:
        >>> words = lambda text: text.lower().rstrip(".").split()
        >>> passage("It rained. Ana moved to Porto. It was May.", {"porto": 1.0}, words, longest=20).text
        '… Ana moved to Porto. …'
    """
    flat = " ".join(text.split())
    if len(flat) <= longest:
        return Passage(flat)
    spans = list(_sentences(text, longest))
    matched = [rarity.keys() & set(tokens(flat[start:end])) for start, end in spans]
    best, held = _best_run(spans, matched, rarity, longest)
    first, last = _widened(spans, *best, longest)
    start, end = spans[first][0], spans[last][1]
    shown = f"{'… ' if start else ''}{flat[start:end].strip()}{' …' if end < len(flat) else ''}"
    whole = sum(rarity[term] for term in set[str]().union(*matched))
    return Passage(shown, held / whole if whole else 1.0, is_whole=False)


def _sentences(text: str, longest: int) -> Iterator[tuple[int, int]]:
    """Yield where sentences begin and end in the text on one line; a line ends a sentence too."""
    at = 0
    for line in text.splitlines():
        flat = " ".join(line.split())
        if not flat:
            continue
        ends = [*(match.start() for match in _END.finditer(flat)), len(flat)]
        start = 0
        for end in ends:
            while end - start > longest:
                cut = flat.rfind(" ", start + 1, start + longest // _PIECES)
                cut = cut if cut > start else start + max(1, longest // _PIECES)
                yield at + start, at + cut
                start = cut
            if end > start:
                yield at + start, at + end
            start = end
        at += len(flat) + 1


def _best_run(
    spans: Sequence[tuple[int, int]], matched: Sequence[set[str]], rarity: Mapping[str, float], longest: int
) -> tuple[tuple[int, int], float]:
    """Return the shortest run of neighbours that holds most, the first of equals, and what it holds."""
    best, found = (0, 0), (0.0, 0)
    counts, held, first = Counter[str](), 0.0, 0
    for last, terms in enumerate(matched):
        held += sum(rarity[term] for term in terms if not counts[term])
        counts.update(terms)
        while first < last and (
            spans[last][1] - spans[first][0] > longest or all(counts[term] > 1 for term in matched[first])
        ):
            counts.subtract(matched[first])
            held -= sum(rarity[term] for term in matched[first] if not counts[term])
            first += 1
        if terms and (held, spans[first][0] - spans[last][1]) > found:
            best, found = (first, last), (held, spans[first][0] - spans[last][1])
    return best, found[0]


def _widened(spans: Sequence[tuple[int, int]], first: int, last: int, longest: int) -> tuple[int, int]:
    """Return the run with what follows it and what stands before, as far as there is room."""
    while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= longest:
        last += 1
    while first and spans[last][1] - spans[first - 1][0] <= longest:
        first -= 1
    return first, last


@dataclass(frozen=True, slots=True)
class CombinedHit:
    """An entry or a turn that answers a query.

    Args:
        record: The entry or the turn.
        score: How well, above 0, at most 1; comparable within one answer only.
        goes_back_to: The records it was made of, however far back; none for a turn.
        place: How many of its own kind are better by their own words.
        passage: What is shown of it; None where nobody asked for it.
    """

    record: MemoryEntry | Turn
    score: float
    goes_back_to: frozenset[SourceRef] = frozenset()
    place: int = 0
    passage: Passage | None = None
    reference: SourceRef = field(init=False)
    """The record itself."""

    def __post_init__(self) -> None:
        """Name the record, once for the many who ask."""
        kind = SourceKind.TURN if isinstance(self.record, Turn) else SourceKind.ENTRY
        object.__setattr__(self, "reference", SourceRef(kind, self.record.id))

    @property
    def text(self) -> str:
        """What an agent is shown: an entry's content, or a turn with its date and speaker; of both the passage."""
        content = self.record.content if self.passage is None else self.passage.text
        if isinstance(self.record, Turn):
            return spoken_line(self.record.speaker, content, self.record.occurred_at)
        return content

    @property
    def is_whole(self) -> bool:
        """Whether all of the record is shown."""
        return self.passage is None or self.passage.is_whole


class ShownRecords:
    """What a reader has been shown so far, and which turns it tells of.

    An entry stands for the turns it cites, and a turn for an entry that was made of nothing else; an entry never stands
    for another entry, since two of one turn say different things. Only what is shown whole counts.

    Example:
        >>> from datetime import UTC, datetime
        >>> from agentcore.domain.scope import Scope
        >>> now = datetime(2025, 5, 1, tzinfo=UTC)
        >>> turn = Turn(id="t", scope=Scope.default(), session_id="s", role="user", content="I moved to Porto.",
        ...             occurred_at=now, recorded_at=now)
        >>> note = MemoryEntry(id="a", scope=Scope.default(), content="Ana lives in Porto", created_at=now,
        ...                    recorded_at=now, last_seen_at=now, sources=(SourceRef(SourceKind.TURN, "t"),))
        >>> told = ShownRecords()
        >>> told.add(SourceRef(SourceKind.ENTRY, "a"), frozenset(note.sources))
        >>> told.repeats(CombinedHit(turn, 0.8))
        True
    """

    def __init__(self) -> None:
        self._shown = set[SourceRef]()
        self._cited = set[SourceRef]()

    def copy(self) -> "ShownRecords":
        """Return another one that has been shown the same."""
        other = ShownRecords()
        other._shown, other._cited = set(self._shown), set(self._cited)
        return other

    def add(self, reference: SourceRef, goes_back_to: frozenset[SourceRef] = frozenset()) -> None:
        """Note that the reader is shown a record, which was made of others."""
        self._shown.add(reference)
        self._cited |= goes_back_to

    def repeats(self, finding: CombinedHit) -> bool:
        """Tell whether the reader has the finding already, an entry that cites the turn, or every turn of the entry."""
        if finding.reference in self._shown:
            return True
        if isinstance(finding.record, Turn):
            return finding.reference in self._cited
        turns = {ref for ref in finding.goes_back_to if ref.kind is SourceKind.TURN}
        return bool(turns) and turns <= self._shown


def without_repeats_first(findings: Sequence[CombinedHit]) -> list[CombinedHit]:
    """Return *findings* with those that repeat better ones behind all others, each part in its order.

    A note and the turn it was taken from need not both be paid for: the worse of them comes when everything else that
    was found has had its place.
    """
    told = ShownRecords()
    new: list[CombinedHit] = []
    repeated: list[CombinedHit] = []
    for finding in findings:
        if told.repeats(finding):
            repeated.append(finding)
        else:
            new.append(finding)
            told.add(finding.reference, finding.goes_back_to)
    return new + repeated


def lineages(view: ReadView, entries: Sequence[MemoryEntry]) -> dict[str, frozenset[SourceRef]]:
    """Return, by entry id, the records each of *entries* goes back to, itself aside.

    An entry is made of the records it names as sources and of the entries whose observations it absorbed; what stands
    in between may have been retired since. The successor of an entry is not: what replaced a fact does not say it.

    Args:
        view: Where the sources are looked up, level by level.
        entries: Where to begin.
    """
    known = {entry.id: entry for entry in entries}
    seen = set(known)
    found = list(entries)
    while (
        ahead := {
            ref.id
            for entry in found
            if entry.sources or entry.absorbed
            for ref in _parents(entry)
            if ref.kind is SourceKind.ENTRY
        }
        - seen
    ):
        seen |= ahead
        found = view.entries.get_many(ahead)
        known.update((entry.id, entry) for entry in found)
    return {entry.id: _traced(entry, known) for entry in entries}


def _parents(entry: MemoryEntry) -> set[SourceRef]:
    return {*entry.sources, *(SourceRef(SourceKind.ENTRY, absorbed) for absorbed, _ in entry.absorbed)}


def _traced(entry: MemoryEntry, known: dict[str, MemoryEntry]) -> frozenset[SourceRef]:
    if not entry.sources and not entry.absorbed:
        return frozenset()
    itself = SourceRef(SourceKind.ENTRY, entry.id)
    found: set[SourceRef] = set()
    ahead = [entry]
    while ahead:
        parents = _parents(ahead.pop()) - found - {itself}
        found |= parents
        ahead += [known[ref.id] for ref in parents if ref.kind is SourceKind.ENTRY and ref.id in known]
    return frozenset(found)
