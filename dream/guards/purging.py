"""Only retention removes anything for good, and of entries only what its time has run out for."""

from datetime import datetime

from agentcore.domain.memory import MemoryEntry
from dream.options import RetentionOptions


def is_purgeable(entry: MemoryEntry, terms: RetentionOptions, as_of: datetime) -> bool:
    """Tell whether a retired entry is past its window and below every protection."""
    return (
        not entry.is_active
        and not entry.pinned
        and entry.base < terms.protect_importance
        and entry.reinforcement_count < terms.protect_reinforced
        and entry.status_at is not None
        and entry.status_at < as_of - terms.archived
    )
