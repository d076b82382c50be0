"""What a run changed, counted, and whether every change rests on something."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from agentcore.domain.memory import MemoryEntry, SourceKind, Status
from agentcore.domain.records import RecordKind
from agentcore.stores.storage import ReadView
from dream.domain.journal import JournalRow


def kinds_of_change(rows: Iterable[JournalRow]) -> Counter[str]:
    """Count the changes of a run by what happened to the record, such as `entry_archived`."""
    return Counter(f"{row.kind.value}_{_kind(row)}" for row in rows)


def _kind(row: JournalRow) -> str:
    before, after = row.record_before, row.record_after
    if before is None or after is None:
        return "added" if before is None else "removed"
    if isinstance(before, MemoryEntry) and isinstance(after, MemoryEntry):
        if before.status is not after.status:
            return "restored" if after.is_active else after.status.value
        return "updated" if before.content == after.content else "rewritten"
    return "updated"


def unsupported_changes(view: ReadView, rows: Sequence[JournalRow]) -> Counter[str]:
    """Count, by what is wrong, the changes of a run that rest on nothing; looked up in the stores, not in the report.

    Unsupported are: an entry added without a source (`no_source`), with one that is not there (`unknown_source`), or
    trusted more than one of them (`trust_raised`); an entry superseded by none (`no_successor`) or by one that is not
    there (`unknown_successor`); and a record that is gone (`removed`).
    """
    return Counter(fault for row in rows for fault in _faults(view, row))


def _faults(view: ReadView, row: JournalRow) -> Iterator[str]:
    if row.after is None:
        yield "removed"
    entry = row.record_after
    if row.kind is not RecordKind.ENTRY or not isinstance(entry, MemoryEntry):
        return
    if row.before is None:
        yield from _faults_of_origin(view, entry)
    if entry.status is Status.SUPERSEDED and entry.successor is None:
        yield "no_successor"
    if entry.successor is not None and view.entries.get(entry.successor) is None:
        yield "unknown_successor"


def _faults_of_origin(view: ReadView, entry: MemoryEntry) -> Iterator[str]:
    if not entry.sources:
        yield "no_source"
    named = {source.id for source in entry.sources if source.kind is SourceKind.ENTRY}
    parents = view.entries.get_many(named)
    turns = {source.id for source in entry.sources if source.kind is SourceKind.TURN}
    if len(parents) < len(named) or len(view.turns.get_many(turns)) < len(turns):
        yield "unknown_source"
    if any(parent.trust < entry.trust for parent in parents):
        yield "trust_raised"
