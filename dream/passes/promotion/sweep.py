"""One sweep: who is promoted, who stands in MEMORY.md already, and who must not stand there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from agentcore.domain.document import StoredDocument
from agentcore.domain.memory import MemoryEntry
from agentcore.recall.concepts import concepts
from agentcore.stores.protocols import ReadView
from agentcore.workspace.document import Document
from agentcore.workspace.folder import ARCHIVE, MEMORY
from dream.domain.phases import PhaseHit
from dream.domain.proposal import Refusal
from dream.options.promotion import PromotionOptions
from dream.passes.promotion.blocks import Line
from dream.passes.promotion.fitness import Said, one_line, unfit
from dream.passes.promotion.gates import Scored, scored
from dream.passes.promotion.staging import staged
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
        left: How many more may meet every gate, for the next sweep.
        staged: Those that came newly among the candidates, where the scorer counts that.
    """

    scored: Scored
    chosen: tuple[Line, ...] = ()
    covered: tuple[Line, ...] = ()
    known: int = 0
    refused: tuple[Refusal, ...] = ()
    left: int = 0
    staged: tuple[PhaseHit, ...] = ()


async def look(context: DreamContext) -> Sweep:
    """Score what was recalled and choose what is promoted; nothing is written."""
    options = context.options.promotion
    recalls, phases = await context.recalls(ZoneInfo(options.zone)), await context.phases()
    found = scored(recalls, phases, options, context.as_of)
    promoted = await context.promoted()
    room = options.max_per_sweep - sum(at > context.as_of - options.interval for at in promoted.values())
    waits = np.array([one not in promoted for one in recalls.ids], np.bool_)
    await settle(context, found, lambda: found.undecided(~waits))
    choice = _Choice(options, await _said(context))
    while len(choice.chosen) < room:
        best = await settle(context, found, lambda end=choice.seen + _AT_ONCE: found.ranked(waits)[:end])
        rows = best[choice.seen :]
        if not rows:
            break
        entries = await context.read(lambda view, rows=rows: _active(view, [recalls.ids[row] for row in rows]))
        for row in rows:
            choice.consider(found, row, entries.get(recalls.ids[row]))
            if len(choice.chosen) >= room:
                break
    return Sweep(
        scored=found,
        chosen=tuple(choice.chosen),
        covered=tuple(choice.covered),
        known=len(found.ranked(~waits)),
        refused=tuple(choice.refused),
        left=len(found.ranked(waits)) - choice.seen,
        staged=staged(found, phases, context),
    )


@dataclass(slots=True)
class _Choice:
    """Who of the best is promoted, one after the other."""

    options: PromotionOptions
    said: Said
    chosen: list[Line] = field(default_factory=list[Line])
    covered: list[Line] = field(default_factory=list[Line])
    refused: list[Refusal] = field(default_factory=list[Refusal])
    seen: int = 0

    def consider(self, found: Scored, row: int, entry: MemoryEntry | None) -> None:
        """Promote an entry that is there, may stand in MEMORY.md and is not said there."""
        self.seen += 1
        if entry is None:
            return
        refusal = unfit(entry, self.options)
        if refusal is not None:
            self.refused.append(refusal)
            return
        line = _line(found, row, entry)
        if self.said.holds(line.text):
            self.covered.append(line)
            return
        self.chosen.append(line)
        self.said.add(line.text)


async def settle(context: DreamContext, found: Scored, wanted: Callable[[], Sequence[int]]) -> Sequence[int]:
    """Return the rows that *wanted* names once it names none whose concepts are not counted.

    Counting can only lower a score, so rows that stand first once they are all counted stand first for good.
    """
    while True:
        rows = wanted()
        uncounted = [row for row in rows if found.is_open[row]][:_AT_ONCE]
        if not uncounted:
            return rows
        ids = [found.recalls.ids[row] for row in uncounted]
        glossary = context.options.promotion.glossary
        texts = await context.read(lambda view, ids=ids: {one.id: one.content for one in view.entries.get_many(ids)})
        found.count_tags(uncounted, [len(concepts(texts.get(one, ""), glossary)) for one in ids])


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
