"""One sweep: who is promoted, who stands in MEMORY.md already, and who must not stand there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo

from agentcore.domain.document import StoredDocument
from agentcore.domain.memory import MemoryEntry
from agentcore.stores.protocols import ReadView
from agentcore.workspace.document import Document
from agentcore.workspace.folder import ARCHIVE, MEMORY
from dream.domain.proposal import Refusal
from dream.passes.promotion.blocks import Line
from dream.passes.promotion.fitness import Said, one_line, unfit
from dream.passes.promotion.gates import Scored, scored
from dream.passes.protocol import DreamContext

_AT_ONCE: Final = 200
"""Entries read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a sweep found.

    Args:
        scored: All candidates.
        chosen: Those to be promoted, the best first.
        covered: Those that MEMORY.md or its archive says already, in other words or by another hand.
        known: How many that met every gate were promoted before.
        refused: Those that must not stand there, and why.
        left: How many more met every gate, for the next sweep.
    """

    scored: Scored
    chosen: tuple[Line, ...] = ()
    covered: tuple[Line, ...] = ()
    known: int = 0
    refused: tuple[Refusal, ...] = ()
    left: int = 0


async def look(context: DreamContext) -> Sweep:
    """Score what was recalled and choose what is promoted; nothing is written."""
    options = context.options.promotion
    recalls = await context.recalls(ZoneInfo(options.zone))
    found = scored(recalls, options, context.as_of)
    promoted = await context.promoted()
    ranked = found.ranked()
    room = options.max_per_sweep - sum(at > context.as_of - options.interval for at in promoted.values())
    waiting = [row for row in ranked if recalls.ids[row] not in promoted]
    said = await _said(context)
    chosen, covered, refused, seen = list[Line](), list[Line](), list[Refusal](), 0
    for start in range(0, len(waiting), _AT_ONCE):
        if len(chosen) >= room:
            break
        rows = waiting[start : start + _AT_ONCE]
        entries = await context.read(lambda view, rows=rows: _active(view, [recalls.ids[row] for row in rows]))
        for row in rows:
            if len(chosen) >= room:
                break
            seen += 1
            entry = entries.get(recalls.ids[row])
            if entry is None:
                continue
            refusal = unfit(entry, options)
            if refusal is not None:
                refused.append(refusal)
                continue
            line = _line(found, row, entry)
            if said.holds(line.text):
                covered.append(line)
                continue
            chosen.append(line)
            said.add(line.text)
    return Sweep(
        scored=found,
        chosen=tuple(chosen),
        covered=tuple(covered),
        known=len(ranked) - len(waiting),
        refused=tuple(refused),
        left=len(waiting) - seen,
    )


async def _said(context: DreamContext) -> Said:
    """Return what MEMORY.md says, and what was taken out of it: that is not to come back by another entry."""

    def look(view: ReadView) -> list[StoredDocument | None]:
        return [view.documents.get(MEMORY), view.documents.get(ARCHIVE)]

    said = Said(context.options.promotion.likeness)
    for stored in await context.read(look):
        said.add(*(item.text for item in Document("" if stored is None else stored.content).items))
    return said


def _active(view: ReadView, ids: Sequence[str]) -> dict[str, MemoryEntry]:
    return {entry.id: entry for entry in view.entries.get_many(ids) if entry.is_active}


def _line(found: Scored, row: int, entry: MemoryEntry) -> Line:
    return Line(
        entry_id=entry.id,
        text=one_line(entry),
        score=float(found.score[row]),
        hits=int(found.recalls.count[row]),
        days=int(found.recalls.days[row]),
    )
