"""Runs fact mining: asks the model for the facts of new turns and remembers those that hold.

The model reads new turns and names facts; the host shows it nothing but data, and believes it nothing that the turns do
not say.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

from agentcore.llm.chat import ChatRequest, estimate_tokens
from dream.domain.built_in_passes import FACT_MINING
from dream.domain.proposal import Refusal
from dream.domain.rounds import Answer
from dream.domain.step import Batch, Packing
from dream.passes.conversation.evidence import TurnEvidence, evidence_of
from dream.passes.conversation.reconcile import Reconciler
from dream.passes.conversation.statement import StatementRules
from dream.passes.conversation.turn_pass import TurnPass, judged_each, packed, read_new, shown_of, terms_for
from dream.passes.fact_mining.judging import Fact, FactReconciler, fact_of
from dream.passes.fact_mining.prompt import FactItem, frame, question, read_items
from dream.passes.prompts import PromptTurn
from dream.passes.protocol import ModelContext


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
        "repairs",
        "repaired",
    )

    async def pack(self, context: ModelContext) -> Packing:
        """Take the oldest new turns, by session."""
        mining = context.options.mining
        reading = await read_new(context, limit=mining.max_turns, overlap=mining.overlap_turns)
        room = context.options.model.prompt_tokens - estimate_tokens(frame(context.marker))
        return reading.packing(*packed(reading.sessions, room=room, overlap=mining.overlap_turns))

    async def request(self, context: ModelContext, batch: Batch) -> ChatRequest | None:
        """Ask for the facts of a batch."""
        shown = await shown_of(context, batch)
        if not any(one.is_new for one in shown):
            return None
        return question(context, shown, directives=self.instructions, purpose=self.name)

    async def judged(self, context: ModelContext, batch: Batch, answer: Answer) -> tuple[list[Fact], list[Refusal]]:
        """Return the facts that the turns bear out, and why the others are refused."""
        items, unreadable = read_items(answer)
        shown = await shown_of(context, batch)
        texts = [*(item.content for item in items), *(one.turn.content for one in shown)]
        terms = await terms_for(context, texts)
        # Hundreds of comparisons take longer than the event loop may stall.
        facts, refused = await asyncio.to_thread(_held_against, batch, items, shown, terms, context.reserved)
        return facts, [*unreadable, *refused]


def _held_against(
    batch: Batch, items: Sequence[FactItem], shown: Sequence[PromptTurn], terms: StatementRules, reserved: Sequence[str]
) -> tuple[list[Fact], list[Refusal]]:
    by_handle = {one.handle: one for one in shown}
    known = frozenset(f"t{place}" for place in range(1, len(batch.record_ids) + 1))

    def judge(item: FactItem) -> Fact | Refusal:
        found = evidence_of(item, by_handle, known)
        return fact_of(item, found, terms, reserved) if isinstance(found, TurnEvidence) else found

    return judged_each(items, judge)


__all__ = ["FactMining"]
