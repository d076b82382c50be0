"""Runs the pass memory-consolidation: a model merges and retires entries; the host checks what it wrote."""

import asyncio
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
from dream.domain.rounds import Answer, NextRound, Round
from dream.domain.step import Batch, Packing
from dream.passes.answers import BrokenAnswer
from dream.passes.conflicts import speakers_by_entry
from dream.passes.declared import DeclaredPass
from dream.passes.exchange_state import Item
from dream.passes.memory_consolidation.clusters import next_date, settle
from dream.passes.memory_consolidation.judging import (
    Draft,
    JudgedConsolidation,
    apart,
    counts_of,
    find_twins,
    input_for,
    judge_entries,
    made_of,
    texts_of,
)
from dream.passes.memory_consolidation.lessons import (
    ANTI_PATTERN,
    LessonDraft,
    feedback_lines,
    judge_feedback,
    learned,
    shown_feedback,
)
from dream.passes.memory_consolidation.operations import ConsolidationInput
from dream.passes.memory_consolidation.packing import FEEDBACK, SETTLED, count, pack
from dream.passes.memory_consolidation.prompt import (
    ConsolidationHandles,
    about_entries,
    about_feedback,
    parse,
)
from dream.passes.prompts import CONTEXT_ONLY, MERGE_ONLY, entry_line, importance_at
from dream.passes.protocol import ModelContext
from dream.passes.verified_exchange import VerifiedExchange, unverified

_SAVES: Final = "toSave"
_COUNTS: Final = (
    "reviewed",
    "merged",
    "into",
    "rewritten",
    "superseded",
    "dropped",
    "learned",
    "declined",
    "repairs",
    "repaired",
    "read_again",
    "denied",
)


