"""What there is to tell: the entries that were recalled lately, and what they have in common."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import orjson

from agentcore.domain.instants import from_micros
from agentcore.domain.memory import MemoryEntry
from agentcore.recall.concepts import concepts
from dream.domain.batch import Version
from dream.domain.phases import Phase
from dream.domain.recalls import RecallColumns
from dream.options.rem import Narrator
from dream.passes.promotion.fitness import one_line, unfit
from dream.passes.protocol import ModelContext
from dream.passes.rem.answer import LEAST_CITED
from dream.passes.rem.prompt import fitting
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
