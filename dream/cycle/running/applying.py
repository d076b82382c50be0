"""Applies changes to the stores, and keeps the order of arrival that passes read in."""

from collections import defaultdict
from collections.abc import Sequence

from agentcore.domain.records import RECORD_TYPES, Record, RecordKind
from agentcore.errors import InvalidContentError
from agentcore.stores.storage import UnitOfWork
from dream.domain.change import Change
from dream.domain.step import FormerPositions
from dream.stores import dream_stores


def apply_changes(unit: UnitOfWork, changes: Sequence[Change[Record]]) -> None:
    """Write records as *changes* say; StaleVersionError if one moved."""
    by_kind: defaultdict[RecordKind, list[tuple[Record | None, Record | None]]] = defaultdict(list)
    for change in changes:
        of = RECORD_TYPES[change.kind]
        is_change = change.before is not None and change.after is not None
        if not (of.dreams_change if is_change else of.dreams_add):
            raise InvalidContentError(field="change", problem=f"a {change.kind} cannot be changed by a dream")
        by_kind[change.kind].append((change.before, change.after))
    for kind, pairs in by_kind.items():
        unit.of_kind(kind).apply(pairs)


def apply_in_order(
    unit: UnitOfWork, changes: Sequence[Change[Record]], former: Sequence[FormerPositions]
) -> FormerPositions | None:
    """Write records as *changes* say, and put those of *former* back in their places.

    Returns:
        The places that records leave by it, for an undo; None if they leave none.
    """
    cursors = dream_stores(unit).cursors
    positions = cursors.movable([change.record_id for change in changes if change.before is not None])
    apply_changes(unit, changes)
    left = cursors.left(positions, {one for places in former for one in places.positions})
    for places in former:
        cursors.put_back(places, [change.record_id for change in changes])
    return left
