"""Puts what is new into batches, by topic, with what it may be held against."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from agentcore.domain.card import CardLine
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import Level, MemoryEntry
from agentcore.domain.question import Question
from agentcore.stores.storage import ReadView
from agentcore.stores.values import EntryMaterial
from dream.domain.step import Batch, Packing
from dream.guards import is_under
from dream.passes.inference.prompt import (
    AnswerShape,
    card_line_tokens,
    dispute_tokens,
    disputes_among,
    line_tokens,
)
from dream.passes.memory_consolidation.clusters import AlikePair, Bounds, beside, fill, gather
from dream.passes.protocol import ModelContext, PassView
from dream.passes.subjects import CLAIM, same_subjects

_PATTERNS: Final = 40
"""Known patterns beside each batch at most, those seen last: one that is met again has to be recognised."""
_BESIDE: Final = 2
"""Records shown beside each new one at most, on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceMaterial:
    """What is new, and what may stand beside it.

    Args:
        fresh: What is new, in the order of arrival.
        entries: All that may be shown, by id.
        pairs: Which are alike, or belong together.
        lines: Lines that left the card with what they rested on, by the entries that took the place of that.
        disputes: Contradictions that wait for a person and are about some of what is new or like it.
    """

    fresh: tuple[EntryMaterial, ...]
    entries: dict[str, MemoryEntry]
    pairs: tuple[AlikePair, ...]
    lines: Mapping[str, Sequence[CardLine]]
    disputes: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True)
class Lost:
    """What lost its premises since the pass looked last.

    Args:
        conclusions: Those of the pass's level, with what still bears them, by the entries that took the place of the
            rest of it.
        lines: The same of lines of the card, where the pass edits it.
    """

    conclusions: Mapping[str, Sequence[MemoryEntry]]
    lines: Mapping[str, Sequence[CardLine]]

    @property
    def heirs(self) -> frozenset[str]:
        """The entries that are to be looked at for it."""
        return frozenset({*self.conclusions, *self.lines})


async def lost(context: ModelContext, shape: AnswerShape) -> Lost:
    """Find what may rest on the successors of what it rested on; each is shown once."""

    def read(view: PassView) -> Lost:
        conclusions: defaultdict[str, list[MemoryEntry]] = defaultdict(list)
        lines: defaultdict[str, list[CardLine]] = defaultdict(list)
        for one in view.conclusions.lost(view.books.cursors.last_step(context.pass_name)):
            for heir in one.heirs:
                if isinstance(one.record, CardLine):
                    lines[heir].append(one.record)
                elif one.record.level is shape.level:
                    bearing = view.entries.get_many({premise.entry_id for premise in one.record.premises} - {heir})
                    conclusions[heir] += [one.record, *(entry for entry in bearing if entry.is_active)]
        return Lost(conclusions, lines if shape.card else {})

    return await context.read(read)


async def count(context: ModelContext, shape: AnswerShape) -> int:
    """Count what is pending."""
    also = context.reopened | (await lost(context, shape)).heirs
    return await context.read(lambda view: view.entries.count_material(after=context.cursor, also=also))


