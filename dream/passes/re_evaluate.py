"""Re-evaluates hypotheses: those that lost a source or expired go stale, those with intact sources stay in sight."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.hypothesis import VISIBLE, Hypothesis, HypothesisState
from dream.domain.change import Change, ChangeSet
from dream.domain.guessing_passes import RE_EVALUATE
from dream.domain.proposal import Notes, Proposal, Work, summed
from dream.passes.declared import DeclaredPass
from dream.passes.protocol import DreamContext, PassView

EVALUATE: Final = "re_evaluate"
INTACT: Final = "all its sources are intact, which proves nothing"
EXPIRED: Final = "nobody decided about it in time"
_MOST_TOUCHING: Final = 20
_LOOKED_AT: Final = 500
"""New entries held against hypotheses in one run."""
_NEIGHBOURS: Final = 12


class ReEvaluate(DeclaredPass, declaration=RE_EVALUATE):
    """Looks at every hypothesis in sight; a night that it survives moves neither its rank nor its likelihood."""

    async def has_work(self, context: DreamContext) -> Work:
        """Hypotheses that lost a source, expired, or were proposed since; with any in sight, new entries too."""
        due = await context.read(lambda view: len(_due(view, context.as_of)))
        in_sight = await context.read(lambda view: view.hypotheses.visible_count())
        return Work(due + (await _pending(context) if in_sight else 0))

    async def propose(self, context: DreamContext) -> Proposal:
        """Move what is due, as many as one step holds, and list what new entries touch."""
        due = await context.read(lambda view: _due(view, context.as_of))
        now, later = due[: context.options.step_size], due[context.options.step_size :]
        if later:
            return Proposal(change_sets=tuple(map(_change, now)), notes=_notes(now), done=False)
        touched, cursor, looked_at, left = await _touched(context, {before.id: after for before, after in now})
        moved = {before.id: (before, after) for before, after in now} | touched
        return Proposal(
            change_sets=tuple(map(_change, moved.values())),
            notes={**_notes(now), "touched": len(touched)},
            cursor=cursor,
            looked_at=looked_at,
            backlog=left,
        )

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over the steps."""
        return summed(notes, *self.notes)


_Move = tuple[Hypothesis, Hypothesis]


def _due(view: PassView, as_of: datetime) -> list[_Move]:
    """Return the hypotheses that move, before and after."""
    in_sight = view.hypotheses.in_states(VISIBLE)
    lost = view.hypotheses.lost_sources(in_sight)
    moved: list[_Move] = []
    for one in in_sight:
        why = lost.get(one.id) or (EXPIRED if one.expires_at <= as_of else None)
        if why is not None:
            after = one.moved(HypothesisState.STALE, reason=why, at=as_of)
        elif one.state is HypothesisState.PROPOSED and one.created_at < as_of:
            after = one.moved(HypothesisState.REINFORCED, reason=INTACT, at=as_of)
        else:
            continue
        moved.append((one, replace(after, evaluated_at=as_of)))
    return moved


def _change(moved: _Move) -> ChangeSet:
    before, after = moved
    reason = after.state_reason if after.state is not before.state else "something new touches it"
    return ChangeSet(operation=EVALUATE, changes=(Change(before=before, after=after, reason=reason or EVALUATE),))


def _notes(moved: Sequence[_Move]) -> dict[str, int]:
    afters = [after for _, after in moved]
    stale = [one for one in afters if one.state is HypothesisState.STALE]
    return {
        "evaluated": len(afters),
        "reinforced": len(afters) - len(stale),
        "stale": len(stale),
        "expired": sum(one.state_reason == EXPIRED for one in stale),
    }


async def _pending(context: DreamContext) -> int:
    return await context.read(lambda view: view.entries.count_material(after=context.cursor, also=context.reopened))


async def _touched(
    context: DreamContext, moved: Mapping[str, Hypothesis]
) -> tuple[dict[str, _Move], int | None, tuple[str, ...], int]:
    """List new entries beside the hypotheses of which they share rare words with two sources; none of them counts."""
    in_sight = await context.read(lambda view: view.hypotheses.in_states(VISIBLE))
    fresh = await context.read(
        lambda view: view.entries.material(after=context.cursor, also=context.reopened, limit=_LOOKED_AT)
    )
    left = max(0, await _pending(context) - len(fresh))
    shared = await context.recall.sharing([item.key for item in fresh] if in_sight else [], limit=_NEIGHBOURS)
    keys = sorted({*shared, *(one.key for found in shared.values() for one in found)})
    entries = await context.read(lambda view: view.entries.by_keys(keys))
    resting: dict[str, set[str]] = {}
    since = {one.id: one.created_at for one in in_sight}
    for one in in_sight:
        for ref in one.sources:
            resting.setdefault(ref.id, set()).add(one.id)
    met: dict[str, set[SourceRef]] = {}
    for item in fresh:
        beside = {entries[one.key].id for one in shared.get(item.key, ()) if one.key in entries}
        hits = [guess for entry_id in beside for guess in resting.get(entry_id, ())]
        new = entries.get(item.key)
        for guess in {one for one in hits if hits.count(one) > 1 and new is not None and new.recorded_at > since[one]}:
            met.setdefault(guess, set()).add(SourceRef(SourceKind.ENTRY, item.id))
    told: dict[str, _Move] = {}
    for one in in_sight:
        new = met.get(one.id, set()) - set(one.touching) - set(one.sources)
        if new and len(one.touching) < _MOST_TOUCHING:
            after = moved.get(one.id, one)
            every = tuple(sorted({*one.touching, *new}))[:_MOST_TOUCHING]
            told[one.id] = (one, replace(after, touching=every))
    cursor = max([context.cursor, *(item.position for item in fresh)]) if fresh else None
    return told, cursor, tuple(item.id for item in fresh), left
