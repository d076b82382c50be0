"""Runs the pass document-consolidation: a model proposes edits of MEMORY.md item by item; the host checks each."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agentcore.llm.chat import ChatRequest
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import DOCUMENT_CONSOLIDATION
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, NextRound, Round, answers_of
from dream.domain.step import Batch, Packing
from dream.passes.declared import DeclaredPass
from dream.passes.document_consolidation.editing import DocumentEditor
from dream.passes.document_consolidation.items import MemoryDocument, read_memory
from dream.passes.document_consolidation.judging import (
    Approved,
    DocumentHandles,
    JudgedEdits,
    SortedEdits,
    judge,
    over_eager,
    sort_out,
)
from dream.passes.document_consolidation.packing import packed, planned, settling
from dream.passes.document_consolidation.prompt import (
    BrokenAnswer,
    GivenEdit,
    Op,
    complaint,
    item_line,
    parse,
    question,
)
from dream.passes.prompts import handles, repair_request
from dream.passes.protocol import ModelContext
from dream.passes.repairs import ask_and_repair

_COUNTS = ("items", "kept", "unmentioned", "merged", "into", "rewritten", "archived", "moved", "added", "left_alone")


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadAnswer:
    """An answer as it was understood.

    Args:
        memory: MEMORY.md as it is now.
        document_handles: What its handles stand for.
        given: The edits.
        sorted_out: Which of them may be judged.
        judged: What became of these.
        excess: Why nothing of it is used; None if it may be.
    """

    memory: MemoryDocument
    document_handles: DocumentHandles
    given: tuple[GivenEdit, ...]
    sorted_out: SortedEdits
    judged: JudgedEdits
    excess: Refusal | None


class DocumentConsolidation(DeclaredPass, declaration=DOCUMENT_CONSOLIDATION):
    """Has a model merge, reword, archive and move the items of MEMORY.md, and add what several show together.

    Items come to it once: when they are new, with the section they stand in. Whatever an answer does not name stays
    as it is, byte for byte (`docs/explanation/memory-file.md`). Lives as long as the process, for all scopes.
    """

    async def has_work(self, context: ModelContext) -> Work:
        """Items that were not reviewed, in the words they stand in now."""
        return Work(planned(await _memory(context), await context.settled(), context).pending)

    async def pack(self, context: ModelContext) -> Packing:
        """Put sections into batches as they stand; those of which every item was reviewed are not asked about."""
        return packed(planned(await _memory(context), await context.settled(), context), context)

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask about the items that still stand there, then for a repair of unfaithful texts."""
        return await ask_and_repair(
            rounds, lambda: self._question(context, batch), lambda answer: self._repair(context, batch, answer)
        )

    async def _question(self, context: ModelContext, batch: Batch) -> ChatRequest | None:
        """Ask about the items that still stand there."""
        memory = await _memory(context)
        document_handles = None if memory is None else _document_handles(memory, batch)
        if document_handles is None or not document_handles.pieces:
            return None
        return question(
            context, [item_line(handle, piece) for handle, piece in document_handles.pieces.items()], self.name
        )

    async def _repair(self, context: ModelContext, batch: Batch, answer: Answer) -> ChatRequest | None:
        """Ask once for a repair of texts that lost or made up something."""
        read = await _read(context, batch, answer)
        if isinstance(read, Refusal) or read.excess is not None or not read.judged.unfaithful:
            return None
        first = await self._question(context, batch)
        return first and repair_request(first, answer, complaint(context, read.judged.unfaithful))

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Make the edits of the last answer that has the right form; one that has not settles nothing."""
        tried = [await _read(context, batch, answer) for answer in answers_of(rounds)]
        usable = [read for read in tried if isinstance(read, _ReadAnswer)]
        if not usable:
            return Proposal(refused=tuple(read for read in tried[-1:] if isinstance(read, Refusal)))
        read = usable[-1]
        if read.excess is not None:
            return await _settled(context, batch, read, None, refused=[read.excess])
        declined = await context.withheld({edit.mark for edit in read.judged.approved})
        editor = DocumentEditor(memory=read.memory, cap=context.options.documents.size_cap, as_of=context.as_of)
        refused = [*read.sorted_out.refused, *read.judged.refused]
        refused += [
            Refusal.of(declined[edit.mark], [piece.item.id for piece in edit.pieces])
            for edit in read.judged.approved
            if edit.mark in declined
        ]
        # The document is parsed after each edit, which takes longer than the event loop may stall.
        await asyncio.to_thread(_make, editor, [edit for edit in read.judged.approved if edit.mark not in declined])
        return await _settled(context, batch, read, editor, refused=[*refused, *editor.refused])

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over the batches."""
        return summed(notes, *_COUNTS)


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
    found = sort_out(given, document_handles)
    is_whole = memory.pieces.keys() <= set(document_handles.ids.values())
    excess = over_eager(given, document_handles, context.options.documents, is_whole=is_whole)
    # Comparing texts takes longer than the event loop may stall.
    judged = JudgedEdits()
    if excess is None:
        judged = await asyncio.to_thread(judge, found.edits, document_handles, context.options, context.vocabulary)
    return _ReadAnswer(
        memory=memory, document_handles=document_handles, given=given, sorted_out=found, judged=judged, excess=excess
    )


def _make(editor: DocumentEditor, edits: Sequence[Approved]) -> None:
    for edit in edits:
        editor.make(edit)


async def _settled(
    context: ModelContext, batch: Batch, read: _ReadAnswer, editor: DocumentEditor | None, *, refused: Sequence[Refusal]
) -> Proposal:
    """Return the step: what is edited, and that these items were reviewed, in their old words and their new."""
    before = {item.id for item in read.memory.document.items}
    after = before if editor is None else {item.id for item in editor.document.items}
    again = {read.document_handles.ids[handle] for handle in read.sorted_out.stale}
    mine = set(batch.record_ids) - again
    note, old = settling(context, mine | (after - before), before | after, await context.settled())
    return Proposal(
        change_sets=() if editor is None else tuple(editor.change_sets),
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
