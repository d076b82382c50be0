"""Tells what an import added, knew already, and left out."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from agentcore.domain.records import RecordKind
from dream.interfaces.exchange.formats import Format
from dream.interfaces.exchange.items import Note, SkipReason, UnknownField


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
        unknown_fields: In how many lines a field stands that the format does not know; it was left out.
    """

    path: str
    format: Format
    added: Mapping[RecordKind, int]
    known: Mapping[RecordKind, int]
    skipped: Mapping[RecordKind, Mapping[SkipReason, int]]
    notes: Mapping[Note, int]
    sessions: int
    unknown_fields: Mapping[UnknownField, int]

    def document(self) -> dict[str, object]:
        """Return the report as plain JSON values."""
        return {
            "path": self.path,
            "format": self.format.value,
            "added": _numbers(self.added),
            "known": _numbers(self.known),
            "skipped": {kind.value: _numbers(reasons) for kind, reasons in self.skipped.items()},
            "notes": _numbers(self.notes),
            "sessions": self.sessions,
            "unknown_fields": {one.name: count for one, count in self.unknown_fields.items()},
        }


def _numbers(counts: Mapping[RecordKind, int] | Mapping[SkipReason, int] | Mapping[Note, int]) -> dict[str, int]:
    return {name.value: count for name, count in sorted(counts.items())}


@dataclass(slots=True)
class Tally:
    """Counts of one import while it runs."""

    added: Counter[RecordKind] = field(default_factory=Counter[RecordKind])
    known: Counter[RecordKind] = field(default_factory=Counter[RecordKind])
    skipped: Counter[tuple[RecordKind, SkipReason]] = field(default_factory=Counter[tuple[RecordKind, SkipReason]])
    notes: Counter[Note] = field(default_factory=Counter[Note])
    sessions: set[str] = field(default_factory=set[str])
    unknown_fields: Counter[UnknownField] = field(default_factory=Counter[UnknownField])

    def update(self, other: "Tally") -> None:
        """Add what *other* counted."""
        self.added.update(other.added)
        self.known.update(other.known)
        self.skipped.update(other.skipped)
        self.notes.update(other.notes)
        self.sessions |= other.sessions
        self.unknown_fields.update(other.unknown_fields)

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
            unknown_fields=dict(self.unknown_fields.most_common()),
        )
