"""The pass: what recall keeps coming back to, told in DREAMS.md and nowhere else."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar, Final

from agentcore.domain.capability import Capability
from agentcore.domain.instants import to_micros
from agentcore.domain.memory import MemoryEntry
from agentcore.llm.chat import ChatRequest
from agentcore.recall.tokenizer import Tokenizer
from agentcore.workspace.document import Document
from agentcore.workspace.folder import DREAMS
from dream.domain.batch import Answer, Batch, Packing
from dream.domain.change import ChangeSet
from dream.domain.phases import Phase, PhaseHit
from dream.domain.proposal import Notes, Proposal, Refusal, Work
from dream.domain.reads import Reads
from dream.domain.reasons import Refused
from dream.passes.conversation.packing import terms_for
from dream.passes.document_changes import moment, rewritten
from dream.passes.prompts import handles
from dream.passes.protocol import ModelContext
from dream.passes.rem.answer import LEAST_CITED, judged, read_items
from dream.passes.rem.diary import Told, in_figures, with_summary
from dream.passes.rem.night import Night, look, mark_of
from dream.passes.rem.prompt import lines_of, question
from dream.passes.rem.themes import Recollection
from dream.passes.run_memo import RunMemo

_CUTTER: Final = Tokenizer()


class Rem:
    """Tells once a day what the entries recalled lately have in common; its cursor is when it last did.

    A model is asked in one call; without one, arithmetic finds concepts that many entries share. Nothing that it
    writes is read by any pass.
    """

    name: ClassVar[str] = "rem"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.MEMORY, Capability.WORKSPACE})
    reads: ClassVar[Reads] = Reads.NOTHING
    directives: ClassVar[tuple[str, ...]] = ("rem",)

    def __init__(self) -> None:
        self._nights = RunMemo[Night]()

    async def has_work(self, context: ModelContext) -> Work:
        """Whatever no earlier summary told is to be told, once a day."""
        night = await self._night(context)
        return Work(int(night.is_worth_telling), at=night.again)

    async def pack(self, context: ModelContext) -> Packing:
        """Tell what arithmetic found, or have the model asked; either way the day has had its look."""
        night = await self._night(context)
        seen = Packing(cursor=to_micros(context.as_of), looked_at=tuple(context.reopened))
        if not night.is_worth_telling:
            return seen
        diary = await context.read(lambda view: view.documents.get(DREAMS))
        if night.shown:
            batch = Batch(
                number="1", kind="themes", members=((DREAMS, diary.version if diary else 0),), beside=night.shown
            )
            return Packing(cursor=seen.cursor, looked_at=seen.looked_at, batches=(batch,))
        told = [in_figures(theme, len(night.recalled)) for theme in night.themes]
        return Packing(
            cursor=seen.cursor,
            looked_at=seen.looked_at,
            change_sets=(await _written(context, len(night.recalled), told, night.truths, night.mark),),
            phases=_met(context, told, night.truths),
            notes=_notes(len(night.recalled), told, night.truths),
        )

    async def request(self, context: ModelContext, batch: Batch) -> ChatRequest | None:
        """Ask what the entries have in common; there is nothing to ask about one of them alone."""
        shown = await _as_packed(context, batch)
        if len(shown) < LEAST_CITED:
            return None
        return question(context, await lines_of(context, shown), directives=self.directives, purpose=self.name)

    async def review(self, context: ModelContext, batch: Batch, answer: Answer) -> ChatRequest | None:  # noqa: ARG002
        """Ask for no repair: one call a day is enough for a diary."""
        return None

    async def interpret(self, context: ModelContext, batch: Batch, answers: Sequence[Answer]) -> Proposal:
        """Tell the themes that hold; an answer of another shape is asked for again on another day."""
        items, refused = read_items(answers[-1])
        if any(refusal.code == Refused.BROKEN_ANSWER for refusal in refused):
            return Proposal(refused=tuple(refused))
        shown = await _as_packed(context, batch)
        terms = await terms_for(context, [*(item.text for item in items), *(one.content for one in shown.values())])
        before = await context.read(lambda view: view.books.phases.met(Phase.REM))
        # Comparing fifty texts with their sources takes longer than the event loop may stall.
        found = await asyncio.to_thread(lambda: [judged(item, shown, before, terms, _CUTTER) for item in items])
        held = [one for one in found if isinstance(one, Told)]
        told = held[: context.options.rem.limit]
        refused += [one for one in found if isinstance(one, Refusal)]
        notes = {**_notes(len(shown), told, ()), "left_out": len(held) - len(told)}
        if not told:
            return Proposal(refused=tuple(refused), notes=notes, looked_at=batch.member_ids)
        mark = mark_of([one for one, _ in batch.beside])
        return Proposal(
            change_sets=(await _written(context, len(shown), told, (), mark),),
            refused=tuple(refused),
            phases=_met(context, told, ()),
            notes=notes,
            looked_at=batch.member_ids,
        )

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Return what was told; packing says nothing of it where the model was asked."""
        told = [note for note in notes if note]
        return told[-1] if told else notes[-1]

    async def _night(self, context: ModelContext) -> Night:
        return await self._nights.of(context, lambda: look(context))


async def _as_packed(context: ModelContext, batch: Batch) -> dict[str, MemoryEntry]:
    """Return the entries by handle that are as they were when the batch was packed."""
    known = dict(batch.beside)
    found = await context.read(lambda view: view.entries.get_many(list(known)))
    stored = {entry.id: entry for entry in found if entry.is_active and entry.version == known[entry.id]}
    return {handle: stored[one] for handle, one in handles(list(known)).items() if one in stored}


async def _written(
    context: ModelContext, looked_at: int, told: Sequence[Told], truths: Sequence[Recollection], mark: str
) -> ChangeSet:
    stored = await context.read(lambda view: view.documents.get(DREAMS))
    text = with_summary("" if stored is None else stored.content, moment(context), looked_at, told, truths)
    reason = f"{len(told) + len(truths)} told of {looked_at} that were recalled"
    change = rewritten(context, DREAMS, stored, Document(text), reason)
    return ChangeSet(operation="tell", changes=(change,), fingerprints={DREAMS: mark})


def _met(context: ModelContext, told: Sequence[Told], truths: Sequence[Recollection]) -> tuple[PhaseHit, ...]:
    ids = {entry_id for one in told for entry_id in one.entry_ids} | {one.entry_id for one in truths}
    return tuple(PhaseHit(entry_id, Phase.REM, context.as_of) for entry_id in sorted(ids))


def _notes(recalled: int, told: Sequence[Told], truths: Sequence[Recollection]) -> Notes:
    return {
        "recalled": recalled,
        "themes": [list(one.entry_ids) for one in told],
        "truths": [one.entry_id for one in truths],
    }
