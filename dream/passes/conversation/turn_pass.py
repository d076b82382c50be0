"""Runs a pass that makes memories of new turns: what fact mining, episodes and preferences have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from agentcore.llm.chat import ChatRequest
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, NextRound, Round, answers_of
from dream.domain.step import Batch
from dream.passes.answers import ask_and_repair, repair_of, repaired, with_texts
from dream.passes.conversation.packing import pending, settled_of
from dream.passes.conversation.reconcile import Reconciler
from dream.passes.declared import DeclaredPass
from dream.passes.protocol import ModelContext


class TurnPass(DeclaredPass, ABC):
    """Reads the turns since it last looked; what its answers say is judged, repaired once, and reconciled."""

    answered: ClassVar[str]
    """The list of an answer that holds its items."""
    reconciler: ClassVar[type[Reconciler[Any]]]
    """Reconciles what holds with the memory."""
    counts: ClassVar[tuple[str, ...]]
    """Names of the counts that its report sums."""

    @abstractmethod
    async def request(self, context: ModelContext, batch: Batch) -> ChatRequest | None:
        """Ask about a batch; None if nothing new is left of it."""

    @abstractmethod
    async def judged(self, context: ModelContext, batch: Batch, answer: Answer) -> tuple[list[Any], list[Refusal]]:
        """Return the statements that the turns bear out, and why the other items are refused."""

    async def has_work(self, context: ModelContext) -> Work:
        """Every turn that nobody has consumed and that it has not read is work."""
        return Work(await pending(context))

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask about a batch, then for a repair of the items that are refused and can be put right."""
        return await ask_and_repair(
            rounds, lambda: self.request(context, batch), lambda answer: self._repair(context, batch, answer)
        )

    async def _repair(self, context: ModelContext, batch: Batch, answer: Answer) -> ChatRequest | None:
        _, refused = await self.judged(context, batch, answer)
        return await repair_of(context, self.answered, answer, refused, lambda: self.request(context, batch))

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Keep the statements that hold; each refusal stands for itself.

        An answer of another shape settles nothing: its turns are read again by the next run.
        """
        read = await repaired(self.answered, answers_of(rounds), lambda answer: self.judged(context, batch, answer))
        if any(refusal.code == Refused.BROKEN_ANSWER for refusal in read.refused):
            return Proposal(refused=tuple(read.refused))
        met = await self.reconciler.over(context, read.good)
        return Proposal(
            change_sets=met.change_sets,
            refused=with_texts((*read.refused, *met.refused), read.answer, self.answered, batch),
            notes={**met.notes(), **read.notes},
            looked_at=await settled_of(context, batch),
        )

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over packing and batches."""
        return summed(notes, *self.counts)
