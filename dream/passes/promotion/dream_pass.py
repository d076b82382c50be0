"""Runs the pass promotion: writes what recall proved useful into MEMORY.md."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentcore.domain.document import StoredDocument
from agentcore.domain.records import Record
from agentcore.domain.text import fold_key
from agentcore.stores.storage import ReadView
from agentcore.workspace.document import Append, Document, Remove
from agentcore.workspace.folder import ARCHIVE, DREAMS, MEMORY
from agentcore.workspace.markdown import ItemKind, MarkdownItem, SectionPath
from dream.domain.built_in_passes import PROMOTION
from dream.domain.change import Change, ChangeSet
from dream.domain.promotion import Promotion, without_emptied
from dream.domain.proposal import Notes, Proposal, Refusal, Work
from dream.domain.reasons import Refused
from dream.guards.change_guards import is_under
from dream.passes.declared import DeclaredPass
from dream.passes.document_changes import moment, rewritten
from dream.passes.promotion.blocks import PromotedLine, with_block, with_diary
from dream.passes.promotion.sweep import PROMOTE, REINFORCE, Sweep, look, mark_of
from dream.passes.protocol import DreamContext, RunMemo


@dataclass(frozen=True, slots=True)
class Fitted:
    """MEMORY.md within its bounds.

    Args:
        memory: What it says.
        archive: What memory-archive.md says.
        moved: How many items moved.
        fits: Whether that was enough.
    """

    memory: Document
    archive: Document
    moved: int
    fits: bool


def fitted(memory: Document, archive: Document, own: tuple[str, ...], cap: int) -> Fitted:
    """Move as many items as it takes, those first that stand first.

    Args:
        memory: What MEMORY.md would say.
        archive: What memory-archive.md says.
        own: Fold keys of the items that may move.
        cap: Characters that MEMORY.md may have.
    """
    over = len(memory.text) - cap
    moving = list[MarkdownItem]()
    for item in memory.items:
        if over <= 0:
            break
        if item.kind is ItemKind.BULLET and not item.nested and not item.is_kept and fold_key(item.text) in own:
            moving.append(item)
            over -= len(item.text) + 3
    edited = memory.edited([Remove(item.id) for item in moving])
    stayed = {refused.edit.item_id for refused in edited.refused if isinstance(refused.edit, Remove)}
    gone = [item for item in moving if item.id not in stayed]
    by_section: dict[SectionPath, list[str]] = {}
    for item in gone:
        by_section.setdefault(item.section, []).append(item.text)
    kept = archive.edited([Append(section, tuple(texts)) for section, texts in by_section.items()])
    if kept.refused:
        return Fitted(memory, archive, 0, fits=False)
    text = without_emptied(edited.document.text)
    left = edited.document if text == edited.document.text else Document(text)
    return Fitted(left, kept.document, len(gone), fits=len(left.text) <= cap)


class PromotionPass(DeclaredPass, declaration=PROMOTION):
    """Promotes, in one step, at most as many entries as the options say; each of them once."""

    def __init__(self) -> None:
        self._sweeps = RunMemo[Sweep]()

    async def has_work(self, context: DreamContext) -> Work:
        """Whoever meets the gates is to be promoted; a sweep that promotes nobody says how many it looked at."""
        sweep = await self._sweep(context)
        return Work(len(sweep.chosen) + len(sweep.already_said), reports=len(sweep.scored.recalls) > 0)

    async def propose(self, context: DreamContext) -> Proposal:
        """Write the block, the diary and, where MEMORY.md is full, the archive: all of them or none.

        What MEMORY.md says already is reinforced instead, each entry by an operation of its own.
        """
        sweep = await self._sweep(context)
        texts = await context.read(_texts)
        after = await asyncio.to_thread(_written, context, sweep, texts) if sweep.chosen else []
        reinforced = [_reinforced(context, line) for line in sweep.covered]
        written = [_promoted(context, sweep, after)] if after else []
        full = Refusal(Refused.DOCUMENT_FULL, f"{MEMORY}: {len(sweep.chosen)} entries wait for room")
        return Proposal(
            change_sets=(*written, *(one for one in reinforced if one.changes)),
            notes=_notes(sweep, is_full=after is None),
            refused=sweep.refused if after is not None else (*sweep.refused, full),
            promotions=tuple(promotion for one in reinforced if not one.changes for promotion in one.promotions),
            phases=sweep.staged if after is not None else (),
            looked_at=tuple(context.reopened),
            backlog=sweep.left if after is not None else len(sweep.chosen),
        )

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Return what the one step found."""
        return notes[-1]

    async def _sweep(self, context: DreamContext) -> Sweep:
        return await self._sweeps.of(context, lambda: look(context))


