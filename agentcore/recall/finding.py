"""Finding: an entry or a turn in one ranking, and what it repeats."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agentcore.domain.conversation import Turn, spoken_line
from agentcore.domain.memory import MemoryEntry, SourceKind, SourceRef


@dataclass(frozen=True, slots=True)
class Finding:
    """An entry or a turn that answers a query.

    Args:
        record: The entry or the turn.
        score: How well, above 0, at most 1; comparable within one answer only.
        goes_back_to: The records it was made of, however far back; none for a turn.
    """

    record: MemoryEntry | Turn
    score: float
    goes_back_to: frozenset[SourceRef] = frozenset()
    reference: SourceRef = field(init=False)
    """The record itself."""

    def __post_init__(self) -> None:
        """Name the record, once for the many who ask."""
        kind = SourceKind.TURN if isinstance(self.record, Turn) else SourceKind.ENTRY
        object.__setattr__(self, "reference", SourceRef(kind, self.record.id))

    @property
    def text(self) -> str:
        """What an agent is shown: an entry's content, or a turn with its date and speaker."""
        if isinstance(self.record, Turn):
            return spoken_line(self.record.speaker, self.record.content, self.record.occurred_at)
        return self.record.content


class Told:
    """What a reader of findings has been told so far, directly or by something made of it.

    Args:
        known: Records that the reader knew before.

    Example:
        >>> from datetime import UTC, datetime
        >>> from agentcore.domain.scope import Scope
        >>> now = datetime(2025, 5, 1, tzinfo=UTC)
        >>> turn = Turn(id="t", scope=Scope.default(), session_id="s", role="user", content="I moved to Porto.",
        ...             occurred_at=now, recorded_at=now)
        >>> note = MemoryEntry(id="a", scope=Scope.default(), content="Ana lives in Porto", created_at=now,
        ...                    recorded_at=now, last_seen_at=now, sources=(SourceRef(SourceKind.TURN, "t"),))
        >>> told = Told()
        >>> told.add(Finding(note, 0.9, frozenset(note.sources)))
        >>> told.repeats(Finding(turn, 0.8))
        True
    """

    def __init__(self, known: Iterable[SourceRef] = ()) -> None:
        self._known = set(known)

    def add(self, finding: Finding) -> None:
        """Note that the reader gets *finding*, and with it what it goes back to."""
        self._known.add(finding.reference)
        self._known.update(finding.goes_back_to)

    def repeats(self, finding: Finding) -> bool:
        """Tell whether the reader has the finding already, or something made of it, or all that it was made of."""
        if finding.reference in self._known:
            return True
        if not finding.goes_back_to:
            return False
        turns = {ref for ref in finding.goes_back_to if ref.kind is SourceKind.TURN}
        return bool(turns) and turns <= self._known


def without_repeats_first(findings: Sequence[Finding]) -> list[Finding]:
    """Return *findings* with those that repeat better ones behind all others, each part in its order.

    A note and the turn it was taken from need not both be paid for: the worse of them comes when everything else that
    was found has had its place.
    """
    told = Told()
    new: list[Finding] = []
    repeated: list[Finding] = []
    for finding in findings:
        (repeated if told.repeats(finding) else new).append(finding)
        told.add(finding)
    return new + repeated
