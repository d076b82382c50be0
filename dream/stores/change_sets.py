"""Change sets as JSON, for those that wait."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.records import Record, RecordKind, from_image, to_image
from agentcore.domain.scope import Scope
from agentcore.domain.skill import Skill
from dream.domain.change import Change, ChangeSet

_SIDES = ("before", "after")


def to_json(change_set: ChangeSet) -> dict[str, Any]:
    """Return plain JSON values: images of the records, and the versions they had."""
    return {
        "operation": change_set.operation,
        "changes": [
            {
                "kind": change.kind.value,
                "before": None if change.before is None else to_image(change.before),
                "version": change.before.version if isinstance(change.before, (MemoryEntry, Skill)) else None,
                "after": None if change.after is None else to_image(change.after),
                "reason": change.reason,
                "fingerprint": change_set.fingerprints.get(change.record_id),
            }
            for change in change_set.changes
        ],
    }


def from_json(scope: Scope, values: Mapping[str, Any]) -> ChangeSet:
    """Read what `to_json` wrote."""
    changes: list[Change[Record]] = []
    marks: dict[str, str] = {}
    for item in values["changes"]:
        kind = RecordKind(item["kind"])
        before, after = (None if item[name] is None else from_image(kind, scope, item[name]) for name in _SIDES)
        if isinstance(before, (MemoryEntry, Skill)):
            before = replace(before, version=item["version"])
        change = Change[Record](before=before, after=after, reason=item["reason"])
        changes.append(change)
        if item["fingerprint"] is not None:
            marks[change.record_id] = item["fingerprint"]
    return ChangeSet(operation=values["operation"], changes=tuple(changes), fingerprints=marks)