async def finds_room(context: DreamContext, sweep: Sweep) -> bool:
    """Tell whether MEMORY.md has room for what a sweep chose, or what dreams wrote can make it."""
    if not sweep.chosen:
        return True
    texts = await context.read(_texts)
    return await asyncio.to_thread(_written, context, sweep, texts) is not None


def _texts(view: ReadView) -> dict[str, StoredDocument]:
    return {document.id: document for document in view.documents.all()}


def _written(context: DreamContext, sweep: Sweep, stored: dict[str, StoredDocument]) -> list[Change[Record]] | None:
    """Return how the documents change, None if there is no room; each text is read once."""
    heading = moment(context)
    read = {name: _read(sweep, name, _text(stored, name)) for name in (MEMORY, DREAMS, ARCHIVE)}
    memory = Document(with_block(_text(stored, MEMORY), sweep.chosen, heading))
    cap, own = context.options.documents.size_cap, stored[MEMORY].own if MEMORY in stored else ()
    room = fitted(memory, read[ARCHIVE], own, cap)
    if not room.fits and len(memory.text) > cap:
        return None
    diary = with_diary(
        _text(stored, DREAMS),
        sweep.chosen,
        heading,
        scanned=len(sweep.scored.recalls),
        skipped=sweep.known + len(sweep.already_said),
    )
    written = {MEMORY: room.memory, DREAMS: Document(diary)}
    if room.moved:
        written[ARCHIVE] = room.archive
    reason = f"{len(sweep.chosen)} promoted by what recall needed"
    return [
        rewritten(context, name, stored.get(name), after, reason, read=read[name]) for name, after in written.items()
    ]


def _read(sweep: Sweep, name: str, text: str) -> Document:
    """Return a document as the sweep has read it, if it says the same still."""
    known = sweep.read.get(name)
    return known if known is not None and known.text == text else Document(text)


def _text(stored: dict[str, StoredDocument], name: str) -> str:
    return stored[name].content if name in stored else ""


def _promoted(context: DreamContext, sweep: Sweep, documents: Sequence[Change[Record]]) -> ChangeSet:
    """Return the promotion of all that is chosen; what the new lines say besides counts and is reinforced with them."""
    lines = (*sweep.chosen, *sweep.joined)
    joined = [_reinforced(context, line) for line in sweep.joined]
    return ChangeSet(
        operation=PROMOTE,
        changes=(*documents, *(change for one in joined for change in one.changes)),
        fingerprints={line.entry_id: mark_of(line.entry, PROMOTE) for line in lines},
        promotions=tuple(_promotion(context, line) for line in lines),
    )


def _reinforced(context: DreamContext, line: PromotedLine) -> ChangeSet:
    """Return the reinforcement of an entry that MEMORY.md says already: it was seen when it was last needed.

    Nothing changes where that is no news, or where no pass may touch it; it counts as promoted all the same.
    """
    entry = line.entry
    is_open = not is_under(entry.category, context.options.protected_categories)
    changes: list[Change[Record]] = []
    if is_open and line.needed_at > entry.last_seen_at:
        after = replace(entry, last_seen_at=line.needed_at)
        changes.append(
            Change(before=entry, after=after, reason=f"{MEMORY} says it already, or its archive; last needed then")
        )
    return ChangeSet(
        operation=REINFORCE,
        changes=tuple(changes),
        fingerprints={entry.id: mark_of(entry, REINFORCE)} if changes else {},
        promotions=(_promotion(context, line),),
    )


def _promotion(context: DreamContext, line: PromotedLine) -> Promotion:
    return Promotion(
        entry_id=line.entry_id,
        score=round(line.score, 6),
        hits=line.hits,
        run_id=context.run_id,
        promoted_at=context.as_of,
    )


def _notes(sweep: Sweep, *, is_full: bool) -> Notes:
    chosen, said = ((), sweep.covered) if is_full else (sweep.chosen, sweep.already_said)
    scores = [line.score for line in chosen]
    return {
        "scanned": len(sweep.scored.recalls),
        "promoted": [[line.entry_id, round(line.score, 6), line.hits] for line in chosen],
        "already_said": [[line.entry_id, round(line.score, 6), line.hits] for line in said],
        "skipped": sweep.known,
        "score_range": [round(min(scores), 4), round(max(scores), 4)] if scores else [],
    }
