"""Near-duplicate search: finds entries that share most of their rare words, and never merges.

No measure tells a paraphrase from a contradiction, so what is found are candidates: for the model, or for a person.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import MemoryEntry
from agentcore.recall.results import Neighbour
from agentcore.stores.values import EntryMaterial
from dream.domain.built_in_passes import NEAR_DUPLICATES
from dream.domain.proposal import Notes, Proposal, Work, summed
from dream.passes.declared import DeclaredPass
from dream.passes.protocol import DreamContext

_STEP = 250
"""Entries looked at in one step."""
_MANY = 100_000
"""Active entries beyond which the time that looking at one takes grows with them."""


class NearDuplicates(DeclaredPass, declaration=NEAR_DUPLICATES):
    """Looks at new and changed entries, a bounded number per run, and lists clusters of candidates."""

    async def has_work(self, context: DreamContext) -> Work:
        """Anything new or reopened has to be compared."""
        return Work(await _pending(context))

    async def propose(self, context: DreamContext) -> Proposal:
        """Look at the next entries."""
        tuning = context.options.near_duplicates
        bound = await _bound(context)
        room = max(1, min(_STEP, bound - context.looked_at))
        batch = await context.read(
            lambda view: view.entries.material(after=context.cursor, also=context.reopened, limit=room),
        )
        found = await context.recall.similar(
            [item.key for item in batch], threshold=tuning.threshold, limit=tuning.neighbours
        )
        pairs = await _pairs(context, batch, found)
        left = max(0, await _pending(context) - len(batch))
        return Proposal(
            notes={"compared": len(batch), "pairs": pairs},
            cursor=max([context.cursor, *(item.position for item in batch)]),
            looked_at=tuple(item.id for item in batch),
            backlog=left,
            done=left == 0 or not batch or context.looked_at + len(batch) >= bound,
        )

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Join the pairs of all steps to clusters."""
        likeness: dict[tuple[str, str], float] = {}
        for note in notes:
            likeness.update({(first, second): score for first, second, score in note.get("pairs", ())})
        return {**summed(notes, "compared"), "clusters": _clusters(likeness)}


async def _bound(context: DreamContext) -> int:
    """Return how many entries one run looks at, so that it takes about as long whatever the scope holds."""
    active = await context.read(lambda view: view.entries.count(EntryFilter()))
    return max(1, context.options.near_duplicates.max_entries * _MANY // max(_MANY, active))


async def _pending(context: DreamContext) -> int:
    return await context.read(
        lambda view: view.entries.count_material(after=context.cursor, also=context.reopened),
    )


async def _pairs(
    context: DreamContext, batch: Sequence[EntryMaterial], found: Mapping[int, Sequence[Neighbour]]
) -> list[list[Any]]:
    """Return (id, id, similarity) of candidates that are active, each pair once, ids in order."""
    keys = sorted({neighbour.key for neighbours in found.values() for neighbour in neighbours})
    entries: Mapping[int, MemoryEntry] = await context.read(lambda view: view.entries.by_keys(keys))
    ids = {item.key: item.id for item in batch}
    pairs = {
        tuple(sorted((ids[key], entries[neighbour.key].id))): neighbour.similarity
        for key, neighbours in found.items()
        for neighbour in neighbours
        if neighbour.key in entries and entries[neighbour.key].is_active
    }
    return [[*pair, round(similarity, 4)] for pair, similarity in sorted(pairs.items())]


def _clusters(likeness: Mapping[tuple[str, str], float]) -> list[dict[str, Any]]:
    """Join pairs by single link; the most alike cluster comes first."""
    member_of: dict[str, set[str]] = {}
    for first, second in likeness:
        joined = member_of.get(first, {first}) | member_of.get(second, {second})
        for entry_id in joined:
            member_of[entry_id] = joined
    best: dict[tuple[str, ...], float] = {}
    for (first, _), similarity in likeness.items():
        cluster = tuple(sorted(member_of[first]))
        best[cluster] = max(similarity, best.get(cluster, 0.0))
    ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    return [{"entries": list(cluster), "similarity": similarity} for cluster, similarity in ranked]
