"""Defines what recall answers: hits, rankings, explanations, and entries and turns in one ranking."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Final, NamedTuple

from agentcore.domain.conversation import Turn, spoken_line
from agentcore.domain.hypothesis import Hypothesis
from agentcore.domain.memory import MemoryEntry, SourceKind, SourceRef
from agentcore.stores.storage import ReadView

if TYPE_CHECKING:
    from agentcore.recall.tokenizer import Tokenizer


class Passage(NamedTuple):
    """Where a part of a text begins and ends, in characters."""

    start: int
    end: int


def within(text: str, span: Passage | None) -> str:
    """Return the part of a text that a span is of; without one all of it."""
    return text if span is None else text[span.start : span.end]


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer of recall.

    Args:
        entry: The entry, its importance as of now.
        score: BM25 weighted by importance, above 0; comparable within one answer only.
        span: Where the passage that matched best begins and ends in its content; None for all of it.
    """

    entry: MemoryEntry
    score: float
    span: Passage | None = None

    @property
    def passage(self) -> str:
        """The passage that matched best; of a short entry all of it."""
        return within(self.entry.content, self.span)


@dataclass(frozen=True, slots=True)
class RelatedHypothesis:
    """A hypothesis beside an answer; it is unproven.

    Args:
        hypothesis: It, proposed or reinforced.
        score: How much it has to do with query and results, 0 to 1.
    """

    hypothesis: Hypothesis
    score: float


@dataclass(frozen=True, slots=True)
class SharedTerms:
    """A document that shares rare terms with the one asked about.

    Args:
        key: The document's key.
        terms: What both hold, each with the number of documents that hold it, the rarest first.
        likeness: Weight of all that both hold over the weight of what either holds, as in `neighbours.similar`.
    """

    key: int
    terms: tuple[tuple[str, int], ...]
    likeness: float


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
        spans: Where the passage of each that matched best begins and ends; None where that is all of it.
    """

    keys: list[int]
    scores: list[float]
    spans: Sequence[Passage | None] = ()


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
        terms: The query's terms that the entry's best passage has, the rarest first.
        importance: What its importance makes of the score, above 0, at most 1.
        recency: What its recency makes of it, above 0, at most 1.
        phrase: What neighbouring words make of it, 1 or more.
        dense: What vectors make of the relevance; None where words alone answer.
        length: What the length of an entry of several passages makes of it, above 0, at most 1.
    """

    terms: tuple[TermScore, ...]
    importance: float = 1.0
    recency: float = 1.0
    phrase: float = 1.0
    dense: DenseScore | None = None
    length: float = 1.0

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
        return prod((self.relevance, self.importance, self.recency, self.phrase, self.length))


@dataclass(frozen=True, slots=True)
class CombinedHit:
    """An entry or a turn that answers a query.

    Args:
        record: The entry or the turn.
        score: How well, above 0, at most 1; comparable within one answer only.
        goes_back_to: The records it was made of, however far back; none for a turn.
        place: How many of its own kind are better by their own words.
        span: Where the passage that matched best begins and ends in its content; None for all of it.
    """

    record: MemoryEntry | Turn
    score: float
    goes_back_to: frozenset[SourceRef] = frozenset()
    place: int = 0
    span: Passage | None = None
    reference: SourceRef = field(init=False)
    """The record itself."""

    def __post_init__(self) -> None:
        """Name the record, once for the many who ask."""
        kind = SourceKind.TURN if isinstance(self.record, Turn) else SourceKind.ENTRY
        object.__setattr__(self, "reference", SourceRef(kind, self.record.id))

    @property
    def text(self) -> str:
        """What an agent is shown: the passage that matched, whole if it is short; of a turn with date and speaker."""
        shown, content = within(self.record.content, self.span), self.record.content
        if not self.is_whole and self.span is not None:
            shown = f"{'… ' if self.span.start else ''}{shown}{' …' if self.span.end < len(content) else ''}"
        if isinstance(self.record, Turn):
            return spoken_line(self.record.speaker, shown, self.record.occurred_at)
        return shown

    @property
    def is_whole(self) -> bool:
        """Whether all of the record is shown."""
        return self.span is None or self.span == (0, len(self.record.content))


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


_SAME: Final = 0.6
"""Of the fewer words of two entries of one turn, so many in common make one a retelling of the other."""
_WORDS: Final = 6
"""Entries of fewer words are told apart by one of them, and cost little."""


def retellings_last(findings: Sequence[CombinedHit], tokenizer: "Tokenizer") -> list[CombinedHit]:
    """Return *findings* with entries behind all others that tell, of the same source, mostly what a better one tells.

    A dream may write a fact and an episode of one turn; what a small budget has room for is better spent on another.
    """
    told: dict[SourceRef, list[frozenset[str]]] = {}
    retold: list[CombinedHit] = []
    new: list[CombinedHit] = []
    for finding in findings:
        is_entry = isinstance(finding.record, MemoryEntry)
        words = frozenset(tokenizer.tokens(finding.record.content)) if is_entry else frozenset[str]()
        others = [one for source in finding.goes_back_to for one in told.get(source, ())]
        if is_entry and any(_retells(words, one) for one in others):
            retold.append(finding)
            continue
        new.append(finding)
        for source in finding.goes_back_to if is_entry else ():
            told.setdefault(source, []).append(words)
    return new + retold


def _retells(words: frozenset[str], others: frozenset[str]) -> bool:
    fewer = min(len(words), len(others))
    return fewer >= _WORDS and len(words & others) >= _SAME * fewer


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
