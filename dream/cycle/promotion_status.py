"""Explains why entries are promoted, or are not: what a sweep would find, told for each of them."""

from collections.abc import Collection
from datetime import datetime

from agentcore.domain.scope import Scope
from agentcore.errors import UnknownRecordError
from agentcore.hosting.services import HostServices
from agentcore.stores.storage import ReadView
from agentcore.workspace.folder import MEMORY
from dream.cycle.running.context import ContextFactory
from dream.domain.built_in_passes import PROMOTION
from dream.domain.candidate import Candidate, PromotionGate, PromotionStanding
from dream.domain.reasons import Refused
from dream.options import DreamOptions
from dream.passes.promotion.blocks import unfit
from dream.passes.promotion.dream_pass import finds_room
from dream.passes.promotion.gates import GATES
from dream.passes.promotion.sweep import Sweep, look, settle
from dream.stores import dream_stores


async def promotion_status(
    parts: HostServices, options: DreamOptions, scope: Scope, *, entry_id: str | None, limit: int, now: datetime
) -> PromotionStanding:
    """Return how promotion stands, as a sweep would find it at *now*.

    Args:
        parts: What the host offers.
        options: Its options.
        scope: Whose memory.
        entry_id: The one entry to tell about; None for the best.
        limit: How many of these.
        now: The instant to judge by.

    Raises:
        UnknownRecordError: there is no such entry.
    """
    contexts = ContextFactory(
        parts=parts, scope=scope, options=options, pass_name=PROMOTION.name, run_id="explain", as_of=now
    )
    context = await contexts.plain(0)
    sweep = await look(context)
    found, row = sweep.scored, None if entry_id is None else sweep.scored.row(entry_id)
    # The one best is told of in any case: what the most is that an entry has.
    best = await settle(context, found, lambda: found.best(max(limit, 1)))
    await settle(context, found, lambda: [] if row is None else [row])
    ids = [found.recalls.ids[one] for one in best[:limit]] if entry_id is None else [entry_id]
    teller = _Teller(sweep, options, is_full=not await finds_room(context, sweep))
    return await parts.storage.read(scope, lambda view: teller.standing(view, ids))


class _Teller:
    def __init__(self, sweep: Sweep, options: DreamOptions, *, is_full: bool) -> None:
        self._sweep = sweep
        self._options = options.promotion
        self._size_cap = options.documents.size_cap
        self._is_full = is_full
        self._needs = {name: float(getattr(options.promotion, name)) for name in GATES}
        self._weights = sweep.scored.scorer.weights

    def standing(self, view: ReadView, ids: list[str]) -> PromotionStanding:
        recalls = self._sweep.scored.recalls
        most = dict(zip(GATES, (recalls.count, recalls.queries, recalls.days, self._sweep.scored.score), strict=True))
        best = [PromotionGate(name, float(has.max()), self._needs[name]) for name, has in most.items() if len(recalls)]
        memory, undone = view.documents.get(MEMORY), _undone(view)
        return PromotionStanding(
            recalled=len(recalls),
            promoted=dream_stores(view).promotions.count() - len(undone),
            candidates=tuple(self._candidate(view, one, undone) for one in ids),
            best=tuple(best),
            waits_for_room=len(self._sweep.chosen) if self._is_full else 0,
            memory_size=0 if memory is None else len(memory.content),
            size_cap=self._size_cap,
        )

    def _candidate(self, view: ReadView, entry_id: str, undone: Collection[str]) -> Candidate:
        entry = view.entries.get(entry_id)
        if entry is None:
            raise UnknownRecordError(kind="entry", value=entry_id)
        found, row = self._sweep.scored, self._sweep.scored.row(entry_id)
        refusal = unfit(entry, self._options)
        barred = "not_active" if not entry.is_active else None if refusal is None else refusal.code
        if entry_id in {line.entry_id for line in self._sweep.already_said}:
            barred = "already_said"
        barred = self._sweep.withheld.get(entry_id, Refused.UNDONE_BY_PERSON if entry_id in undone else barred)
        is_chosen = entry_id in {line.entry_id for line in self._sweep.chosen}
        if is_chosen and self._is_full:
            barred = Refused.DOCUMENT_FULL
        has = [0.0] * len(GATES)
        if row is not None:
            recalls = found.recalls
            has = [float(one[row]) for one in (recalls.count, recalls.queries, recalls.days, found.score)]
        return Candidate(
            entry_id=entry_id,
            content=entry.content,
            score=has[-1],
            components={}
            if row is None
            else {name: (float(part[row]), self._weights.get(name, 1.0)) for name, part in found.parts.items()},
            gates=tuple(PromotionGate(name, one, self._needs[name]) for name, one in zip(GATES, has, strict=True)),
            barred=barred,
            promotion=None if entry_id in undone else dream_stores(view).promotions.of(entry_id),
            is_chosen=is_chosen and not self._is_full,
        )


def _undone(view: ReadView) -> set[str]:
    """Return the promoted entries whose promotion a person took back, and nobody brought back since."""
    books, gone = dream_stores(view), set[str]()
    for run_id, promoted in books.promotions.by_run().items():
        undo = books.runs.undo_of(run_id)
        if undo is not None:
            touched = {row.record_id for row in books.journal.of_run(undo)}
            gone.update(one for one in promoted if one in touched or MEMORY in touched)
    return gone
