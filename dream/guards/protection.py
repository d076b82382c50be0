"""Some entries belong to people: no pass changes a protected category, or drops what is pinned."""

from collections.abc import Collection

from agentcore.domain.memory import MemoryEntry
from dream.domain.change import ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.knowledge import Knowledge


def leaves_protected_categories(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Refuse to touch an entry in a protected category, or to move one into it."""
    for change in change_set.changes:
        for entry in (change.before, change.after):
            if isinstance(entry, MemoryEntry) and is_under(entry.category, knowledge.protected):
                return Refusal(Refused.PROTECTED_CATEGORY, f"{entry.id} in {entry.category}")
    return None


def keeps_pins(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse to unpin an entry, or to retire a pinned one whose successor in the same set is not pinned."""
    heirs = {
        change.record_id
        for change in change_set.changes
        if isinstance(change.after, MemoryEntry) and change.after.is_active and change.after.pinned
    }
    for change in change_set.changes:
        before, after = change.before, change.after
        if not (isinstance(before, MemoryEntry) and isinstance(after, MemoryEntry) and before.pinned):
            continue
        if not after.pinned or not (after.is_active or after.successor in heirs):
            return Refusal(Refused.PINNED, after.id)
    return None


def is_under(category: str, prefixes: Collection[str]) -> bool:
    """Tell whether a category is one of *prefixes*, or stands below one, whatever the case."""
    folded = category.casefold()
    roots = [prefix.casefold().rstrip("/") for prefix in prefixes]
    return any(folded == root or folded.startswith(f"{root}/") for root in roots)
