"""A pass never destroys: it archives or supersedes, and says why."""

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.skill import Skill
from dream.domain.change import ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.knowledge import Knowledge


def keeps_records(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse deletions, and retirements or changes without a reason."""
    for change in change_set.changes:
        if change.after is None:
            return Refusal(Refused.DESTROYS, change.record_id)
        if not change.reason.strip():
            return Refusal(Refused.NO_REASON, change.record_id)
        after = change.after
        if isinstance(after, (MemoryEntry, Skill)) and after.status != "active" and not after.status_reason:
            return Refusal(Refused.NO_REASON, change.record_id)
    return None
