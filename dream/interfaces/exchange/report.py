"""What an import did."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from agentcore.domain.records import RecordKind
from dream.interfaces.exchange.formats import Format
from dream.interfaces.exchange.items import Note, SkipReason


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did, and why it left out what it did.

    Args:
        path: The file.
        format: What it was.
        added: New records, by kind.
        known: Records that were here already, by kind.
        skipped: What did not become a record, by kind and reason.
        notes: What was repaired or left open in records that were taken.
        sessions: Conversations in the file.
    """

    path: str
    format: Format
    added: Mapping[RecordKind, int]
    known: Mapping[RecordKind, int]
    skipped: Mapping[RecordKind, Mapping[SkipReason, int]]
    notes: Mapping[Note, int]
    sessions: int

    def document(self) -> dict[str, object]:
        """Return the report as plain JSON values."""
        return {
            "path": self.path,
            "format": self.format.value,
            "added": _plain(self.added),
            "known": _plain(self.known),
            "skipped": {kind.value: _plain(reasons) for kind, reasons in self.skipped.items()},
            "notes": _plain(self.notes),
            "sessions": self.sessions,
        }


def _plain(counts: Mapping[RecordKind, int] | Mapping[SkipReason, int] | Mapping[Note, int]) -> dict[str, int]:
    return {name.value: count for name, count in sorted(counts.items())}


@dataclass(slots=True)
class Tally:
    """Counts of one import while it runs."""

    added: Counter[RecordKind] = field(default_factory=Counter[RecordKind])
    known: Counter[RecordKind] = field(default_factory=Counter[RecordKind])
    skipped: Counter[tuple[RecordKind, SkipReason]] = field(default_factory=Counter[tuple[RecordKind, SkipReason]])
    notes: Counter[Note] = field(default_factory=Counter[Note])
    sessions: set[str] = field(default_factory=set[str])

    def update(self, other: "Tally") -> None:
        """Add what *other* counted."""
        self.added.update(other.added)
        self.known.update(other.known)
        self.skipped.update(other.skipped)
        self.notes.update(other.notes)
        self.sessions |= other.sessions

    def report(self, *, path: str, found: Format) -> ImportReport:
        """Return the report of the whole import."""
        skipped: dict[RecordKind, dict[SkipReason, int]] = {}
        for (kind, reason), count in sorted(self.skipped.items()):
            skipped.setdefault(kind, {})[reason] = count
        return ImportReport(
            path=path,
            format=found,
            added=dict(self.added),
            known=dict(self.known),
            skipped=skipped,
            notes=dict(self.notes),
            sessions=len(self.sessions),
        )
