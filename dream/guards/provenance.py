"""Trust, importance and reinforcement never rise by dreaming: they come from records and from what people said."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import MemoryEntry, SourceKind, Trust
from agentcore.domain.records import Record
from agentcore.domain.temporal import Temporal, merge_observations
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.knowledge import Knowledge

_DEFAULT_BASE = 0.5
"""What an entry without sources in the set may start with."""


def raises_nothing(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Refuse entries above what went in: a rewrite above itself, a new entry above the least of its sources.

    Importance is what a reader sees: neither the base nor the instant it fades from may be later or larger than in any
    source. Observations are those of the sources; turns that an entry newly cites are sources too, and each of a
    person is one observation. Generated turns are none, withheld ones
    bar the entry. An entry that counts as promoted for the first time was seen
    when it was recalled last.
    """
    before = [change.before for change in change_set.changes if isinstance(change.before, MemoryEntry)]
    observed = dict(merge_observations(Temporal.of(entry).observations for entry in before))
    for change in change_set.changes:
        after = change.after
        if not isinstance(after, MemoryEntry):
            continue
        said = _newly_cited(after, before, knowledge)
        if any(turn.generated for turn in said):
            return Refusal(Refused.NOT_EVIDENCE, after.id)
        if any(turn.id in knowledge.withheld for turn in said):
            return Refusal(Refused.FORGOTTEN, after.id)
        if after.trust > _most_trust(change, before, said):
            return Refusal(Refused.TRUST_RAISED, after.id)
        if isinstance(change.before, MemoryEntry):
            # As in a fold: whoever is trusted less reinforces nothing.
            said = [turn for turn in said if turn.trust >= change.before.trust]
        needed = [knowledge.needed.get(one.entry_id) for one in change_set.promotions if one.entry_id == after.id]
        seen = [*(turn.occurred_at for turn in said), *(at for at in needed if at is not None)]
        if not _has_earned(after, before, seen, knowledge):
            return Refusal(Refused.IMPORTANCE_RAISED, after.id)
        heard = sum(turn.role == "user" for turn in said)
        if _observes_more(after, observed, heard, is_new=change.before is None):
            return Refusal(Refused.REINFORCEMENT_RAISED, after.id)
    return None


def _newly_cited(after: MemoryEntry, before: Sequence[MemoryEntry], knowledge: Knowledge) -> list[Turn]:
    """Return the turns that *after* cites and no entry of the set did before."""
    known = set(chain.from_iterable(entry.sources for entry in before))
    new = [source.id for source in after.sources if source.kind is SourceKind.TURN and source not in known]
    return [knowledge.turns[turn_id] for turn_id in new if turn_id in knowledge.turns]


def _most_trust(change: Change[Record], before: Sequence[MemoryEntry], said: Sequence[Turn]) -> Trust:
    if isinstance(change.before, MemoryEntry):
        return change.before.trust
    sources = [*(entry.trust for entry in before), *(turn.trust for turn in said)]
    return min(sources, default=Trust.STATED) if before else min([*sources, Trust.STATED])


def _has_earned(
    after: MemoryEntry, before: Sequence[MemoryEntry], besides: Sequence[datetime], knowledge: Knowledge
) -> bool:
    """Tell whether base and last sight are within what the entries give, and when else it was said or needed."""
    bases = [entry.base for entry in before]
    if besides and not before:
        base_is_earned = after.base < knowledge.protect_importance
    else:
        base_is_earned = after.base <= max(bases, default=_DEFAULT_BASE)
    seen = [*(entry.last_seen_at for entry in before), *besides]
    return base_is_earned and (not seen or after.last_seen_at <= max(seen))


def _observes_more(after: MemoryEntry, observed: Mapping[str, int], heard: int, *, is_new: bool) -> bool:
    """Tell whether *after* counts more than the sources observed; a new entry is an observation of its own."""
    return any(
        count > (max(heard, 1) if is_new else observed.get(entry_id, 0) + heard)
        if entry_id == after.id
        else count > observed.get(entry_id, 0)
        for entry_id, count in Temporal.of(after).observations
    )
