"""Defines changes: one record before and after, and the sets that stand or fall together."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar, cast

import orjson

from agentcore.domain.records import Record, RecordKind, from_image, kind_of, to_image, version_of
from agentcore.domain.scope import Scope
from dream.domain.promotion import Promotion

R_co = TypeVar("R_co", bound=Record, covariant=True)

_SIDES = ("before", "after")
FOLD: Final = "fold"
"""The operation that puts copies of one text together: it loses nothing, so the share cap does not count it."""
_JUDGED = ("content", "category", "name", "summary")
"""What people and models judge of a record, as far as its kind has it: texts, all of them required."""


# Without slots: Python 3.11 cannot make a frozen, slotted, generic record through `Change[MemoryEntry](...)`.
@dataclass(frozen=True, kw_only=True)
class Change(Generic[R_co]):
    """One record before and after; None is absence.

    Args:
        before: As the pass read it, its version included.
        after: As it shall be.
        reason: Why, in words for people.
    """

    before: R_co | None
    after: R_co | None
    reason: str

    def inverted(self) -> "Change[R_co]":
        """Return the change that takes this one back."""
        return Change(before=self.after, after=self.before, reason=f"undo: {self.reason}")

    @property
    def record(self) -> R_co:
        """The record concerned, in whichever state there is."""
        record = self.after if self.after is not None else self.before
        if record is None:
            raise ValueError("A change needs a record before or after: give one of them.")
        return record

    @property
    def kind(self) -> RecordKind:
        """What the record is."""
        return kind_of(self.record)

    @property
    def record_id(self) -> str:
        """The record's id."""
        return self.record.id


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSet:
    """One operation: changes that are accepted, refused and undone together.

    Args:
        operation: What it does, such as `fold`.
        changes: The records it touches.
        fingerprints: Per record id, what a person declines when the operation is undone (see `fingerprint`).
        promotions: Entries that count as promoted once it is made.
    """

    operation: str
    changes: tuple[Change[Record], ...]
    fingerprints: Mapping[str, str] = field(default_factory=dict[str, str])
    promotions: tuple[Promotion, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: images of the records, and the versions they had."""
        changed = {change.record_id for change in self.changes}
        return {
            "operation": self.operation,
            "marks": {record: mark for record, mark in self.fingerprints.items() if record not in changed},
            "promotions": [one.to_json() for one in self.promotions],
            "changes": [
                {
                    "kind": change.kind.value,
                    "before": None if change.before is None else to_image(change.before),
                    "version": version_of(change.before),
                    "after": None if change.after is None else to_image(change.after),
                    "reason": change.reason,
                    "fingerprint": self.fingerprints.get(change.record_id),
                }
                for change in self.changes
            ],
        }

    @classmethod
    def from_json(cls, scope: Scope, values: Mapping[str, Any]) -> "ChangeSet":
        """Read what `to_json` wrote."""
        changes: list[Change[Record]] = []
        marks: dict[str, str] = dict(values.get("marks", {}))
        for item in values["changes"]:
            kind = RecordKind(item["kind"])
            before, after = (None if item[name] is None else from_image(kind, scope, item[name]) for name in _SIDES)
            if before is not None and version_of(before) is not None:
                before = replace(cast("Any", before), version=item["version"])
            change = Change[Record](before=before, after=after, reason=item["reason"])
            changes.append(change)
            if item["fingerprint"] is not None:
                marks[change.record_id] = item["fingerprint"]
        promotions = tuple(map(Promotion.from_json, values.get("promotions", ())))
        return cls(operation=values["operation"], changes=tuple(changes), fingerprints=marks, promotions=promotions)


def fingerprint(operation: str, *sources: Record) -> str:
    """Return what identifies an operation on these sources as they are: operation, ids and judged content.

    Statistics (counts, last seen, importance) do not enter, so that a reinforcement does not reopen a decision; nor
    does the subject time, which a fold widens.

    Example:
        >>> len(fingerprint("fold"))
        32
    """
    judged = sorted(orjson.dumps([source.id, _judged(source)], option=orjson.OPT_SORT_KEYS) for source in sources)
    return hashlib.blake2b(b"\x1f".join([operation.encode(), *judged]), digest_size=16).hexdigest()


def _judged(source: Record) -> dict[str, str]:
    return {name: getattr(source, name) for name in _JUDGED if hasattr(source, name)}
