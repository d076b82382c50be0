"""A row of the journal: one record's change in one run."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from agentcore.domain.records import Record, RecordKind, from_image
from agentcore.domain.scope import Scope


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
        """The record as it was."""
        return self._record(self.before)

    @property
    def record_after(self) -> Record | None:
        """The record as it became."""
        return self._record(self.after)

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
        return None if image is None else from_image(self.kind, self.scope, orjson.loads(image))
