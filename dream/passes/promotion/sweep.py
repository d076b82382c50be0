"""Looks for the entries that are promoted: scored, gated, not said in a document yet."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from agentcore.domain.document import StoredDocument
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.recall.concepts import concepts
from agentcore.stores.storage import ReadView
from agentcore.workspace.document import Document
from agentcore.workspace.folder import ARCHIVE, MEMORY
from dream.domain.change import fingerprint
from dream.domain.phases import Phase, PhaseHit, PhaseStanding
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.promotion.blocks import DocumentTexts, PromotedLine, one_line, unfit
from dream.passes.promotion.gates import Scored, scored
from dream.passes.protocol import DreamContext

_LOOKBACK: Final = timedelta(days=2)
_MOST: Final = 100


def staged(found: Scored, phases: Mapping[str, PhaseStanding], context: DreamContext) -> tuple[PhaseHit, ...]:
    """Return the entries recalled in the last two days and since they were staged last, each once a day of the zone.

    At most a hundred, those recalled last first. Scorers that give no boost have no use for them.
    """
    if found.scorer.boost is None:
        return ()
    zone, recalls = ZoneInfo(context.options.promotion.zone), found.recalls
    today = context.as_of.astimezone(zone).date()
    rows = np.flatnonzero(recalls.last > to_micros(context.as_of - _LOOKBACK))

    def is_new(entry_id: str, last: int) -> bool:
        before = phases.get(entry_id)
        if before is None or before.light == 0:
            return True
        return before.light_last < last and from_micros(before.light_last).astimezone(zone).date() < today

    order: list[int] = rows[np.argsort(-recalls.last[rows], kind="stable")].tolist()
    ids = [recalls.ids[row] for row in order if is_new(recalls.ids[row], int(recalls.last[row]))]
    return tuple(PhaseHit(entry_id, Phase.LIGHT, context.as_of) for entry_id in ids[:_MOST])


PROMOTE: Final = "promote"
"""An entry is written to MEMORY.md."""
REINFORCE: Final = "reinforce"
"""MEMORY.md says an entry already."""

_AT_ONCE: Final = 200
"""Entries read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a sweep found.

    Args:
        scored: All candidates.
        chosen: Those to be promoted, the best first.
        covered: Those that MEMORY.md or its archive says already, in other words or by another hand.
        joined: Those that what is chosen says already.
        known: How many that met every gate were promoted before.
        refused: Those that must not stand there, and why.
        withheld: Those that a person declined or has yet to decide about, by id.
        left: How many more may meet every gate, for the next sweep.
        staged: Those that came newly among the candidates, where the scorer counts that.
        read: MEMORY.md and its archive as they were read, by name.
    """

    scored: Scored
    chosen: tuple[PromotedLine, ...] = ()
    covered: tuple[PromotedLine, ...] = ()
    joined: tuple[PromotedLine, ...] = ()
    known: int = 0
    refused: tuple[Refusal, ...] = ()
    withheld: Mapping[str, Refused] = field(default_factory=dict[str, Refused])
    left: int = 0
    staged: tuple[PhaseHit, ...] = ()
    read: Mapping[str, Document] = field(default_factory=dict[str, Document])

    @property
    def already_said(self) -> tuple[PromotedLine, ...]:
        """Those that are not written, since a line says them."""
        return (*self.covered, *self.joined)


async def look(context: DreamContext) -> Sweep:
    """Score what was recalled and choose what is promoted; nothing is written."""
    options = context.options.promotion
    recalls, phases, promoted = await context.read(
        lambda view: (
            view.books.recalls.columns(ZoneInfo(options.zone), until=context.as_of),
            view.books.phases.standing(),
            view.books.promotions.known(),
        )
    )
    found = scored(recalls, phases, options, context.as_of)
    room = options.max_per_sweep - sum(at > context.as_of - options.interval for at in promoted.values())
    waits = np.array([one not in promoted for one in recalls.ids], np.bool_)
    await settle(context, found, lambda: found.undecided(~waits))
    stored = await context.read(_documents)
    # A long document is read, and held against a text, for longer than the event loop may stall.
    read = await asyncio.to_thread(lambda: {name: Document(one.content) for name, one in stored.items()})
    choice = await asyncio.to_thread(_Choice, context, found, _items(read), room)
    while not choice.is_full:
        best = await settle(context, found, lambda end=choice.seen + _AT_ONCE: found.ranked(waits)[:end])
        rows = best[choice.seen :]
        if not rows:
            break
        await choice.consider(rows)
    return Sweep(
        scored=found,
        chosen=() if choice.is_held else tuple(choice.chosen),
        covered=tuple(choice.covered),
        joined=() if choice.is_held else tuple(choice.joined),
        known=len(found.ranked(~waits)),
        refused=tuple(choice.refused),
        withheld=choice.withheld,
        left=len(found.ranked(waits)) - choice.seen,
        staged=staged(found, phases, context),
        read=read,
    )


class _Choice:
    """Goes through the candidates that meet every gate, the best first; lives as long as a sweep."""

    def __init__(self, context: DreamContext, found: Scored, items: Sequence[str], room: int) -> None:
        likeness = context.options.promotion.likeness
        self._context, self._found, self._room = context, found, room
        self._said, self._added = DocumentTexts(likeness), DocumentTexts(likeness)
        self._said.add(*items)
        self.chosen, self.covered, self.joined = list[PromotedLine](), list[PromotedLine](), list[PromotedLine]()
        self.refused, self.withheld, self.seen = list[Refusal](), dict[str, Refused](), 0
        self.is_held = False
        """Whether promotions wait for a person: nothing is promoted beside them."""

    @property
    def is_full(self) -> bool:
        """Whether a sweep takes no more."""
        met = len(self.covered) + len(self.joined)
        return len(self.chosen) >= self._room or met >= self._context.options.step_size

    async def consider(self, rows: Sequence[int]) -> None:
        """Look at a few candidates, in order."""
        ids = [self._found.recalls.ids[row] for row in rows]
        entries = await self._context.read(lambda view: _active(view, ids))
        marks = {mark_of(entry, operation) for entry in entries.values() for operation in (PROMOTE, REINFORCE)}
        withheld = await self._context.withheld(marks)
        await asyncio.to_thread(self._judge_all, rows, entries, withheld)

    def _judge_all(
        self, rows: Sequence[int], entries: Mapping[str, MemoryEntry], withheld: Mapping[str, Refused]
    ) -> None:
        for row in rows:
            if self.is_full:
                return
            self.seen += 1
            entry = entries.get(self._found.recalls.ids[row])
            if entry is not None:
                self._judge(_line(self._found, row, entry), withheld)

    def _judge(self, line: PromotedLine, withheld: Mapping[str, Refused]) -> None:
        refusal = unfit(line.entry, self._context.options.promotion)
        if refusal is not None:
            self.refused.append(refusal)
            return
        is_said = self._said.holds(line.text)
        held = withheld.get(mark_of(line.entry, REINFORCE if is_said else PROMOTE))
        if held is not None:
            self.is_held |= held is Refused.AWAITS_REVIEW and not is_said
            self.withheld[line.entry_id] = held
            self.refused.append(Refusal(held, line.entry_id))
        elif is_said:
            self.covered.append(line)
        elif self._added.holds(line.text):
            self.joined.append(line)
        else:
            self.chosen.append(line)
            self._added.add(line.text)


def mark_of(entry: MemoryEntry, operation: str) -> str:
    """Return what a person declines by not wanting an entry promoted, or reinforced."""
    return fingerprint(operation, entry)


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


def _items(read: Mapping[str, Document]) -> list[str]:
    """Return what MEMORY.md says, and what was taken out of it: that is not to come back by another entry."""
    return [item.text for document in read.values() for item in document.items]


def _documents(view: ReadView) -> dict[str, StoredDocument]:
    found = (view.documents.get(name) for name in (MEMORY, ARCHIVE))
    return {document.id: document for document in found if document is not None}


def _active(view: ReadView, ids: Sequence[str]) -> dict[str, MemoryEntry]:
    return {entry.id: entry for entry in view.entries.get_many(ids) if entry.is_active}


def _line(found: Scored, row: int, entry: MemoryEntry) -> PromotedLine:
    return PromotedLine(
        entry=entry,
        text=one_line(entry),
        score=float(found.score[row]),
        hits=int(found.recalls.count[row]),
        days=int(found.recalls.days[row]),
        needed_at=from_micros(int(found.recalls.last[row])),
    )
