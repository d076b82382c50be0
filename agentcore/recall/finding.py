"""Finding: an entry or a turn in one ranking, and what it repeats."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentcore.domain.conversation import Turn, spoken_line
from agentcore.domain.memory import MemoryEntry, SourceKind, SourceRef
from agentcore.recall.passage import Passage


@dataclass(frozen=True, slots=True)
class Finding:
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


class Told:
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
        >>> told = Told()
        >>> told.add(SourceRef(SourceKind.ENTRY, "a"), frozenset(note.sources))
        >>> told.repeats(Finding(turn, 0.8))
        True
    """

    def __init__(self) -> None:
        self._shown = set[SourceRef]()
        self._cited = set[SourceRef]()

    def copy(self) -> "Told":
        """Return another one that has been shown the same."""
        other = Told()
        other._shown, other._cited = set(self._shown), set(self._cited)
        return other

    def add(self, reference: SourceRef, goes_back_to: frozenset[SourceRef] = frozenset()) -> None:
        """Note that the reader is shown a record, which was made of others."""
        self._shown.add(reference)
        self._cited |= goes_back_to

    def repeats(self, finding: Finding) -> bool:
        """Tell whether the reader has the finding already, an entry that cites the turn, or every turn of the entry."""
        if finding.reference in self._shown:
            return True
        if isinstance(finding.record, Turn):
            return finding.reference in self._cited
        turns = {ref for ref in finding.goes_back_to if ref.kind is SourceKind.TURN}
        return bool(turns) and turns <= self._shown


def without_repeats_first(findings: Sequence[Finding]) -> list[Finding]:
    """Return *findings* with those that repeat better ones behind all others, each part in its order.

    A note and the turn it was taken from need not both be paid for: the worse of them comes when everything else that
    was found has had its place.
    """
    told = Told()
    new: list[Finding] = []
    repeated: list[Finding] = []
    for finding in findings:
        if told.repeats(finding):
            repeated.append(finding)
        else:
            new.append(finding)
            told.add(finding.reference, finding.goes_back_to)
    return new + repeated
