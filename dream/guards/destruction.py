"""A pass never destroys: it archives or supersedes, and says why."""

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.records import Record
from agentcore.domain.skill import Skill
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.knowledge import Knowledge


def keeps_records(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse deletions, one record put in another's place, and changes or retirements without a reason."""
    for change in change_set.changes:
        code = _fault(change)
        if code is not None:
            return Refusal(code, change.record_id)
    return None


def _fault(change: Change[Record]) -> Refused | None:
    before, after = change.before, change.after
    if after is None:
        return Refused.DESTROYS
    if before is not None and (type(before), before.id, before.scope) != (type(after), after.id, after.scope):
        return Refused.MISMATCHED
    if not change.reason.strip():
        return Refused.NO_REASON
    if isinstance(after, (MemoryEntry, Skill)) and after.status != "active" and not after.status_reason:
        return Refused.NO_REASON
    return None
