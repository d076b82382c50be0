"""The share cap: how many entries a model may retire in a day."""

from dataclasses import dataclass
from datetime import timedelta

from agentcore.domain.filters import EntryFilter
from agentcore.domain.instants import to_text
from agentcore.domain.memory import MemoryEntry
from agentcore.stores.storage import ReadView
from dream.domain.change import ChangeSet
from dream.domain.proposal import Notes
from dream.options import ConsolidationOptions, DreamOptions, PassMode
from dream.passes.exact_fold import FOLD
from dream.stores import DreamStores, dream_stores

_DAY = timedelta(hours=24)


@dataclass(slots=True)
class ShareCap:
    """Room for retirements in any 24 hours; lives as long as one transaction.

    Folds retire copies only, and count nothing.

    Args:
        room: Entries that may still be retired.
        taken: Entries that this step retires.
    """

    room: int
    taken: int = 0

    @classmethod
    def as_it_stands(cls, view: ReadView, books: DreamStores, options: ConsolidationOptions) -> "ShareCap":
        """Return the room there is now: the cap, less what was retired in the last 24 hours."""
        active = view.entries.count(EntryFilter())
        retired = books.runs.retired_since(view.now - _DAY)
        # What was retired stood among the active ones that the share is of.
        cap = max(options.share_cap_least, int(options.share_cap * (active + retired)))
        return cls(max(0, cap - retired))

    @staticmethod
    def weight(change_set: ChangeSet) -> int:
        """Return how many entries *change_set* retires, as far as the cap counts them."""
        if change_set.operation == FOLD:
            return 0
        return sum(
            isinstance(change.before, MemoryEntry)
            and isinstance(change.after, MemoryEntry)
            and change.before.is_active
            and not change.after.is_active
            for change in change_set.changes
        )

    def admits(self, change_set: ChangeSet) -> bool:
        """Take the room that *change_set* needs; False, and nothing is taken, if there is too little."""
        weight = self.weight(change_set)
        if weight > self.room:
            return False
        self.room -= weight
        self.taken += weight
        return True


def waiting_for_room(view: ReadView, options: DreamOptions, pass_name: str) -> Notes:
    """Return how many changes of a pass wait for room under the cap, and from when on there is more; empty if none."""
    books = dream_stores(view)
    waiting = 0 if options.mode(pass_name) is PassMode.PROPOSE else books.deferred.count(pass_name)
    if not waiting:
        return {}
    oldest = books.runs.first_retired_since(view.now - _DAY)
    room_at = None if oldest is None else to_text(oldest + _DAY)
    return {"share_cap": {"waiting": waiting, "share": options.consolidation.share_cap, "room_at": room_at}}
