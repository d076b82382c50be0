"""Change sets as JSON, for those that wait."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from agentcore.domain.conversation import Turn
from agentcore.domain.document import StoredDocument
from agentcore.domain.instants import from_text, to_text
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.records import Record, RecordKind, from_image, to_image
from agentcore.domain.scope import Scope
from agentcore.domain.skill import Skill
from dream.domain.change import Change, ChangeSet
from dream.domain.promotion import Promotion

_SIDES = ("before", "after")
_VERSIONED = (MemoryEntry, Skill, Turn, StoredDocument)


def to_json(change_set: ChangeSet) -> dict[str, Any]:
    """Return plain JSON values: images of the records, and the versions they had."""
    changed = {change.record_id for change in change_set.changes}
    return {
        "operation": change_set.operation,
        "marks": {record: mark for record, mark in change_set.fingerprints.items() if record not in changed},
        "promotions": [_plain(one) for one in change_set.promotions],
        "changes": [
            {
                "kind": change.kind.value,
                "before": None if change.before is None else to_image(change.before),
                "version": change.before.version if isinstance(change.before, _VERSIONED) else None,
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
    marks: dict[str, str] = dict(values.get("marks", {}))
    for item in values["changes"]:
        kind = RecordKind(item["kind"])
        before, after = (None if item[name] is None else from_image(kind, scope, item[name]) for name in _SIDES)
        if isinstance(before, _VERSIONED):
            before = replace(before, version=item["version"])
        change = Change[Record](before=before, after=after, reason=item["reason"])
        changes.append(change)
        if item["fingerprint"] is not None:
            marks[change.record_id] = item["fingerprint"]
    promotions = tuple(_promotion(one) for one in values.get("promotions", ()))
    return ChangeSet(operation=values["operation"], changes=tuple(changes), fingerprints=marks, promotions=promotions)


def _plain(promotion: Promotion) -> dict[str, Any]:
    return {**asdict(promotion), "promoted_at": to_text(promotion.promoted_at)}


def _promotion(values: Mapping[str, Any]) -> Promotion:
    return Promotion(
        entry_id=values["entry_id"],
        score=values["score"],
        hits=values["hits"],
        run_id=values["run_id"],
        promoted_at=from_text(values["promoted_at"]),
    )
