"""Defines what a model pass asks about: batches, frozen when they are packed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dream.domain.change import ChangeSet
from dream.domain.phases import PhaseHit
from dream.domain.proposal import Notes, Refusal

Version = tuple[str, int]
"""A record's id and the version it was packed with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The records one call is about; which they are and in which version is frozen for the run.

    Handles count along `members` and then `beside`, so that an answer means the same records whenever it is read.

    Args:
        number: Its name within the pass and run: `3`, its halves `3.1` and `3.2`.
        kind: What the pass wants of it, such as `cluster` or `feedback`.
        members: The records it settles; each record is a member of at most one batch.
        beside: Records shown with them, which it does not settle.
        reader: Name of a cursor of its own, for records that the pass's cursor does not count; "" for the pass's.
        cursor: Where that cursor stands once the batch is settled.
    """

    number: str
    kind: str
    members: tuple[Version, ...]
    beside: tuple[Version, ...] = ()
    reader: str = ""
    cursor: int | None = None

    @property
    def member_ids(self) -> tuple[str, ...]:
        """Ids of the members."""
        return tuple(record_id for record_id, _ in self.members)

    @property
    def record_ids(self) -> tuple[str, ...]:
        """Ids of all that is shown, in the order of the handles."""
        return tuple(record_id for record_id, _ in (*self.members, *self.beside))

    def halves(self) -> "tuple[Batch, Batch] | None":
        """Return the batch in two, for an answer or a prompt that was too long; None if it has one member.

        Example:
            >>> [half.number for half in Batch(number="3", kind="", members=(("a", 1), ("b", 1))).halves() or ()]
            ['3.1', '3.2']
        """
        if len(self.members) < 2:
            return None
        middle = len(self.members) // 2
        parts = (self.members[:middle], self.members[middle:])
        first, second = (
            replace(self, number=f"{self.number}.{place}", members=part) for place, part in enumerate(parts, 1)
        )
        return first, second

    def to_json(self) -> list[Any]:
        """Return what a step row keeps."""
        members, beside = ([list(one) for one in side] for side in (self.members, self.beside))
        return [self.number, self.kind, members, beside, self.reader, self.cursor]

    @classmethod
    def from_json(cls, values: Sequence[Any]) -> "Batch":
        """Read what `to_json` wrote."""
        number, kind, members, beside, reader, cursor = values
        return cls(
            number=number,
            kind=kind,
            members=tuple((record_id, version) for record_id, version in members),
            beside=tuple((record_id, version) for record_id, version in beside),
            reader=reader,
            cursor=cursor,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """What a model pass will ask about in a run.

    Args:
        batches: In the order in which they are committed.
        change_sets: What needs no model; it touches no record of a batch.
        cursor: Position up to which the pass has then looked; None if it reads nothing by position.
        looked_at: Ids that need no call: they leave the pass's reopened set.
        refused: What was left out, and why.
        backlog: Items left for later runs, those of `batches` aside.
        notes: Findings for the report.
        phases: Entries that a phase met; kept unless one of *change_sets* is refused.
    """

    batches: tuple[Batch, ...] = ()
    change_sets: tuple[ChangeSet, ...] = ()
    cursor: int | None = None
    looked_at: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    backlog: int = 0
    notes: Notes = field(default_factory=dict[str, Any])
    phases: tuple[PhaseHit, ...] = ()


Answer = Mapping[str, Any]
"""A model's answer as a JSON object: whole, parsed, and not yet believed."""
