"""Puts what is new into batches, by topic, with what it may be held against."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Final

from agentcore.domain.memory import MemoryEntry
from agentcore.stores.storage import ReadView
from agentcore.stores.values import EntryMaterial
from dream.domain.step import Batch, Packing
from dream.guards import is_under
from dream.passes.inference.prompt import AnswerShape, card_line_tokens, line_tokens
from dream.passes.memory_consolidation.clusters import Bounds, Pair, beside, fill, gather
from dream.passes.protocol import ModelContext

_BESIDE: Final = 2
"""Records shown beside each new one at most, on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceMaterial:
    """What is new, and what may stand beside it.

    Args:
        fresh: What is new, in the order of arrival.
        entries: All that may be shown, by id.
        pairs: Which are alike, or belong together.
    """

    fresh: tuple[EntryMaterial, ...]
    entries: dict[str, MemoryEntry]
    pairs: tuple[Pair, ...]


async def count(context: ModelContext) -> int:
    """Count what is pending."""
    return await context.read(lambda view: view.entries.count_material(after=context.cursor, also=context.reopened))


async def pack(context: ModelContext, shape: AnswerShape) -> Packing:
    """Partition what is new into batches; every new entry is in one, and the card beside each.

    Args:
        context: The run's.
        shape: What is asked for.
    """
    card = await context.read(lambda view: view.card.lines()) if shape.card else []
    terms = context.options.inference
    pending = await count(context)
    found = await find(context)
    weights = {entry.id: line_tokens(entry) for entry in found.entries.values()}
    taken = shape.overhead + sum(map(card_line_tokens, card))
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
            beside=(*((one, found.entries[one].version) for one in others), *((one.id, one.version) for one in card)),
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


async def find(context: ModelContext) -> InferenceMaterial:
    """Find what is new, what is like it, what it took the place of, and what was concluded from all that."""
    terms = context.options.inference
    fresh = await context.read(
        lambda view: view.entries.material(after=context.cursor, also=context.reopened, limit=terms.max_entries)
    )
    keys = {item.key: item.id for item in fresh}
    alike = await context.recall.similar(list(keys), threshold=terms.threshold, limit=terms.neighbours)
    wanted = {*keys, *(other.key for others in alike.values() for other in others)}
    stored = await context.read(lambda view: view.entries.by_keys(sorted(wanted)))
    shown = {key: entry for key, entry in stored.items() if _may_show(entry, context)}
    pairs = {
        Pair.of(shown[key].id, shown[other.key].id, other.similarity)
        for key, others in alike.items()
        for other in others
        if key in shown and other.key in shown
    }
    entries = {entry.id: entry for entry in shown.values()}
    for one, linked in (await context.read(lambda view: _linked(view, entries))).items():
        for other in linked:
            if _may_show(other, context):
                entries.setdefault(other.id, other)
                pairs.add(Pair.of(one, other.id, 1.0))
    return InferenceMaterial(fresh=tuple(fresh), entries=entries, pairs=tuple(sorted(pairs)))


def _linked(view: ReadView, entries: Collection[str]) -> dict[str, list[MemoryEntry]]:
    """Return what entries took the place of, and the conclusions that rest on them, by their id."""
    found: dict[str, list[MemoryEntry]] = {}
    for former in view.conclusions.formerly(entries):
        found.setdefault(former.successor or "", []).append(former)
    resting = view.conclusions.resting_on({*entries, *(one.id for one in chain(*found.values()))})
    for conclusion in resting:
        for one in _held_by(conclusion, entries):
            found.setdefault(one, []).append(conclusion)
    return found


def _held_by(conclusion: MemoryEntry, entries: Collection[str]) -> Iterable[str]:
    return (one.entry_id for one in conclusion.premises if one.entry_id in entries)


def _may_show(entry: MemoryEntry, context: ModelContext) -> bool:
    is_told = entry.is_active or entry.valid_until is not None
    return is_told and not is_under(entry.category, context.options.protected_categories)
