"""What change sets touch, as it is stored when their transaction begins."""

from collections.abc import Mapping, Sequence

from agentcore.domain.conversation import Turn
from agentcore.domain.document import StoredDocument
from agentcore.domain.memory import MemoryEntry, SourceKind
from agentcore.domain.records import Record, RecordKind
from agentcore.domain.skill import Skill
from agentcore.stores.storage import UnitOfWork
from dream.domain.change import ChangeSet

Key = tuple[RecordKind, str]


def sources_of(change_sets: Sequence[ChangeSet]) -> list[MemoryEntry | Skill | Turn | StoredDocument]:
    """Return the records that they change, as their pass read them."""
    return [
        change.before
        for change_set in change_sets
        for change in change_set.changes
        if isinstance(change.before, (MemoryEntry, Skill, Turn, StoredDocument))
    ]


def cited_turns(change_sets: Sequence[ChangeSet]) -> set[str]:
    """Return the ids of turns that entries cite after the change and did not before."""
    cited: set[str] = set()
    for change in (change for change_set in change_sets for change in change_set.changes):
        if isinstance(change.after, MemoryEntry):
            known = change.before.sources if isinstance(change.before, MemoryEntry) else ()
            new = set(change.after.sources) - set(known)
            cited.update(source.id for source in new if source.kind is SourceKind.TURN)
    return cited


def stored_records(unit: UnitOfWork, change_sets: Sequence[ChangeSet]) -> dict[Key, Record | None]:
    """Return the records that *change_sets* would change, as they are stored; None where an id is free."""
    present: dict[Key, Record | None] = {
        (change.kind, change.record_id): None for change_set in change_sets for change in change_set.changes
    }
    ids = [record_id for kind, record_id in present if kind is RecordKind.ENTRY]
    present.update({(RecordKind.ENTRY, entry.id): entry for entry in unit.entries.get_many(ids)})
    for kind, record_id in [key for key in present if key[0] is RecordKind.SKILL]:
        present[kind, record_id] = unit.skills.get(record_id)
    turns = unit.turns.get_many([record_id for kind, record_id in present if kind is RecordKind.TURN])
    present.update({(RecordKind.TURN, turn.id): turn for turn in turns})
    for kind, record_id in [key for key in present if key[0] is RecordKind.DOCUMENT]:
        present[kind, record_id] = unit.documents.get(record_id)
    return present


def moved_since(change_set: ChangeSet, present: Mapping[Key, Record | None]) -> list[str]:
    """Return the ids of records that are not what the pass took them for."""
    return [
        change.record_id
        for change in change_set.changes
        if (change.kind, change.record_id) not in present
        or not is_as_read(present[change.kind, change.record_id], change.before)
    ]


def is_as_read(stored: Record | None, before: Record | None) -> bool:
    """Tell whether a stored record is the one that a pass read."""
    # The journal's image is what an undo brings back, so the pass's word for it is not enough.
    kept = (MemoryEntry, Skill, Turn, StoredDocument)
    if isinstance(stored, kept) and isinstance(before, kept):
        return stored.version == before.version and stored == before
    return stored is None and before is None
