"""Chooses the entries and the feedback of a run, and packs them into batches: similar entries go together."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from agentcore.domain.evidence import SourceKind
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.signals import Feedback
from agentcore.domain.temporal import to_micros
from agentcore.domain.text import DEFAULT_CATEGORY
from agentcore.llm.chat import estimate_tokens
from agentcore.stores.storage import ReadView
from agentcore.stores.values import EntryMaterial
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.step import Batch, Packing
from dream.passes.memory_consolidation.clusters import AlikePair, Bounds, beside, due_clusters, fill, gather
from dream.passes.memory_consolidation.lessons import unread_feedback
from dream.passes.memory_consolidation.operations import is_under
from dream.passes.memory_consolidation.prompt import OVERHEAD
from dream.passes.prompts import MERGE_ONLY, entry_line, feedback_line, importance_at
from dream.passes.protocol import ModelContext
from dream.passes.subjects import same_subjects

ENTRIES: Final = "entries"
"""Kind of batches that show what is new, and what is like it."""
SETTLED: Final = "settled"
"""Kind of batches that show settled clusters again."""
FEEDBACK: Final = "feedback"
"""Kind of batches that show feedback, and name of their cursor, whose positions are `recorded_at` in microseconds."""

_WIDEST_HANDLE: Final = "e000"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationMaterial:
    """New entries and those that are like them.

    Args:
        fresh: What is new, in the order of arrival.
        entries: All that may be shown, by id; what is new first, the rest by id.
        pairs: Which are alike.
    """

    fresh: tuple[EntryMaterial, ...]
    entries: dict[str, MemoryEntry]
    pairs: tuple[AlikePair, ...]


async def count(context: ModelContext) -> int:
    """Count what is pending: entries, clusters whose time has come, and feedback."""
    entries = await context.read(lambda view: view.entries.count_material(after=context.cursor, also=context.reopened))
    clusters = len((await due_clusters(context)).clusters)
    return entries + clusters + len(await _unmined(context))


async def pack(context: ModelContext) -> Packing:
    """Partition what is pending into batches."""
    reopened = (await due_clusters(context)).clusters
    # A run that ended early has what it did not get to looked at again: a settled cluster is merge-only even so.
    waited = context.reopened & {entry.id for cluster in reopened for entry in cluster}
    found = await find(context, waited)
    learning = await _unmined(context)
    pending = await context.read(lambda view: view.entries.count_material(after=context.cursor, also=context.reopened))
    packer = await context.read(lambda view: _Packer(context, view))
    batches = [*packer.entries(found), *packer.clusters(reopened), *packer.feedback(learning)]
    return Packing(
        batches=tuple(batches),
        cursor=max([context.cursor, *(item.position for item in found.fresh)]) if found.fresh else None,
        looked_at=packer.needs_no_call(found),
        refused=tuple(packer.refused),
        backlog=max(0, pending - len(found.fresh) - len(waited)) + packer.left,
    )


async def find(context: ModelContext, waited: frozenset[str] = frozenset()) -> ConsolidationMaterial:
    """Find what is new and what is like it; what *waited* is not new."""
    terms = context.options.consolidation
    also = context.reopened - waited
    fresh = await context.read(
        lambda view: view.entries.material(after=context.cursor, also=also, limit=terms.max_entries)
    )
    ids = {item.key: item.id for item in fresh}
    alike = await context.recall.similar(list(ids), threshold=terms.threshold, limit=terms.neighbours)
    keys = {*ids, *(neighbour.key for neighbours in alike.values() for neighbour in neighbours)}
    stored = await context.read(lambda view: view.entries.by_keys(sorted(keys)))
    shown = {key: entry for key, entry in stored.items() if _is_reviewed(entry, context)}
    pairs = {
        AlikePair.of(shown[key].id, shown[neighbour.key].id, neighbour.similarity)
        for key, neighbours in alike.items()
        for neighbour in neighbours
        if key in shown and neighbour.key in shown
    }
    ordered = [shown[item.key] for item in fresh if item.key in shown]
    # What is about the same may share no word, as opposites do: it comes last, after all that is alike.
    about = await context.read(lambda view: same_subjects(view, ordered, terms.neighbours))
    met = {other.id: other for others in about.values() for other in others if _is_reviewed(other, context)}
    alike_already = {(pair.one, pair.other) for pair in pairs}
    apart = {AlikePair.of(one, other.id, 0.0) for one, others in about.items() for other in others if other.id in met}
    pairs |= {pair for pair in apart if (pair.one, pair.other) not in alike_already}
    known = {entry.id for entry in ordered}
    pulled = {entry.id: entry for entry in (*shown.values(), *met.values()) if entry.id not in known}
    return ConsolidationMaterial(
        fresh=tuple(fresh),
        entries={entry.id: entry for entry in (*ordered, *(pulled[one] for one in sorted(pulled)))},
        pairs=tuple(sorted(pairs)),
    )


def _is_reviewed(entry: MemoryEntry, context: ModelContext) -> bool:
    """Tell whether the pass may show and change it: conclusions follow from others and are those passes' own."""
    is_protected = is_under(entry.category, context.options.protected_categories)
    return entry.is_active and not entry.is_conclusion and not is_protected


