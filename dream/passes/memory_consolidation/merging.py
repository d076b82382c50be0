"""What becomes of entries whose text is taken: dates, counts, trust and importance are computed, never believed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentcore.domain.memory import Level, MemoryEntry, Status
from agentcore.domain.records import Record
from agentcore.domain.temporal import absorb, merged_fields
from agentcore.domain.text import clean_tags
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.guards.merge_coverage import coverage
from dream.passes.memory_consolidation.desk import Desk

MERGE = "merge"
REWRITE = "rewrite"
_MOST_NEW_TAGS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A text that may be taken, and what it is made of.

    Args:
        content: The text, clean.
        category: Where it goes, clean.
        tags: As the model gave them.
        importance: As the model gave it, if it did.
        sources: Entries that it is made of.
        gives_way: Entries that it takes the place of.
    """

    content: str
    category: str
    tags: tuple[str, ...]
    importance: float | None
    sources: tuple[MemoryEntry, ...]
    gives_way: tuple[MemoryEntry, ...]

    @property
    def used(self) -> tuple[MemoryEntry, ...]:
        """All entries that it touches."""
        return (*self.sources, *self.gives_way)


def merge_new(draft: Draft, desk: Desk) -> ChangeSet:
    """Write the text as a new entry and retire what it was made of.

    What gives way may show through in the text, so it counts among the sources, and for trust and safety marks; what
    was observed of it counts for nothing.
    """
    fields, touched = merged_fields(draft.sources), merged_fields(draft.used)
    merged = MemoryEntry(
        id=desk.new_id(),
        scope=draft.sources[0].scope,
        content=draft.content,
        category=draft.category,
        tags=_tags(draft, fields.tags, desk),
        base=_base(draft, desk),
        created_at=fields.created_at,
        recorded_at=desk.as_of,
        last_seen_at=fields.last_seen_at,
        own_count=0,
        absorbed=fields.absorbed,
        subject_time=fields.subject_time,
        metadata=touched.metadata,
        level=Level.DERIVED,
        sources=touched.sources,
        trust=touched.trust,
        pinned=fields.pinned,
    )
    made = Change[MemoryEntry](before=None, after=merged, reason=f"merged from {_names(draft.sources)}")
    return _set(MERGE, made, draft, draft.used, desk)


def merge_into(survivor: MemoryEntry, draft: Draft, desk: Desk) -> ChangeSet | None:
    """Let an entry that says just this take over the others, as a fold does; None if that changes nothing."""
    others = tuple(source for source in draft.sources if source.id != survivor.id)
    after = absorb(survivor, others)
    if survivor in draft.sources and draft.category != survivor.category:
        after = replace(after, category=draft.category, updated_at=desk.as_of)
    rest = replace(draft, sources=others)
    if after == survivor:
        return _set(MERGE, None, rest, (survivor, *rest.used), desk) if rest.used else None
    reason = f"took over {_names(others)}" if others else "filed better"
    kept = Change[MemoryEntry](before=survivor, after=after, reason=reason)
    return _set(MERGE if rest.used else REWRITE, kept, rest, (survivor, *rest.used), desk)


def rewrite(draft: Draft, desk: Desk) -> ChangeSet | None:
    """Write the text over the one entry it was made of; None if that changes nothing."""
    (entry,) = draft.sources
    after = replace(
        entry,
        content=draft.content,
        category=draft.category,
        tags=_tags(draft, entry.tags, desk),
        updated_at=entry.updated_at,
    )
    if after == entry:
        return None
    kept = Change[MemoryEntry](
        before=entry, after=replace(after, updated_at=desk.as_of), reason="put in better words or filed better"
    )
    return _set(REWRITE, kept, replace(draft, sources=()), (entry,), desk)


def retired(entry: MemoryEntry, status: Status, reason: str, successor: str | None, desk: Desk) -> Change[MemoryEntry]:
    """Return the change that sets an entry aside."""
    after = replace(entry, status=status, status_reason=reason, successor=successor, status_at=desk.as_of)
    return Change[MemoryEntry](before=entry, after=after, reason=reason)


def _set(
    operation: str, kept: Change[MemoryEntry] | None, rest: Draft, marked: Sequence[MemoryEntry], desk: Desk
) -> ChangeSet:
    """Return the changes that stand or fall together: the text that stays, what was merged, and what gave way."""
    heir = marked[0].id if kept is None else kept.record_id
    merged = [retired(one, Status.ARCHIVED, f"merged into {heir}", heir, desk) for one in rest.sources]
    gone = [retired(one, Status.SUPERSEDED, f"superseded by {heir}", heir, desk) for one in rest.gives_way]
    first = () if kept is None else (kept,)
    changes: tuple[Change[Record], ...] = (*first, *merged, *gone)
    return ChangeSet(
        operation=operation,
        changes=changes,
        fingerprints={entry.id: fingerprint(operation, entry) for entry in marked},
    )


def _base(draft: Draft, desk: Desk) -> float:
    """Return the model's importance within its sources'; what a protection keeps stays above it."""
    bases = [source.base for source in draft.sources]
    least, most = min(bases), max(bases)
    protection = desk.options.consolidation.protect_importance
    if most >= protection:
        least = max(least, protection)
    return most if draft.importance is None else min(most, max(least, draft.importance))


def _tags(draft: Draft, known: Sequence[str], desk: Desk) -> tuple[str, ...]:
    """Return the tags of the sources and such of the model's as name nothing that the text does not."""
    new = [tag for tag in clean_tags(draft.tags) if tag not in known][:_MOST_NEW_TAGS]
    borne_out = [tag for tag in new if not coverage((draft.content,), tag, desk.vocabulary).invented]
    return clean_tags((*known, *borne_out))


def _names(entries: Sequence[MemoryEntry]) -> str:
    return ", ".join(entry.id for entry in entries)
