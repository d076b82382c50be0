"""Some categories belong to people: no pass changes them."""

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
            if isinstance(entry, MemoryEntry) and _is_under(entry.category, knowledge.protected):
                return Refusal(Refused.PROTECTED_CATEGORY, f"{entry.id} in {entry.category}")
    return None


def _is_under(category: str, prefixes: Collection[str]) -> bool:
    folded = category.casefold()
    return any(folded == prefix.casefold() or folded.startswith(f"{prefix.casefold()}/") for prefix in prefixes)
