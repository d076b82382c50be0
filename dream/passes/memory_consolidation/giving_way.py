"""Whether an entry may give way to others."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentcore.domain.memory import MemoryEntry
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.conflicts import ConflictVerdict, judge
from dream.passes.memory_consolidation.desk import Desk


@dataclass(frozen=True, slots=True)
class CloseCall:
    """Entries of which a person should say which one holds."""

    entry_ids: tuple[str, ...]

    @property
    def refusal(self) -> Refusal:
        """Why nothing was changed."""
        return Refusal.of(Refused.CLOSE_CALL, self.entry_ids)


def may_give_way(old: MemoryEntry, to: Sequence[MemoryEntry], desk: Desk) -> Refusal | CloseCall | None:
    """Return why *old* must stay, or None if the evidence for *to* is better."""
    if desk.merge_only:
        return Refusal.of(Refused.MERGE_ONLY, [old.id])
    if old.pinned:
        return Refusal.of(Refused.PROTECTED_ENTRY, [old.id])
    if not any(desk.are_related(old, entry) for entry in to):
        return Refusal.of(Refused.NO_SUCCESSOR, [old.id])
    match judge(desk.evidence([old]), desk.evidence(to), desk.as_of):
        case ConflictVerdict.STAYS:
            return Refusal.of(Refused.WEAKER_EVIDENCE, [old.id])
        case ConflictVerdict.CLOSE_CALL:
            return CloseCall((old.id, *(entry.id for entry in to)))
        case ConflictVerdict.GIVES_WAY:
            return None
