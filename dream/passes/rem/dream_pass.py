"""Runs the pass rem: tells in the diary which themes recall keeps coming back to."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import orjson

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.recall.concepts import concepts
from agentcore.recall.tokenizer import Tokenizer
from agentcore.workspace.document import Document
from agentcore.workspace.folder import DREAMS
from dream.domain.built_in_passes import REM
from dream.domain.change import ChangeSet
from dream.domain.phases import Phase, PhaseHit
from dream.domain.proposal import Notes, Proposal, Refusal, Work
from dream.domain.reasons import Refused
from dream.domain.recalls import RecallColumns
from dream.domain.rounds import NextRound, Round, Version
from dream.domain.step import Batch, Packing
from dream.options import Narrator
from dream.passes.declared import DeclaredPass
from dream.passes.document_changes import moment, rewritten
from dream.passes.promotion.blocks import one_line, unfit
from dream.passes.prompts import handles
from dream.passes.protocol import ModelContext, RunMemo
from dream.passes.rem.diary import DiaryItem, in_figures, with_summary
from dream.passes.rem.prompt import LEAST_CITED, fitting, judged, lines_of, question, read_items
from dream.passes.rem.themes import Recollection, Theme, themes_of, truths_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What a summary could be made of.

    Args:
        recalled: The entries, those that no summary told first, then those recalled most often.
        themes: What they share, by arithmetic; none where the model is asked.
        truths: What likely lasts, by arithmetic; none where the model is asked.
        shown: What the model is asked about, with the versions read; nothing where it is not asked.
        again: When it is looked again though nothing new comes.
    """

    recalled: tuple[Recollection, ...] = ()
    themes: tuple[Theme, ...] = ()
    truths: tuple[Recollection, ...] = ()
    shown: tuple[Version, ...] = ()
    again: datetime | None = None

    @property
    def is_worth_telling(self) -> bool:
        """Whether there is something that no earlier summary told."""
        return bool(self.shown or self.themes or self.truths)

    @property
    def mark(self) -> str:
        """What a person declines by taking the summary back."""
        if self.shown:
            return mark_of([entry_id for entry_id, _ in self.shown])
        return _hashed(
            [[[*one.concepts, *one.entry_ids] for one in self.themes], [one.entry_id for one in self.truths]]
        )


def mark_of(entry_ids: Sequence[str]) -> str:
    """Return what a person declines by taking a summary of these entries back."""
    return _hashed(sorted(entry_ids))


def _hashed(value: object) -> str:
    return hashlib.blake2b(orjson.dumps(["rem", value]), digest_size=16).hexdigest()


async def look(context: ModelContext) -> Night:
    """Return what there is to tell; nothing if the day has its summary, or nothing was recalled since the last."""
    options, zone = context.options.rem, ZoneInfo(context.options.promotion.zone)
    since = context.as_of - options.lookback
    last = from_micros(context.cursor)
    if context.cursor and last <= context.as_of:
        since = max(since, last)
    news = len(await _recalls(context, zone, since)) > 0 or bool(context.reopened)
    if options.limit == 0 or not news:
        return Night()
    if context.cursor and _day(last, zone) == _day(context.as_of, zone):
        return Night(again=_next_day(context.as_of, zone))
    found = await _recalled(context, await _recalls(context, zone, context.as_of - options.lookback))
    recalled = tuple(one for one, _ in found)
    if context.has_model and options.narrator is Narrator.MODEL:
        night = Night(recalled=recalled, shown=await _shown(context, found))
    else:
        themes = themes_of(recalled, least=options.min_pattern_strength, limit=options.limit)
        night = Night(recalled=recalled, themes=themes, truths=truths_of(recalled, limit=options.limit))
    declined = night.is_worth_telling and await context.withheld([night.mark])
    return Night() if declined else night


async def _shown(context: ModelContext, found: Sequence[tuple[Recollection, MemoryEntry]]) -> tuple[Version, ...]:
    """Return the entries that the model is asked about; none if nothing could come of it."""
    fit = await fitting(context, [entry for _, entry in found])
    new = {one.entry_id for one, _ in found if not one.is_told}
    is_worth_asking = len(fit) >= LEAST_CITED and any(entry.id in new for entry in fit)
    return tuple((entry.id, entry.version) for entry in fit) if is_worth_asking else ()


async def _recalls(context: ModelContext, zone: ZoneInfo, since: datetime) -> RecallColumns:
    return await context.read(lambda view: view.books.recalls.columns(zone, until=context.as_of, since=since))


