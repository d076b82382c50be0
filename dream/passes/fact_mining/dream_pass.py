"""Runs fact mining: asks the model for the facts of new turns and remembers those that hold.

The model reads new turns and names facts; the host shows it nothing but data, and believes it nothing that the turns do
not say.
"""

import asyncio
from collections.abc import Sequence

from agentcore.llm.chat import ChatRequest
from agentcore.llm.tokens import estimate_tokens
from dream.domain.batch import Answer, Batch, Packing
from dream.domain.built_in_passes import FACT_MINING
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import NextRound, Round, answers_of
from dream.passes.conversation.evidence import TurnEvidence, evidence_of
from dream.passes.conversation.lines import PromptTurn
from dream.passes.conversation.packing import packed, pending, read_new, settled_of, shown_of, terms_for
from dream.passes.conversation.statement import StatementRules
from dream.passes.declared import DeclaredPass
from dream.passes.fact_mining.judging import Fact, FactCandidates, Reconciliation, fact_of, mark_of, reconcile
from dream.passes.fact_mining.prompt import FactItem, frame, question, read_items
from dream.passes.protocol import ModelContext
from dream.passes.repairing import ask_and_repair, repair_of, repaired, with_texts

_LIST = "facts"
_COUNTS = (
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


class FactMining(DeclaredPass, declaration=FACT_MINING):
    """Reads what was said since it last looked, and remembers the facts that the turns bear out."""

    async def has_work(self, context: ModelContext) -> Work:
        """Every turn that nobody has consumed and that it has not read is work."""
        return Work(await pending(context))

    async def pack(self, context: ModelContext) -> Packing:
        """Take the oldest new turns, by session."""
        mining = context.options.mining
        reading = await read_new(context, limit=mining.max_turns, overlap=mining.overlap_turns)
        room = context.options.model.prompt_tokens - estimate_tokens(frame(context.marker))
        return reading.packing(*packed(reading.sessions, room=room, overlap=mining.overlap_turns))

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask for the facts of a batch, then for a repair of those that are refused."""
        return await ask_and_repair(
            rounds, lambda: self._question(context, batch), lambda answer: self._repair(context, batch, answer)
        )

    async def _question(self, context: ModelContext, batch: Batch) -> ChatRequest | None:
        """Ask for the facts of a batch."""
        shown = await shown_of(context, batch)
        if not any(one.is_new for one in shown):
            return None
        return question(context, shown, directives=self.directives, purpose=self.name)

    async def _repair(self, context: ModelContext, batch: Batch, answer: Answer) -> ChatRequest | None:
        """Ask for a repair of the facts that are refused and can be put right."""
        _, refused = await _judged(context, batch, answer)
        return await repair_of(context, _LIST, answer, refused, lambda: self._question(context, batch))

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Remember the facts that hold; each refusal stands for itself.

        An answer of another shape settles nothing: its turns are read again by the next run.
        """
        told = await repaired(_LIST, answers_of(rounds), lambda answer: _judged(context, batch, answer))
        if any(refusal.code == Refused.BROKEN_ANSWER for refusal in told.refused):
            return Proposal(refused=tuple(told.refused))
        facts = told.good
        known = await context.read(lambda view: FactCandidates.of(view, facts))
        declined = frozenset(await context.declined({mark_of([fact]) for fact in facts}))
        met = await asyncio.to_thread(_met, context, facts, known, declined)
        return Proposal(
            change_sets=met.change_sets,
            refused=with_texts((*told.refused, *met.refused), told.answer, _LIST, batch),
            notes={**met.counts, **told.notes},
            looked_at=await settled_of(context, batch),
        )

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over packing and batches."""
        return summed(notes, *_COUNTS)


async def _judged(context: ModelContext, batch: Batch, answer: Answer) -> tuple[list[Fact], list[Refusal]]:
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
    facts: list[Fact] = []
    refused: list[Refusal] = []
    for item in items:
        found = evidence_of(item, by_handle, known)
        judged = fact_of(item, found, terms, reserved) if isinstance(found, TurnEvidence) else found
        if isinstance(judged, Fact):
            facts.append(judged)
        else:
            refused.append(judged.at(item.number))
    return facts, refused


def _met(
    context: ModelContext, facts: Sequence[Fact], known: FactCandidates, declined: frozenset[str]
) -> Reconciliation:
    return reconcile(facts, known, declined, new_id=context.new_id, as_of=context.as_of, vocabulary=context.vocabulary)


__all__ = ["FactMining"]
