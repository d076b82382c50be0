"""A row of the journal: one record's change in one run."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from agentcore.domain.conversation import Turn
from agentcore.domain.instants import from_text, to_text
from agentcore.domain.records import Record, RecordKind, from_image, to_image
from agentcore.domain.scope import Scope


def image_text(record: Record | None) -> str | None:
    """Return what the journal keeps of a record, as JSON; of a turn its id and consumption, for its words never change.

    Example:
        >>> image_text(None)
    """
    if record is None:
        return None
    if isinstance(record, Turn):
        consumed = {} if record.consumed_at is None else {"consumed_at": to_text(record.consumed_at)}
        image = {"id": record.id, **consumed}
    else:
        image = to_image(record)
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

    @property
    def record_before(self) -> Record | None:
        """The record as it was; None for a turn, of which the words are not kept."""
        return self._record(self.before)

    @property
    def record_after(self) -> Record | None:
        """The record as it became; None for a turn."""
        return self._record(self.after)

    def was(self, present: Record | None) -> Record | None:
        """Return the record as it was; of a turn the words are those of *present*, the record as it is stored."""
        return _consumed_as(self.before, present) if isinstance(present, Turn) else self.record_before

    def became(self, present: Record | None) -> Record | None:
        """Return the record as it became, in the same way."""
        return _consumed_as(self.after, present) if isinstance(present, Turn) else self.record_after

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
        if image is None or self.kind is RecordKind.TURN:
            return None
        return from_image(self.kind, self.scope, orjson.loads(image))


def _consumed_as(image: str | None, turn: Turn) -> Turn:
    consumed = None if image is None else orjson.loads(image).get("consumed_at")
    return replace(turn, consumed_at=None if consumed is None else from_text(consumed))
