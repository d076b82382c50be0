"""Importance decay: reports how knowledge faded; nothing is rewritten, since readers compute the value."""

from collections.abc import Sequence
from typing import Any

from agentcore.domain.filters import EntryFilter
from agentcore.domain.temporal import to_micros
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import IMPORTANCE_DECAY
from dream.domain.proposal import Notes, Proposal, Work
from dream.passes.declared import DeclaredPass
from dream.passes.protocol import DreamContext


class ImportanceDecay(DeclaredPass, declaration=IMPORTANCE_DECAY):
    """Counts, over every active entry of the scope, how many faded and how many reached the floor as of the run."""

    async def has_work(self, context: DreamContext) -> Work:  # noqa: ARG002 - the answer is the same everywhere
        """Nothing ever waits for it: it reports when a run happens for another reason."""
        return Work(0, reports=True)

    async def propose(self, context: DreamContext) -> Proposal:
        """Tally the scope in one step."""
        return Proposal(notes=await context.read(lambda view: _tally(view, context)))

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """The one step's notes are the pass's."""
        return notes[-1] if notes else {}


def _tally(view: ReadView, context: DreamContext) -> dict[str, Any]:
    entries = view.entries.count(EntryFilter())
    if not view.decay.enabled:
        return {"entries": entries, "faded": 0, "at_floor": 0, "disabled": True}
    base, last_seen = view.entries.importance_columns(last_seen_before=context.as_of - view.decay.grace)
    tally = view.decay.tally(base, last_seen, to_micros(context.as_of))
    return {"entries": entries, "faded": tally.faded, "at_floor": tally.at_floor}
