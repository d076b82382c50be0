"""Lineage: what entries were made of, however far back."""

from collections.abc import Sequence

from agentcore.domain.memory import MemoryEntry, SourceKind, SourceRef
from agentcore.stores.protocols import ReadView


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
    return {entry.id: _followed(entry, known) for entry in entries}


def _parents(entry: MemoryEntry) -> set[SourceRef]:
    return {*entry.sources, *(SourceRef(SourceKind.ENTRY, absorbed) for absorbed, _ in entry.absorbed)}


def _followed(entry: MemoryEntry, known: dict[str, MemoryEntry]) -> frozenset[SourceRef]:
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