async def _recalled(context: ModelContext, recalls: RecallColumns) -> list[tuple[Recollection, MemoryEntry]]:
    """Return entries that may stand in a document: those that no summary told first, then by how often recalled."""
    most = context.options.rem.max_entries
    told = await context.read(lambda view: view.books.phases.met(Phase.REM))

    def rank(row: int) -> tuple[bool, int, str]:
        return recalls.ids[row] in told, -int(recalls.count[row]), recalls.ids[row]

    order, found = sorted(range(len(recalls)), key=rank), list[tuple[Recollection, MemoryEntry]]()
    for start in range(0, len(order), most):
        rows = order[start : start + most]
        ids = [recalls.ids[row] for row in rows]
        entries = await context.read(lambda view, ids=ids: {one.id: one for one in view.entries.get_many(ids)})
        there = [(row, entries[recalls.ids[row]]) for row in rows if recalls.ids[row] in entries]
        fit = [(row, one) for row, one in there if one.is_active and unfit(one, context.options.promotion) is None]
        found += [(_recollection(context, recalls, row, one, is_told=one.id in told), one) for row, one in fit]
        if len(found) >= most:
            break
    return found[:most]


def _recollection(
    context: ModelContext, recalls: RecallColumns, row: int, entry: MemoryEntry, *, is_told: bool
) -> Recollection:
    return Recollection(
        entry_id=entry.id,
        text=one_line(entry),
        concepts=concepts(entry.content, context.options.promotion.glossary),
        relevance=float(recalls.total[row]) / int(recalls.count[row]),
        hits=int(recalls.count[row]),
        days=int(recalls.days[row]),
        is_told=is_told,
    )


def _day(at: datetime, zone: ZoneInfo) -> object:
    return at.astimezone(zone).date()


def _next_day(at: datetime, zone: ZoneInfo) -> datetime:
    morrow = at.astimezone(zone).date() + timedelta(days=1)
    return datetime.combine(morrow, time(), zone).astimezone(UTC)


_CUTTER: Final = Tokenizer()


class Rem(DeclaredPass, declaration=REM):
    """Tells once a day what the entries recalled lately have in common; its cursor is when it last did.

    A model is asked in one call; without one, arithmetic finds concepts that many entries share. Nothing that it
    writes is read by any pass.
    """

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

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask what the entries have in common; there is nothing to ask about one of them alone.

        No repair is asked for: one call a day is enough for a diary.
        """
        if rounds:
            return None
        shown = await _as_packed(context, batch)
        if len(shown) < LEAST_CITED:
            return None
        lines = await lines_of(context, shown)
        return NextRound(question(context, lines, directives=self.instructions, purpose=self.name))

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Tell the themes that hold; an answer of another shape is asked for again on another day."""
        items, refused = read_items(rounds[-1].answer)
        if any(refusal.code == Refused.BROKEN_ANSWER for refusal in refused):
            return Proposal(refused=tuple(refused))
        shown = await _as_packed(context, batch)
        before = await context.read(lambda view: view.books.phases.met(Phase.REM))
        # Comparing fifty texts with their sources takes longer than the event loop may stall.
        found = await asyncio.to_thread(
            lambda: [judged(item, shown, before, context.vocabulary, _CUTTER) for item in items]
        )
        held = [one for one in found if isinstance(one, DiaryItem)]
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
    context: ModelContext, looked_at: int, told: Sequence[DiaryItem], truths: Sequence[Recollection], mark: str
) -> ChangeSet:
    stored = await context.read(lambda view: view.documents.get(DREAMS))
    text = with_summary("" if stored is None else stored.content, moment(context), looked_at, told, truths)
    reason = f"{len(told) + len(truths)} told of {looked_at} that were recalled"
    change = rewritten(context, DREAMS, stored, Document(text), reason)
    return ChangeSet(operation="tell", changes=(change,), fingerprints={DREAMS: mark})


def _met(context: ModelContext, told: Sequence[DiaryItem], truths: Sequence[Recollection]) -> tuple[PhaseHit, ...]:
    ids = {entry_id for one in told for entry_id in one.entry_ids} | {one.entry_id for one in truths}
    return tuple(PhaseHit(entry_id, Phase.REM, context.as_of) for entry_id in sorted(ids))


def _notes(recalled: int, told: Sequence[DiaryItem], truths: Sequence[Recollection]) -> Notes:
    return {
        "recalled": recalled,
        "themes": [list(one.entry_ids) for one in told],
        "truths": [one.entry_id for one in truths],
    }
