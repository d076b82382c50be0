"""Runs the pass memory-consolidation: a model merges and retires entries; the host checks the details."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agentcore.domain.memory import MemoryEntry
from agentcore.llm.chat import ChatRequest
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import MEMORY_CONSOLIDATION
from dream.domain.change import ChangeSet
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, NextRound, Round, answers_of
from dream.domain.step import Batch, Packing
from dream.passes.answers import BrokenAnswer
from dream.passes.conflicts import speakers_by_entry
from dream.passes.declared import DeclaredPass
from dream.passes.memory_consolidation.clusters import next_date, settle
from dream.passes.memory_consolidation.judging import (
    JudgedConsolidation,
    Twins,
    counts_of,
    feedback_lines,
    find_twins,
    input_for,
    judge_entries,
    judge_feedback,
    shown_feedback,
)
from dream.passes.memory_consolidation.packing import FEEDBACK, SETTLED, count, pack
from dream.passes.memory_consolidation.prompt import (
    ConsolidationAnswer,
    ConsolidationHandles,
    about_entries,
    about_feedback,
    complaint,
    parse,
)
from dream.passes.prompts import CONTEXT_ONLY, MERGE_ONLY, entry_line, feedback_text, importance_at, repair_request
from dream.passes.protocol import ModelContext
from dream.passes.repairs import ask_and_repair, with_texts

_JUDGEMENTS_REMEMBERED: Final = 64

_Question = tuple[ConsolidationAnswer, ConsolidationHandles, Twins]
"""All that a judgement of an answer about entries rests on."""


class MemoryConsolidation(DeclaredPass, declaration=MEMORY_CONSOLIDATION):
    """Has a model merge, reword, supersede and drop entries, and learn from feedback.

    Entries come to it when they are new or changed, with what is like them; clusters that were left as they are come
    back after a while, to be merged only; feedback comes in a call of its own. What an answer says is checked word by
    word before it becomes a change (`docs/explanation/consolidation.md`).

    Lives as long as the process, for all scopes; it remembers how it judged the latest answers.
    """

    def __init__(self) -> None:
        self._judgements: OrderedDict[tuple[str, str], tuple[_Question, JudgedConsolidation]] = OrderedDict()

    async def has_work(self, context: ModelContext) -> Work:
        """Entries to review, clusters whose time has come, or feedback to learn from."""
        return Work(await count(context), at=await next_date(context))

    async def pack(self, context: ModelContext) -> Packing:
        """Put entries that are alike into one batch, clusters to be looked at again and feedback into others."""
        return await pack(context)

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask about what is still as it was packed, then for a repair of unfaithful texts."""
        return await ask_and_repair(
            rounds,
            lambda: self._question(context, batch),
            lambda answer: self._repair(context, batch, answer),
            repairs=context.options.consolidation.repairs,
        )

    async def _question(self, context: ModelContext, batch: Batch) -> ChatRequest | None:
        """Ask about what is still as it was packed."""
        if batch.kind == FEEDBACK:
            feedback = await context.read(lambda view: shown_feedback(view, batch))
            return about_feedback(context, self.instructions, self.name, feedback_lines(feedback)) if feedback else None
        lines = await context.read(lambda view: _lines(view, context, batch))
        return about_entries(context, self.instructions, self.name, lines) if lines else None

    async def _repair(self, context: ModelContext, batch: Batch, answer: Answer) -> ChatRequest | None:
        """Ask for a repair of texts that lost or made up something."""
        parsed = parse(answer, len(batch.members))
        if isinstance(parsed, BrokenAnswer):
            return None
        judged, _ = await self._judged(context, batch, parsed)
        first = await self._question(context, batch) if judged.unfaithful else None
        if first is None:
            return None
        return repair_request(first, answer, complaint(context, judged.unfaithful))

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Make of the last answer that has the right shape what it is worth.

        An answer of another shape settles nothing: its records are looked at again by the next run.
        """
        answers = answers_of(rounds)
        read = [parse(answer, len(batch.members)) for answer in answers]
        whole = [
            (one, answer) for one, answer in zip(read, answers, strict=True) if isinstance(one, ConsolidationAnswer)
        ]
        if not whole:
            problems = [one.problem for one in read if isinstance(one, BrokenAnswer)]
            return Proposal(refused=tuple(Refusal(Refused.BROKEN_ANSWER, problem) for problem in problems[-1:]))
        parsed, answer = whole[-1]
        judged, stored = await self._judged(context, batch, parsed)
        entries = [entry for entry in stored if entry.id not in judged.again]
        proposal = Proposal(
            change_sets=tuple(judged.change_sets),
            refused=with_texts(judged.refused, answer, "toSave", batch),
            notes={"reviewed": len(entries), **judged.notes(), "repairs": len(answers) - 1},
            looked_at=batch.member_ids if batch.kind == FEEDBACK else tuple(entry.id for entry in entries),
        )
        return proposal if batch.kind == FEEDBACK else await _settling(context, proposal, entries, judged.changed)

    def made(self, change_sets: Sequence[ChangeSet]) -> Notes:
        """Count what was merged, rewritten, superseded, dropped and learned."""
        return counts_of(change_sets)

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over the batches; questions are kept one by one."""
        names = ("reviewed", "merged", "into", "rewritten", "superseded", "dropped", "learned", "declined", "repairs")
        return {
            **summed(notes, *names),
            "questions": [question for note in notes for question in note.get("questions", ())],
        }

    def _remembered(self, key: tuple[str, str], question: _Question) -> JudgedConsolidation | None:
        """Return what `review` found of the very same answer on the very same entries, for `interpret` to use."""
        asked, judged = self._judgements.pop(key, (None, None))
        while len(self._judgements) >= _JUDGEMENTS_REMEMBERED:
            self._judgements.popitem(last=False)
        return judged if asked == question else None

    async def _judged(
        self, context: ModelContext, batch: Batch, parsed: ConsolidationAnswer
    ) -> tuple[JudgedConsolidation, list[MemoryEntry]]:
        """Judge an answer; return the entries besides that are as they were packed and may be changed."""
        if batch.kind == FEEDBACK:
            feedback, twins = await context.read(lambda view: (shown_feedback(view, batch), find_twins(view, parsed)))
            texts = [feedback_text(one) for one in feedback.values()]
            consolidation_input = await input_for(context, parsed, texts, twins, merge_only=False, speakers={})
            return await asyncio.to_thread(judge_feedback, parsed, feedback, consolidation_input), []
        consolidation_handles, twins = await context.read(
            lambda view: (_consolidation_handles(view, batch), find_twins(view, parsed))
        )
        texts = [entry.content for entry in consolidation_handles.entries.values()]
        question = (parsed, consolidation_handles, twins)
        judged = self._remembered((context.run_id, batch.number), question)
        if judged is None:
            speakers = await context.read(lambda view: speakers_by_entry(view, consolidation_handles.entries.values()))
            consolidation_input = await input_for(
                context, parsed, texts, twins, merge_only=batch.kind == SETTLED, speakers=speakers
            )
            # Comparing texts takes longer than the event loop may stall.
            judged = await asyncio.to_thread(judge_entries, parsed, consolidation_handles, consolidation_input)
            self._judgements[context.run_id, batch.number] = (question, judged)
        return judged, [
            consolidation_handles.entries[handle]
            for handle in consolidation_handles.entries
            if handle in consolidation_handles.members
        ]


def _consolidation_handles(view: ReadView, batch: Batch) -> ConsolidationHandles:
    return ConsolidationHandles.of(batch, view.entries.get_many(batch.record_ids))


def _lines(view: ReadView, context: ModelContext, batch: Batch) -> list[str]:
    """Return the lines of what is as it was packed; none if no member is."""
    consolidation_handles = _consolidation_handles(view, batch)
    if consolidation_handles.members.isdisjoint(consolidation_handles.entries):
        return []
    importance = importance_at(view.decay, context.as_of)
    marked = MERGE_ONLY if batch.kind == SETTLED else ""
    return [
        entry_line(handle, entry, importance, marked if handle in consolidation_handles.members else CONTEXT_ONLY)
        for handle, entry in consolidation_handles.entries.items()
    ]


async def _settling(
    context: ModelContext, proposal: Proposal, entries: Sequence[MemoryEntry], changed: frozenset[str]
) -> Proposal:
    settlement = await settle(context, entries, changed)
    return replace(
        proposal,
        settled=settlement.settled,
        unsettled=settlement.unsettled,
        notes={**proposal.notes, "declined": len(settlement.settled)},
    )
