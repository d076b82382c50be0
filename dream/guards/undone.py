"""What a person took back is not done again."""

from dream.domain.change import ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.knowledge import Knowledge


def respects_undo(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Refuse an operation that brings together what a person took apart: two declined marks, or its only one."""
    marks = set(change_set.fingerprints.values())
    declined = knowledge.declined & marks
    if not declined or len(declined) < min(2, len(marks)):
        return None
    records = sorted(record for record, mark in change_set.fingerprints.items() if mark in declined)
    return Refusal.of(Refused.UNDONE_BY_PERSON, records)
