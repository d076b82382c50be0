"""Trust, importance and reinforcement never rise by dreaming."""

from collections.abc import Mapping

from agentcore.domain.memory import MemoryEntry, Trust
from agentcore.domain.temporal import Temporal, merge_observations
from dream.domain.change import ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.knowledge import Knowledge

_DEFAULT_BASE = 0.5
"""What an entry without sources in the set may start with."""


def raises_nothing(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse entries above what went in: a rewrite above itself, a new entry above the least of its sources.

    Importance is what a reader sees: neither the base nor the instant it fades from may be later or larger than in any
    source. Observations are those of the sources.
    """
    before = [change.before for change in change_set.changes if isinstance(change.before, MemoryEntry)]
    least_trust = min((entry.trust for entry in before), default=Trust.STATED)
    greatest_base = max((entry.base for entry in before), default=_DEFAULT_BASE)
    last_seen = max((entry.last_seen_at for entry in before), default=None)
    observed = dict(merge_observations(Temporal.of(entry).observations for entry in before))
    for change in change_set.changes:
        after = change.after
        if not isinstance(after, MemoryEntry):
            continue
        if after.trust > (change.before.trust if isinstance(change.before, MemoryEntry) else least_trust):
            return Refusal(Refused.TRUST_RAISED, after.id)
        if after.base > greatest_base or (last_seen is not None and after.last_seen_at > last_seen):
            return Refusal(Refused.IMPORTANCE_RAISED, after.id)
        if _observes_more(after, observed, is_new=change.before is None):
            return Refusal(Refused.REINFORCEMENT_RAISED, after.id)
    return None


def _observes_more(after: MemoryEntry, observed: Mapping[str, int], *, is_new: bool) -> bool:
    """Tell whether *after* counts more than the sources observed; a new entry is an observation of its own."""
    return any(
        count > observed.get(entry_id, 1 if is_new and entry_id == after.id else 0)
        for entry_id, count in Temporal.of(after).observations
    )
