"""Runs the pass document-consolidation: a model proposes edits of MEMORY.md item by item; the host checks each."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agentcore.llm.chat import ChatRequest
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import DOCUMENT_CONSOLIDATION
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, NextRound, Round
from dream.domain.step import Batch, Packing
from dream.passes.declared import DeclaredPass
from dream.passes.document_consolidation.editing import DocumentEditor
from dream.passes.document_consolidation.items import MemoryDocument, read_memory
from dream.passes.document_consolidation.judging import (
    Approved,
    DocumentHandles,
    SortedEdits,
    judge,
    over_eager,
    sort_out,
)
from dream.passes.document_consolidation.packing import ReviewPlan, packed, planned, settling
from dream.passes.document_consolidation.prompt import (
    BrokenAnswer,
    GivenEdit,
    Op,
    item_line,
    parse,
    question as asked,
)
from dream.passes.document_consolidation.share import DailyShare
from dream.passes.exchange_state import Item
from dream.passes.prompts import handles
from dream.passes.protocol import ModelContext
from dream.passes.verified_exchange import VerifiedExchange

_COUNTS = ("items", "kept", "unmentioned", "merged", "into", "rewritten", "archived", "moved", "added", "left_alone")


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadAnswer:
    """An answer as it was understood.

    Args:
        memory: MEMORY.md as it is now.
        document_handles: What its handles stand for.
        given: The edits.
        sorted_out: Which of them may be judged.
        excess: Why nothing of it is used; None if it may be.
    """

    memory: MemoryDocument
    document_handles: DocumentHandles
    given: tuple[GivenEdit, ...]
    sorted_out: SortedEdits
    excess: Refusal | None


class DocumentConsolidation(DeclaredPass, declaration=DOCUMENT_CONSOLIDATION):
    """Has a model merge, reword, archive and move the items of MEMORY.md, and add what several show together.

    Items come to it once: when they are new, with the section they stand in. Whatever an answer does not name stays
    as it is, byte for byte (`docs/explanation/memory-file.md`). Lives as long as the process, for all scopes.
    """

    async def has_work(self, context: ModelContext) -> Work:
        """Items that were not reviewed, in the words they stand in now, while the day has room for changes."""
        return Work((await _plan(context)).pending)

    async def pack(self, context: ModelContext) -> Packing:
        """Put sections into batches as they stand; those of which every item was reviewed are not asked about."""
        return packed(await _plan(context), context)

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask about the items that still stand there, have texts read a second time, and repaired."""
        return await self._exchange(context, batch).next_round(rounds)

    def _exchange(self, context: ModelContext, batch: Batch) -> VerifiedExchange[tuple[Approved, ...]]:
        async def question(cited: frozenset[str] | None) -> ChatRequest | None:
            memory = await _memory(context)
            if memory is None:
                return None
            pieces = _document_handles(memory, batch).pieces
            lines = [item_line(handle, one) for handle, one in pieces.items() if cited is None or handle in cited]
            return asked(context, lines, self.name) if lines else None

        async def judged(answer: Answer) -> tuple[Sequence[Item[tuple[Approved, ...]]], Sequence[Refusal]]:
            return await _judged(context, batch, answer)

        return VerifiedExchange(context=context, batch=batch, name="edits", question=question, judge=judged)

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Make the edits that hold, as many as the day has room for; an answer of another form settles nothing."""
        outcome = await self._exchange(context, batch).outcome(rounds)
        read = await _read(context, batch, outcome.answer)
        if outcome.waits or isinstance(read, Refusal):
            return Proposal(refused=outcome.refused, waits=outcome.waits)
        if read.excess is not None:
            return await _settled(context, batch, read, refused=[read.excess])
        approved = [edit for one in outcome.settled for edit in one.value]
        asked = [edit for one in outcome.for_review for edit in one.value]
        declined = await context.withheld({edit.mark for edit in (*approved, *asked)})
        share = await _share(context, read.memory)
        refused = [*outcome.refused, *outcome.unread]
        left: set[str] = set()
        chosen: list[Approved] = []
        waits: list[Approved] = []
        for edit in (*approved, *asked):
            ids = [piece.item.id for piece in edit.pieces]
            if edit.mark in declined:
                refused.append(Refusal.of(declined[edit.mark], ids))
            elif edit in asked:
                waits.append(edit)
            elif share.is_too_much(edit.weight):
                refused.append(Refusal.of(Refused.OVER_EAGER, ids))
            elif not share.admits(edit.weight):
                refused.append(Refusal.of(Refused.SHARE_CAP, ids))
                left.update(ids)
            else:
                chosen.append(edit)
        # The document is parsed after each edit, which takes longer than the event loop may stall.
        editor = await asyncio.to_thread(_edited, read.memory, context, chosen)
        asking = await asyncio.to_thread(_edited, read.memory, context, waits)
        refused += [*editor.refused, *asking.refused]
        return await _settled(context, batch, read, editor, asking, refused=refused, left=left)

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over the batches."""
        return summed(notes, *_COUNTS)


