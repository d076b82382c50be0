"""Records that an entry went to MEMORY.md."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """That an entry was promoted.

    Args:
        entry_id: The entry.
        score: What it scored.
        hits: How often it had been recalled.
        run_id: The run that promoted it.
        promoted_at: When.
    """

    entry_id: str
    score: float
    hits: int
    run_id: str
    promoted_at: datetime