class MemoryConsolidation(DeclaredPass, declaration=MEMORY_CONSOLIDATION):
    """Has a model merge, reword, supersede and drop entries, and learn from feedback.

    Entries come to it when they are new or changed, with what is like them; clusters that were left as they are come
    back after a while, to be merged only; feedback comes in a call of its own. What an answer says is proven by the
    words of its sources, or read a second time, before it becomes a change (`docs/explanation/consolidation.md`).

    Lives as long as the process, for all scopes, and holds nothing.
    """

    async def has_work(self, context: ModelContext) -> Work:
        """Entries to review, clusters whose time has come, or feedback to learn from."""
        return Work(await count(context), at=await next_date(context))

    async def pack(self, context: ModelContext) -> Packing:
        """Put entries that are alike into one batch, clusters to be looked at again and feedback into others."""
        return await pack(context)

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask about what is still as it was packed, then have what was written verified, and put right once."""
        exchange = self._lessons(context, batch) if batch.kind == FEEDBACK else self._entries(context, batch)
        return await exchange.next_round(rounds)

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Make of the answer what holds; an answer of another shape settles nothing, and its records come again."""
        parsed = parse(rounds[0].answer, len(batch.members))
        if isinstance(parsed, BrokenAnswer):
            return Proposal(refused=(Refusal(Refused.BROKEN_ANSWER, parsed.problem),))
        if batch.kind == FEEDBACK:
            return await self._learn(context, batch, rounds)
        return await self._tidy(context, batch, rounds)

    def made(self, change_sets: Sequence[ChangeSet]) -> Notes:
        """Count what was merged, rewritten, superseded, dropped and learned."""
        lessons = sum(one.operation == ANTI_PATTERN for one in change_sets)
        return {**counts_of(change_sets), "learned": lessons}

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over the batches; questions are kept one by one."""
        return {
            **summed(notes, *_COUNTS),
            "questions": [question for note in notes for question in note.get("questions", ())],
        }

    def _entries(self, context: ModelContext, batch: Batch) -> VerifiedExchange[Draft]:
        async def question(shown: frozenset[str] | None) -> ChatRequest | None:
            lines = await context.read(lambda view: _lines(view, context, batch, shown))
            return about_entries(context, self.instructions, self.name, lines) if lines else None

        async def judged(answer: Answer) -> tuple[Sequence[Item[Draft]], Sequence[Refusal]]:
            found, _, _ = await _judged(context, batch, answer)
            return found.items, found.refused

        return VerifiedExchange(
            context=context,
            batch=batch,
            name=_SAVES,
            question=question,
            judge=judged,
            repairs=context.options.consolidation.repairs,
        )

    def _lessons(self, context: ModelContext, batch: Batch) -> VerifiedExchange[LessonDraft]:
        async def question(shown: frozenset[str] | None) -> ChatRequest | None:
            feedback = await context.read(lambda view: shown_feedback(view, batch))
            lines = feedback_lines({name: one for name, one in feedback.items() if shown is None or name in shown})
            return about_feedback(context, self.instructions, self.name, lines) if lines else None

        async def judged(answer: Answer) -> tuple[Sequence[Item[LessonDraft]], Sequence[Refusal]]:
            parsed = parse(answer, len(batch.members))
            if isinstance(parsed, BrokenAnswer):
                return (), (Refusal(Refused.BROKEN_ANSWER, parsed.problem),)
            feedback = await context.read(lambda view: shown_feedback(view, batch))
            given = await _input(context, batch, (), [item.content for item in parsed.saves if item.content])
            return await asyncio.to_thread(judge_feedback, parsed, feedback, given)

        return VerifiedExchange(
            context=context,
            batch=batch,
            name=_SAVES,
            question=question,
            judge=judged,
            in_parts=True,
            repairs=context.options.consolidation.repairs,
        )

    async def _learn(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        outcome = await self._lessons(context, batch).outcome(rounds)
        given = await _input(context, batch, (), ())
        return Proposal(
            change_sets=tuple(learned(one, given) for one in outcome.settled),
            for_review=tuple(learned(one, given) for one in outcome.for_review),
            refused=(*outcome.refused, *outcome.unread),
            notes={"reviewed": 0, "questions": [], **outcome.notes},
            looked_at=batch.member_ids,
            waits=outcome.waits,
            undecided=tuple(learned(unverified(one), given) for one in outcome.undecided),
        )

    async def _tidy(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        outcome = await self._entries(context, batch).outcome(rounds)
        judged, given, stored = await _judged(context, batch, outcome.answer)
        settled, waits = apart(outcome.settled, outcome.for_review)
        change_sets, refused = made_of(settled, given)
        for_review, more = made_of(waits, given)
        undecided, _ = made_of(list(map(unverified, outcome.undecided)), given)
        entries = [entry for entry in stored if entry.id not in judged.again]
        proposal = Proposal(
            change_sets=tuple(change_sets),
            for_review=tuple(for_review),
            refused=(*outcome.refused, *outcome.unread, *refused, *more),
            questions=judged.asked(context, stored),
            notes={"reviewed": len(entries), **judged.notes(), **outcome.notes},
            looked_at=tuple(entry.id for entry in entries),
            waits=outcome.waits,
            undecided=tuple(undecided),
        )
        changed = frozenset(
            change.record_id for one in (*change_sets, *for_review, *undecided) for change in one.changes
        )
        return await _settling(context, proposal, entries, changed)


async def _input(
    context: ModelContext, batch: Batch, entries: Sequence[MemoryEntry], texts: Sequence[str]
) -> ConsolidationInput:
    """Gather what an answer with these texts is judged by."""
    speakers, twins = await context.read(lambda view: (speakers_by_entry(view, entries), find_twins(view, texts)))
    return input_for(context, twins, merge_only=batch.kind == SETTLED, speakers=speakers)


async def _judged(
    context: ModelContext, batch: Batch, answer: Answer
) -> tuple[JudgedConsolidation, ConsolidationInput, list[MemoryEntry]]:
    """Judge an answer; return what it was judged by, and the entries that are as packed and may be changed."""
    handles = await context.read(lambda view: _consolidation_handles(view, batch))
    parsed = parse(answer, len(batch.members))
    given = await _input(context, batch, list(handles.entries.values()), texts_of(parsed, handles))
    # Comparing texts takes longer than the event loop may stall.
    judged = (
        JudgedConsolidation(refused=[Refusal(Refused.BROKEN_ANSWER, parsed.problem)])
        if isinstance(parsed, BrokenAnswer)
        else await asyncio.to_thread(judge_entries, parsed, handles, given)
    )
    return judged, given, [entry for handle, entry in handles.entries.items() if handle in handles.members]


def _consolidation_handles(view: ReadView, batch: Batch) -> ConsolidationHandles:
    return ConsolidationHandles.of(batch, view.entries.get_many(batch.record_ids))


def _lines(view: ReadView, context: ModelContext, batch: Batch, shown: frozenset[str] | None) -> list[str]:
    """Return the lines of what is as it was packed, or of these handles of it; none if no member is."""
    consolidation_handles = _consolidation_handles(view, batch)
    if consolidation_handles.members.isdisjoint(consolidation_handles.entries):
        return []
    importance = importance_at(view.decay, context.as_of)
    marked = MERGE_ONLY if batch.kind == SETTLED else ""
    return [
        entry_line(handle, entry, importance, marked if handle in consolidation_handles.members else CONTEXT_ONLY)
        for handle, entry in consolidation_handles.entries.items()
        if shown is None or handle in shown
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