async def _unmined(context: ModelContext) -> list[Feedback]:
    cursor = context.side_cursors.get(FEEDBACK, 0)
    return await context.read(lambda view: unread_feedback(view, context, cursor))


def _is_filed(entry: MemoryEntry) -> bool:
    """Tell whether a reader wrote an entry by the same rules: alone, it needs no second look."""
    return entry.category != DEFAULT_CATEGORY and any(one.kind is SourceKind.TURN for one in entry.sources)


class _Packer:
    """Makes the batches of one run."""

    def __init__(self, context: ModelContext, view: ReadView) -> None:
        terms = context.options
        self._bounds = Bounds(
            entries=terms.consolidation.batch_entries, tokens=max(1, terms.model.prompt_tokens - OVERHEAD)
        )
        self._importance = importance_at(view.decay, context.as_of)
        self._taken: set[str] = set()
        self._numbers = 0
        self.refused: list[Refusal] = []
        self.left = 0

    def entries(self, found: ConsolidationMaterial) -> list[Batch]:
        """Return the batches of what is new, with what is like it."""
        weights = self._weights(found.entries.values())
        fresh = {item.id for item in found.fresh}
        groups = [
            group
            for group in gather(weights, found.pairs, self._bounds)
            if not fresh.isdisjoint(group)
            and not (len(group) == 1 and all(_is_filed(found.entries[one]) for one in group))
        ]
        calls = fill(groups, weights, self._bounds)
        guests = beside(calls, found.pairs, weights, self._bounds)
        return [
            self._batch(ENTRIES, [found.entries[one] for one in call], [found.entries[one] for one in others])
            for call, others in zip(calls, guests, strict=True)
        ]

    def clusters(self, reopened: Sequence[Sequence[MemoryEntry]]) -> list[Batch]:
        """Return the batches of clusters of which nothing is shown in another batch."""
        groups: list[tuple[str, ...]] = []
        known: dict[str, MemoryEntry] = {}
        for cluster in reopened:
            ids = tuple(entry.id for entry in cluster)
            if self._taken.isdisjoint(ids) and known.keys().isdisjoint(ids):
                groups.append(ids)
                known |= {entry.id: entry for entry in cluster}
        weights = self._weights(known.values())
        whole = [group for group in groups if all(record_id in weights for record_id in group)]
        calls = fill(whole, weights, self._bounds)
        return [self._batch(SETTLED, [known[one] for one in call], []) for call in calls]

    def feedback(self, learning: Sequence[Feedback]) -> list[Batch]:
        """Return the one batch of feedback: the oldest that is new, as much as fits, with the place of its cursor."""
        call: list[Feedback] = []
        tokens = 0
        for one in learning:
            tokens += estimate_tokens(feedback_line(_WIDEST_HANDLE, one))
            # The first goes in whatever its length: a server may read more than we would send.
            if call and tokens > self._bounds.tokens:
                break
            call.append(one)
        self.left = len(learning) - len(call)
        if not call:
            return []
        self._numbers += 1
        members = tuple((one.id, 1) for one in call)
        last = to_micros(call[-1].recorded_at)
        return [Batch(number=str(self._numbers), kind=FEEDBACK, members=members, reader=FEEDBACK, cursor=last)]

    def needs_no_call(self, found: ConsolidationMaterial) -> tuple[str, ...]:
        """Return what is new and in no batch."""
        return tuple(item.id for item in found.fresh if item.id not in self._taken)

    def _weights(self, entries: Collection[MemoryEntry]) -> dict[str, int]:
        """Return the tokens of each entry's line; what no prompt has room for is refused."""
        weights = {
            entry.id: estimate_tokens(entry_line(_WIDEST_HANDLE, entry, self._importance, MERGE_ONLY))
            for entry in entries
        }
        too_long = [record_id for record_id, weight in weights.items() if not self._bounds.hold(1, weight)]
        if too_long:
            self.refused.append(Refusal.of(Refused.PROMPT_TOO_LONG, too_long))
        return {record_id: weight for record_id, weight in weights.items() if record_id not in too_long}

    def _batch(self, kind: str, members: Sequence[MemoryEntry], others: Sequence[MemoryEntry]) -> Batch:
        self._numbers += 1
        self._taken.update(entry.id for entry in members)
        return Batch(
            number=str(self._numbers),
            kind=kind,
            members=tuple((entry.id, entry.version) for entry in members),
            beside=tuple((entry.id, entry.version) for entry in others),
        )
