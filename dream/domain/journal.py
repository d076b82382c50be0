"""A row of the journal: one record's change in one run."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from agentcore.domain.records import RECORD_TYPES, Record, RecordKind, from_image, to_image, type_of, with_image
from agentcore.domain.scope import Scope


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