async def _plan(context: ModelContext) -> ReviewPlan:
    memory = await _memory(context)
    if memory is not None and not (await _share(context, memory)).is_worth_asking:
        return ReviewPlan(memory=None)
    return planned(memory, await context.settled(), context, await context.waiting())


async def _share(context: ModelContext, memory: MemoryDocument) -> DailyShare:
    return await context.read(lambda view: DailyShare.as_it_stands(view, memory, context.options, context.as_of))


async def _memory(context: ModelContext) -> MemoryDocument | None:
    at = await context.read(lambda view: view.books.promotions.known())
    latest = sorted(at, key=lambda entry_id: (at[entry_id], entry_id), reverse=True)
    return await context.read(lambda view: _look(view, context, latest))


def _look(view: ReadView, context: ModelContext, promoted: Sequence[str]) -> MemoryDocument | None:
    return read_memory(view, context.options, promoted)


def _document_handles(memory: MemoryDocument, batch: Batch) -> DocumentHandles:
    ids = handles(batch.member_ids, "i")
    return DocumentHandles(
        ids=ids, pieces={handle: memory.pieces[one] for handle, one in ids.items() if one in memory.pieces}
    )


async def _read(context: ModelContext, batch: Batch, answer: Answer) -> _ReadAnswer | Refusal:
    given = parse(answer, 2 * len(batch.members))
    if isinstance(given, BrokenAnswer):
        return Refusal(Refused.BROKEN_ANSWER, given.problem)
    memory = await _memory(context)
    if memory is None:
        return Refusal.of(Refused.STALE_SOURCE, batch.member_ids)
    document_handles = _document_handles(memory, batch)
    is_whole = memory.pieces.keys() <= set(document_handles.ids.values())
    return _ReadAnswer(
        memory=memory,
        document_handles=document_handles,
        given=given,
        sorted_out=sort_out(given, document_handles),
        excess=over_eager(given, document_handles, context.options.documents, is_whole=is_whole),
    )


async def _judged(
    context: ModelContext, batch: Batch, answer: Answer
) -> tuple[Sequence[Item[tuple[Approved, ...]]], Sequence[Refusal]]:
    read = await _read(context, batch, answer)
    if isinstance(read, Refusal):
        return [], [read]
    if read.excess is not None:
        return [], [read.excess]
    # Comparing texts takes longer than the event loop may stall.
    items, refused = await asyncio.to_thread(
        judge, read.sorted_out.edits, read.document_handles, context.options, context.vocabulary
    )
    return items, [*read.sorted_out.refused, *refused]


def _edited(memory: MemoryDocument, context: ModelContext, edits: Sequence[Approved]) -> DocumentEditor:
    editor = DocumentEditor(memory=memory, cap=context.options.documents.size_cap, as_of=context.as_of)
    for edit in edits:
        editor.make(edit)
    return editor


async def _settled(
    context: ModelContext,
    batch: Batch,
    read: _ReadAnswer,
    editor: DocumentEditor | None = None,
    asking: DocumentEditor | None = None,
    *,
    refused: Sequence[Refusal],
    left: Collection[str] = (),
) -> Proposal:
    """Return the step: what is edited, and that these items were reviewed, in their old words and their new.

    Those that are *left* for another day were not.
    """
    before = {item.id for item in read.memory.document.items}
    after = before.union(*({item.id for item in one.document.items} for one in (editor, asking) if one is not None))
    again = {read.document_handles.ids[handle] for handle in read.sorted_out.stale} | set(left)
    mine = set(batch.record_ids) - again
    note, old = settling(context, mine | (after - before), after, await context.settled())
    return Proposal(
        change_sets=() if editor is None else tuple(editor.change_sets),
        for_review=() if asking is None else tuple(asking.change_sets),
        refused=tuple(refused),
        notes=_notes(read, editor),
        looked_at=tuple(one for one in batch.member_ids if one not in again),
        settled=(note,),
        unsettled=old,
    )


def _notes(read: _ReadAnswer, editor: DocumentEditor | None) -> Notes:
    made = [] if editor is None else editor.made
    named = {handle for edit in read.given for handle in edit.items}
    counts = {op: sum(edit.op is op for edit in made) for op in Op}
    return {
        "items": len(read.document_handles.pieces),
        "kept": read.sorted_out.kept,
        "unmentioned": len(read.document_handles.pieces.keys() - named),
        "merged": sum(len(edit.pieces) for edit in made if edit.op is Op.MERGE),
        "into": counts[Op.MERGE],
        "rewritten": counts[Op.REWRITE],
        "archived": counts[Op.ARCHIVE],
        "moved": counts[Op.MOVE],
        "added": counts[Op.ADD],
    }
