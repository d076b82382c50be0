"""Near-duplicate search: finds entries that share most of their rare words, and never merges.

No measure tells a paraphrase from a contradiction, so what is found are candidates: for the model, or for a person,
who is asked about each cluster.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import MemoryEntry, SourceKind, SourceRef, last_rewrite
from agentcore.domain.question import Question, QuestionCause
from agentcore.recall.results import Neighbour
from agentcore.stores.values import EntryMaterial
from dream.domain.built_in_passes import NEAR_DUPLICATES
from dream.domain.proposal import Notes, Proposal, Work, summed
from dream.passes.declared import DeclaredPass
from dream.passes.protocol import DreamContext, PassView
from dream.passes.questions import question_about

_STEP = 250
"""Entries looked at in one step."""
_MANY = 100_000
"""Active entries beyond which the time that looking at one takes grows with them."""
_QUESTION: Final = "Do these say the same, or is one of them out of date?"

Pair = tuple[str, str]
"""Ids of two entries, in order."""


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
            [item.key for item in batch], threshold=tuning.threshold, limit=tuning.neighbours, text_alone=True
        )
        likeness = await _likeness(context, batch, found)
        pairs = [[*pair, similarity] for pair, similarity in sorted(likeness.items())]
        left = max(0, await _pending(context) - len(batch))
        return Proposal(
            questions=await _questions(context, likeness),
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


async def _likeness(
    context: DreamContext, batch: Sequence[EntryMaterial], found: Mapping[int, Sequence[Neighbour]]
) -> dict[Pair, float]:
    """Return the similarity of candidates that are active, each pair once, ids in order; not of those judged before."""
    keys = sorted({neighbour.key for neighbours in found.values() for neighbour in neighbours})
    entries: Mapping[int, MemoryEntry] = await context.read(lambda view: view.entries.by_keys(keys))
    ids = {item.key: item.id for item in batch}
    pairs = {
        _pair(ids[key], entries[neighbour.key].id): round(neighbour.similarity, 4)
        for key, neighbours in found.items()
        for neighbour in neighbours
        if neighbour.key in entries and entries[neighbour.key].is_active
    }
    judged = await context.read(lambda view: _judged(view, pairs))
    return {pair: similarity for pair, similarity in pairs.items() if pair not in judged}


def _pair(one: str, other: str) -> Pair:
    return (one, other) if one <= other else (other, one)


def _judged(view: PassView, pairs: Collection[Pair]) -> set[Pair]:
    """Return the pairs of which a person said how they stand to each other, and whose texts are still the same."""
    named = {entry_id for pair in pairs for entry_id in pair}
    answered = [one for one in view.questions.naming(map(_ref, named)) if not one.is_open]
    if not answered:
        return set()
    entries = {entry.id: entry for entry in view.entries.get_many(named)}
    return {
        pair
        for pair in pairs
        for one in answered
        if one.names([_ref(entry_id) for entry_id in pair])
        and one.still_answers(last_rewrite(entries[entry_id] for entry_id in pair))
    }


async def _questions(context: DreamContext, likeness: Mapping[Pair, float]) -> tuple[Question, ...]:
    """Return one question for each cluster of the step."""
    clusters = _clusters(likeness)
    ids = [entry_id for cluster in clusters for entry_id in cluster["entries"]]
    versions = {entry.id: entry.version for entry in await context.read(lambda view: view.entries.get_many(ids))}
    return tuple(
        question_about(
            context,
            QuestionCause.NEAR_DUPLICATE,
            {one: versions.get(one, 0) for one in cluster["entries"]},
            _QUESTION,
            similarity=cluster["similarity"],
        )
        for cluster in clusters
    )


def _ref(entry_id: str) -> SourceRef:
    return SourceRef(SourceKind.ENTRY, entry_id)


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
