"""Shows entries as evidence: as the writer of a merge saw them, and what earlier merges among them rest on."""

from collections.abc import Iterator, Sequence

from agentcore.domain.memory import Level, MemoryEntry
from dream.domain.verification import EvidenceLine


def line_of(entry: MemoryEntry) -> EvidenceLine:
    """Return an entry as evidence, with the days that its writer saw: when it was said last, and what it is about."""
    about = None if entry.subject_time is None else str(entry.subject_time)
    return EvidenceLine(text=entry.content, said_at=entry.last_seen_at, about=about)


def lines_of(sources: Sequence[MemoryEntry]) -> Iterator[EvidenceLine]:
    """Yield what a text made of entries is judged by."""
    yield from map(line_of, sources)
    yield from roots_of(sources)


def roots_of(sources: Sequence[MemoryEntry]) -> Iterator[EvidenceLine]:
    """Yield the sentences that merges among the sources rest on: an earlier merge is no evidence by itself."""
    for source in sources:
        if source.level is Level.DERIVED:
            for one in source.evidence:
                role = "entry" if one.speaker is None else "user"
                yield EvidenceLine(
                    text=one.sentence,
                    speaker=one.speaker,
                    role=role,
                    said_at=one.said_at,
                    is_beside=True,
                    source=one.source,
                )
