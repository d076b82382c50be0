"""Which turns an entry goes back to."""

from collections.abc import Iterable

from agentcore.domain.memory import MemoryEntry, SourceKind


class Provenance:
    """Follows entries down to the turns they were drawn from, through whatever they were made of.

    An entry is made of the entries it names as sources and of those whose observations it absorbed. The successor of an
    entry is not: what replaced a fact does not say it any longer.

    Args:
        entries: All entries of a scope, in whatever state.

    Example:
        >>> from datetime import UTC, datetime
        >>> from agentcore.domain.memory import SourceRef
        >>> from agentcore.domain.scope import Scope
        >>> said = datetime(2025, 5, 1, tzinfo=UTC)
        >>> def entry(name, *sources):
        ...     return MemoryEntry(id=name, scope=Scope.default(), content=name, created_at=said, recorded_at=said,
        ...                        last_seen_at=said, sources=tuple(map(SourceRef.parse, sources)))
        >>> provenance = Provenance([entry("a", "turn:1"), entry("b", "turn:2"), entry("ab", "entry:a", "entry:b")])
        >>> sorted(provenance.turns("ab"))
        ['1', '2']
    """

    def __init__(self, entries: Iterable[MemoryEntry]) -> None:
        self._entries = {entry.id: entry for entry in entries}
        self._known: dict[str, frozenset[str]] = {}

    def turns(self, entry_id: str) -> frozenset[str]:
        """Return the ids of the turns that an entry goes back to; none for an entry that is not there."""
        if entry_id not in self._known:
            self._known[entry_id] = self._follow(entry_id)
        return self._known[entry_id]

    def _follow(self, entry_id: str) -> frozenset[str]:
        found: set[str] = set()
        seen = {entry_id}
        ahead = [entry_id]
        while ahead:
            entry = self._entries.get(ahead.pop())
            if entry is None:
                continue
            found.update(source.id for source in entry.sources if source.kind is SourceKind.TURN)
            parents = {source.id for source in entry.sources if source.kind is SourceKind.ENTRY}
            parents.update(absorbed for absorbed, _ in entry.absorbed)
            ahead += parents - seen
            seen |= parents
        return frozenset(found)
