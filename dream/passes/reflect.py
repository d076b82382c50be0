"""Reflects: counts and lists what is unwell in a memory; changes nothing, and asks no model."""

from collections.abc import Sequence

from dream.domain.guessing_passes import REFLECT
from dream.domain.proposal import Notes, Proposal, Work
from dream.passes.declared import DeclaredPass
from dream.passes.protocol import DreamContext
from dream.stores.memory_health import health_of


class Reflect(DeclaredPass, declaration=REFLECT):
    """Counts and lists what is unwell whenever a dream happens for another reason."""

    async def has_work(self, context: DreamContext) -> Work:  # noqa: ARG002 - the answer is the same everywhere
        """Nothing ever waits for it."""
        return Work(0, reports=True)

    async def propose(self, context: DreamContext) -> Proposal:
        """Look in one step."""
        options = context.options.hypotheses
        found = await context.read(lambda view: health_of(view, options, context.as_of))
        return Proposal(notes=found.to_json())

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """The one step's notes are the pass's."""
        return notes[-1] if notes else {}