async def pack(context: ModelContext, shape: AnswerShape) -> Packing:
    """Partition what is new into batches; every new entry is in one, and the card beside each.

    Args:
        context: The run's.
        shape: What is asked for.
    """
    always = await _always_beside(context, shape)
    terms = context.options.inference
    pending = await count(context, shape)
    found = await find(context, shape, await lost(context, shape))
    weights = {entry.id: line_tokens(entry) for entry in found.entries.values()}
    taken = shape.overhead + sum(map(_tokens, always)) + dispute_tokens(found.disputes)
    room = max(1, context.options.model.prompt_tokens - taken)
    fresh = [item.id for item in found.fresh if item.id in found.entries]
    bounds = Bounds(entries=terms.batch_entries, tokens=room // _BESIDE)
    calls = fill(gather({one: weights[one] for one in fresh}, found.pairs, bounds), weights, bounds)
    guests = beside(calls, found.pairs, weights, Bounds(entries=_BESIDE * terms.batch_entries, tokens=room))
    batches = tuple(
        Batch(
            number=str(number),
            kind="inference",
            members=tuple((one, found.entries[one].version) for one in call),
            beside=tuple(
                dict.fromkeys(
                    (
                        *((one, found.entries[one].version) for one in others),
                        *((one.id, one.version) for one in (*always, *_lines_of(call, found))),
                    )
                )
            ),
        )
        for number, (call, others) in enumerate(zip(calls, guests, strict=True), 1)
    )
    left_out = {item.id for item in found.fresh} - set(fresh)
    return Packing(
        batches=batches,
        cursor=max([context.cursor, *(item.position for item in found.fresh)]) if found.fresh else None,
        looked_at=tuple(sorted(left_out)),
        backlog=max(0, pending - len(found.fresh)),
    )


async def _always_beside(context: ModelContext, shape: AnswerShape) -> list[MemoryEntry | CardLine]:
    """Return what stands beside each batch: the card where it is edited, known patterns where more are looked for."""
    if shape.card:
        return list(await context.read(lambda view: view.card.lines()))
    if shape.level is not Level.INDUCTIVE:
        return []
    where = EntryFilter(level=Level.INDUCTIVE)
    known = await context.read(lambda view: view.entries.select(where, limit=_PATTERNS))
    return [entry for entry in known if _may_show(entry, context)]


def _tokens(record: MemoryEntry | CardLine) -> int:
    return card_line_tokens(record) if isinstance(record, CardLine) else line_tokens(record)


def _lines_of(call: Collection[str], found: InferenceMaterial) -> list[CardLine]:
    """Return the lost lines that members of a call may bear, each once."""
    return list({line.id: line for one in call for line in found.lines.get(one, ())}.values())


async def find(context: ModelContext, shape: AnswerShape, lost: Lost) -> InferenceMaterial:
    """Find what is new, what is like it, what it replaced or contradicts, and what was concluded from all that.

    Args:
        context: The run's.
        shape: What is asked for.
        lost: What may rest on other entries than it did: these count as new.
    """
    terms = context.options.inference
    also = context.reopened | lost.heirs
    fresh = await context.read(
        lambda view: view.entries.material(after=context.cursor, also=also, limit=terms.max_entries)
    )
    keys = {item.key: item.id for item in fresh}
    alike = await context.recall.similar(list(keys), threshold=terms.threshold, limit=terms.neighbours)
    wanted = {*keys, *(other.key for others in alike.values() for other in others)}
    stored = await context.read(lambda view: view.entries.by_keys(sorted(wanted)))
    shown = {key: entry for key, entry in stored.items() if _may_show(entry, context)}
    pairs = {
        AlikePair.of(shown[key].id, shown[other.key].id, other.similarity)
        for key, others in alike.items()
        for other in others
        if key in shown and other.key in shown
    }
    entries = {entry.id: entry for entry in shown.values()}
    for one, linked in (await context.read(lambda view: _linked(view, entries))).items():
        for other in linked:
            if _may_show(other, context):
                entries.setdefault(other.id, other)
                pairs.add(AlikePair.of(one, other.id, 1.0))
    disputes = await _disputes(context, shape, entries)
    for sides in await context.read(lambda view: _sides(view, disputes, context)):
        entries |= {one.id: one for one in sides}
        pairs |= _beside_sides(sides, pairs)
    for one in [heir for heir in lost.conclusions if heir in entries]:
        entries = {other.id: other for other in lost.conclusions[one]} | entries
        pairs |= {AlikePair.of(one, other.id, 1.0) for other in lost.conclusions[one]}
    return InferenceMaterial(
        fresh=tuple(fresh), entries=entries, pairs=tuple(sorted(pairs)), lines=lost.lines, disputes=disputes
    )


def _linked(view: ReadView, entries: Mapping[str, MemoryEntry]) -> dict[str, list[MemoryEntry]]:
    """Return what entries took the place of, facts of the same claim key, and conclusions that rest on them, by id."""
    found: dict[str, list[MemoryEntry]] = {}
    for former in view.conclusions.formerly(entries):
        found.setdefault(former.successor or "", []).append(former)
    facts = [entry for entry in entries.values() if CLAIM in entry.metadata]
    for one, others in same_subjects(view, facts, _BESIDE).items():
        found.setdefault(one, []).extend(others)
    resting = view.conclusions.resting_on({*entries, *(one.id for one in chain(*found.values()))})
    for conclusion in resting:
        for one in _held_by(conclusion, entries):
            found.setdefault(one, []).append(conclusion)
    return found


async def _disputes(context: ModelContext, shape: AnswerShape, entries: Collection[str]) -> tuple[Question, ...]:
    """Return the contradictions that are open about entries, for the pass that finds more of them."""
    if shape.level is not Level.DEDUCTIVE:
        return ()
    return tuple(await context.read(lambda view: disputes_among(view, entries)))


def _sides(view: ReadView, disputes: Iterable[Question], context: ModelContext) -> list[list[MemoryEntry]]:
    """Return the sides of each contradiction that may be shown."""
    found = [view.entries.get_many([ref.id for ref in one.members]) for one in disputes]
    return [[entry for entry in sides if _may_show(entry, context)] for sides in found]


def _beside_sides(sides: Iterable[MemoryEntry], pairs: Collection[AlikePair]) -> set[AlikePair]:
    """Return pairs that bring all sides to whatever is one of them or like one of them."""
    ids = {one.id for one in sides}
    near = ids.union(*({pair.one, pair.other} for pair in pairs if not ids.isdisjoint({pair.one, pair.other})))
    return {AlikePair.of(one, other, 1.0) for one in near for other in ids - {one}}


def _held_by(conclusion: MemoryEntry, entries: Collection[str]) -> Iterable[str]:
    return (one.entry_id for one in conclusion.premises if one.entry_id in entries)


def _may_show(entry: MemoryEntry, context: ModelContext) -> bool:
    is_told = entry.is_active or entry.valid_until is not None
    return is_told and not is_under(entry.category, context.options.protected_categories)
