"""Runs fact mining: asks the model for the facts of new turns and remembers those that hold.

The model reads new turns and names facts; the host shows it nothing but data, and believes it nothing that the turns do
not say.
"""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any, ClassVar

from agentcore.llm.chat import ChatRequest, estimate_tokens
from dream.domain.built_in_passes import FACT_MINING
from dream.domain.proposal import Refusal
from dream.domain.rounds import Answer
from dream.domain.step import Batch, Packing
from dream.passes.conversation.evidence import TurnEvidence, evidence_of
from dream.passes.conversation.reconcile import Reconciler
from dream.passes.conversation.statement import StatementRules
from dream.passes.conversation.turn_pass import TurnPass, asked_lines, judged_each, packed, read_new, rules_of, shown_of
from dream.passes.exchange_state import Item
from dream.passes.fact_mining.judging import Fact, FactReconciler, fact_of
from dream.passes.fact_mining.prompt import FactItem, frame, part, question, read_items
from dream.passes.fact_mining.verbatim import verbatim_of
from dream.passes.prompts import PromptTurn, ReaderPart
from dream.passes.protocol import ModelContext
from dream.passes.subjects import topics_in_use
from dream.passes.verified_exchange import ExchangeOutcome


class FactMining(TurnPass, declaration=FACT_MINING):
    """Reads what was said since it last looked, and remembers the facts that the turns bear out."""

    answered: ClassVar[str] = "facts"
    reconciler: ClassVar[type[Reconciler[Any]]] = FactReconciler
    counts: ClassVar[tuple[str, ...]] = (
        "turns",
        "sessions",
        "facts_found",
        "new",
        "reinforced",
        "known",
        "categories_repaired",
        "subject_times_dropped",
        "verbatim",
        "repairs",
        "repaired",
        "read_again",
        "denied",
    )

    async def pack(self, context: ModelContext) -> Packing:
        """Take the oldest new turns, by session."""
        mining = context.options.mining
        reading = await read_new(context, limit=mining.max_turns, overlap=mining.overlap_turns)
        topics = await context.read(lambda view: topics_in_use(view, context.as_of))
        room = context.options.model.prompt_tokens - estimate_tokens(frame(context.marker, topics))
        return reading.packing(*packed(reading.sessions, room=room, overlap=mining.overlap_turns))

    async def request(
        self, context: ModelContext, batch: Batch, handles: Collection[str] | None = None
    ) -> ChatRequest | None:
        """Ask for the facts of a batch."""
        shown = await shown_of(context, batch)
        if not any(one.is_new for one in shown):
            return None
        turns = asked_lines(context, shown, handles)
        topics: Sequence[str] = ()  # a repair changes what is told, not what it is filed under
        if handles is None:
            topics = await context.read(lambda view: topics_in_use(view, context.as_of))
        return question(context, turns, topics, directives=self.instructions, purpose=self.name)

    async def part(self, context: ModelContext, batch: Batch) -> ReaderPart | None:
        """Return what it adds to a question that readers share."""
        if not any(one.is_new for one in await shown_of(context, batch)):
            return None
        topics = await context.read(lambda view: topics_in_use(view, context.as_of))
        return part(context, topics, directives=self.instructions, reader=self.name)

    async def judged(
        self, context: ModelContext, batch: Batch, answer: Answer
    ) -> tuple[list[Item[Fact]], list[Refusal]]:
        """Return the facts as their words tell, and why others are refused."""
        items, unreadable = read_items(answer)
        shown = await shown_of(context, batch)
        rules = rules_of(context, shown)
        # Hundreds of comparisons take longer than the event loop may stall.
        facts, refused = await asyncio.to_thread(_held_against, batch, items, shown, rules, context.reserved)
        return facts, [*unreadable, *refused]

    async def instead(self, context: ModelContext, batch: Batch, found: ExchangeOutcome[Fact]) -> Sequence[Fact]:
        """Return what was said, word for word, in the place of what is refuted or denied."""
        shown = await shown_of(context, batch)
        kept = [verbatim_of(fact, shown, found.writers.get(fact.number, "")) for fact in found.denied]
        return [one for one in kept if one is not None]


def _held_against(
    batch: Batch, items: Sequence[FactItem], shown: Sequence[PromptTurn], rules: StatementRules, reserved: Sequence[str]
) -> tuple[list[Item[Fact]], list[Refusal]]:
    by_handle = {one.handle: one for one in shown}
    known = frozenset(f"t{place}" for place in range(1, len(batch.record_ids) + 1))

    def read(item: FactItem) -> Fact | Refusal:
        found = evidence_of(item, by_handle, known)
        return fact_of(item, found, shown, rules, reserved) if isinstance(found, TurnEvidence) else found

    return judged_each(items, read, rules)


__all__ = ["FactMining"]
