"""Trust and importance never rise by dreaming."""

from agentcore.domain.memory import MemoryEntry, Trust
from dream.domain.change import ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.knowledge import Knowledge

_DEFAULT_BASE = 0.5
"""What an entry without sources in the set may start with."""


def raises_nothing(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse entries above what went in: a rewrite above itself, a new entry above the least of its sources."""
    before = [change.before for change in change_set.changes if isinstance(change.before, MemoryEntry)]
    least_trust = min((entry.trust for entry in before), default=Trust.STATED)
    greatest_base = max((entry.base for entry in before), default=_DEFAULT_BASE)
    for change in change_set.changes:
        after = change.after
        if not isinstance(after, MemoryEntry):
            continue
        limit = change.before.trust if isinstance(change.before, MemoryEntry) else least_trust
        if after.trust > limit:
            return Refusal(Refused.TRUST_RAISED, after.id)
        if after.base > greatest_base:
            return Refusal(Refused.IMPORTANCE_RAISED, after.id)
    return None
