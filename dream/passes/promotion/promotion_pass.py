"""Promotion: the entries that recall proved useful go to MEMORY.md, with an entry in the diary; no model is asked."""

from collections.abc import Sequence
from typing import ClassVar, Final

from agentcore.domain.capability import Capability
from agentcore.domain.document import StoredDocument
from agentcore.stores.protocols import ReadView
from agentcore.workspace.document import Document
from agentcore.workspace.folder import ARCHIVE, DREAMS, MEMORY
from dream.domain.change import ChangeSet
from dream.domain.promotion import Promotion
from dream.domain.proposal import Notes, Proposal, Refusal, Work
from dream.domain.reasons import Refused
from dream.passes.documents import moment, rewritten
from dream.passes.promotion.blocks import Line, with_block, with_diary
from dream.passes.promotion.room import fitted
from dream.passes.promotion.sweep import Sweep, look
from dream.passes.protocol import DreamContext
from dream.passes.run_memo import RunMemo

PROMOTE: Final = "promote"


class PromotionPass:
    """Promotes, in one step, at most as many entries as the options say; each of them once."""

    name: ClassVar[str] = "promotion"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.MEMORY, Capability.WORKSPACE})

    def __init__(self) -> None:
        self._sweeps = RunMemo[Sweep]()

    async def has_work(self, context: DreamContext) -> Work:
        """Whoever meets the gates is to be promoted; a sweep that promotes nobody says how many it looked at."""
        sweep = await self._sweep(context)
        return Work(len(sweep.chosen) + len(sweep.covered), reports=len(sweep.scored.recalls) > 0)

    async def propose(self, context: DreamContext) -> Proposal:
        """Write the block, the diary and, where MEMORY.md is full, the archive: all of them or none."""
        sweep = await self._sweep(context)
        notes = _notes(sweep)
        promoted = [_promotion(context, line) for line in (*sweep.chosen, *sweep.covered)]
        if not sweep.chosen:
            return Proposal(notes=notes, refused=sweep.refused, promotions=tuple(promoted), phases=sweep.staged)
        texts = await context.read(_texts)
        after = _written(context, sweep, texts)
        if after is None:
            full = Refusal(Refused.DOCUMENT_FULL, f"{MEMORY}: {len(sweep.chosen)} entries wait for room")
            return Proposal(
                notes={**notes, "promoted": list[str]()}, refused=(*sweep.refused, full), backlog=len(sweep.chosen)
            )
        reason = f"{len(sweep.chosen)} promoted by what recall needed"
        changes = tuple(rewritten(context, name, texts.get(name), text, reason) for name, text in after.items())
        return Proposal(
            change_sets=(ChangeSet(operation=PROMOTE, changes=changes),),
            notes=notes,
            refused=sweep.refused,
            promotions=tuple(promoted),
            phases=sweep.staged,
            backlog=sweep.left,
        )

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Return what the one step found."""
        return notes[-1]

    async def _sweep(self, context: DreamContext) -> Sweep:
        return await self._sweeps.of(context, lambda: look(context))


def _texts(view: ReadView) -> dict[str, StoredDocument]:
    return {document.id: document for document in view.documents.all()}


def _written(context: DreamContext, sweep: Sweep, stored: dict[str, StoredDocument]) -> dict[str, Document] | None:
    """Return the documents that change, None if there is no room."""
    heading = moment(context)
    memory = Document(with_block(_text(stored, MEMORY), sweep.chosen, heading))
    cap, own = context.options.documents.size_cap, stored[MEMORY].own if MEMORY in stored else ()
    archive = Document(_text(stored, ARCHIVE))
    room = fitted(memory, archive, own, cap)
    if not room.fits and len(memory.text) > cap:
        return None
    diary = with_diary(
        _text(stored, DREAMS),
        sweep.chosen,
        heading,
        scanned=len(sweep.scored.recalls),
        skipped=sweep.known + len(sweep.covered),
    )
    written = {MEMORY: room.memory, DREAMS: Document(diary)}
    return {**written, ARCHIVE: room.archive} if room.moved else written


def _text(stored: dict[str, StoredDocument], name: str) -> str:
    return stored[name].content if name in stored else ""


def _promotion(context: DreamContext, line: Line) -> Promotion:
    return Promotion(
        entry_id=line.entry_id,
        score=round(line.score, 6),
        hits=line.hits,
        run_id=context.run_id,
        promoted_at=context.as_of,
    )


def _notes(sweep: Sweep) -> Notes:
    scores = [line.score for line in sweep.chosen]
    return {
        "scanned": len(sweep.scored.recalls),
        "promoted": [[line.entry_id, round(line.score, 6), line.hits] for line in sweep.chosen],
        "already_said": [[line.entry_id, round(line.score, 6), line.hits] for line in sweep.covered],
        "skipped": sweep.known,
        "score_range": [round(min(scores), 4), round(max(scores), 4)] if scores else [],
    }
