"""Defines changes: one record before and after, the sets that stand or fall together, and their rows in the journal."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

import orjson

from agentcore.domain.records import (
    RECORD_TYPES,
    Record,
    RecordKind,
    from_image,
    kind_of,
    to_image,
    type_of,
    version_of,
    with_image,
)
from dream.domain.promotion import Promotion

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from agentcore.domain.card import CardLine
    from agentcore.domain.memory import MemoryEntry
    from agentcore.domain.scope import Scope

R_co = TypeVar("R_co", bound=Record, covariant=True)

_SIDES = ("before", "after")
FOLD: Final = "fold"
"""The operation that puts copies of one text together: it loses nothing, so the share cap does not count it."""
UPHOLD: Final = "uphold"
"""The operation of what the host changes of a conclusion since its premises changed."""
ASK: Final = "ask"
"""The operation that opens a question: it changes nothing that is remembered, so no cap counts it."""
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

    def inverted(self) -> Change[R_co]:
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
    def from_json(cls, scope: Scope, values: Mapping[str, Any]) -> ChangeSet:
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


def upheld(changed: tuple[MemoryEntry, MemoryEntry] | tuple[CardLine, CardLine]) -> ChangeSet:
    """Return what the host changed of a conclusion or of a line of the card, before and after, for the journal."""
    before, after = changed
    reason = after.status_reason or ("its premises are back" if before.lost_premises else "its evidence changed")
    return ChangeSet(operation=UPHOLD, changes=(Change[Record](before=before, after=after, reason=reason),))


Problem = tuple[str, str]
"""Path of a directive's file, and what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenDirectives:
    """The directives of a run as they were when it began: a run that resumes says the same again.

    Args:
        texts: What each says, by its name.
        hashes: The name of each text in reports.
        problems: Those that cannot be used.
    """

    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    hashes: Mapping[str, str] = field(default_factory=dict[str, str])
    problems: Mapping[str, Problem] = field(default_factory=dict[str, Problem])

    def to_json(self) -> dict[str, Any]:
        """Return what the run's row keeps."""
        return {
            "texts": dict(self.texts),
            "hashes": dict(self.hashes),
            "problems": {name: list(problem) for name, problem in self.problems.items()},
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> FrozenDirectives:
        """Read what `to_json` wrote."""
        problems: dict[str, Problem] = {name: (path, what) for name, (path, what) in values.get("problems", {}).items()}
        return cls(texts=values.get("texts", {}), hashes=values.get("hashes", {}), problems=problems)


def image_text(record: Record | None) -> str | None:
    """Return what the journal keeps of a record, as JSON: of a turn not its words, which never change.

    Example:
        >>> image_text(None)
    """
    if record is None:
        return None
    image, kept = to_image(record), type_of(record).journalled
    if kept is not None:
        image = {name: value for name, value in image.items() if name == "id" or name in kept}
    return orjson.dumps(image, option=orjson.OPT_SORT_KEYS).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRow:
    """One record's change in one run, as it was written.

    Args:
        scope: Whose memory.
        run_id: The run.
        step: The step of the run.
        pass_name: The pass that proposed it.
        number: The change set it belongs to, numbered within the run; what `undo --change` takes.
        operation: What the set does, such as `fold`.
        kind: What the record is.
        record_id: The record.
        before: Its image before, as JSON text; None if it did not exist (or the image was scrubbed or purged).
        after: Its image after.
        reason: Why.
        fingerprint: What a person declines by undoing it.
        recorded_at: When it was written.
        scrubbed: Whether a `forget` removed the images.
        actor: Who wrote it: a pass, or who asked for the run; None where that was not kept yet.
    """

    scope: Scope
    run_id: str
    step: int
    pass_name: str
    number: int
    operation: str
    kind: RecordKind
    record_id: str
    before: str | None
    after: str | None
    reason: str
    fingerprint: str | None
    recorded_at: datetime
    scrubbed: bool
    actor: str | None = None

    def __str__(self) -> str:
        """Return it in one line for people, without what the record says."""
        does = "makes" if self.before is None else "removes" if self.after is None else "changes"
        what = f"{does} {self.kind.value} {self.record_id}: {self.reason}"
        return f"#{self.number} {self.operation} ({self.pass_name}) {what}"

    @property
    def record_before(self) -> Record | None:
        """The record as it was; None for a turn, of which the words are not kept."""
        return self._record(self.before)

    @property
    def record_after(self) -> Record | None:
        """The record as it became; None for a turn."""
        return self._record(self.after)

    def was(self, present: Record | None) -> Record | None:
        """Return the record as it was; what the journal does not keep of it is that of *present*, the stored record."""
        return self._upon(present, self.before)

    def became(self, present: Record | None) -> Record | None:
        """Return the record as it became, in the same way."""
        return self._upon(present, self.after)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "number": self.number,
            "pass": self.pass_name,
            "operation": self.operation,
            "kind": self.kind.value,
            "id": self.record_id,
            "reason": self.reason,
            "before": None if self.before is None else orjson.loads(self.before),
            "after": None if self.after is None else orjson.loads(self.after),
        }

    def _record(self, image: str | None) -> Record | None:
        if image is None or RECORD_TYPES[self.kind].journalled is not None:
            return None
        return from_image(self.kind, self.scope, orjson.loads(image))

    def _upon(self, present: Record | None, image: str | None) -> Record | None:
        kept = RECORD_TYPES[self.kind].journalled
        if kept is None or present is None:
            return self._record(image)
        return with_image(present, kept, {} if image is None else orjson.loads(image))
