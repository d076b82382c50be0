"""Re-evaluates hypotheses: those that lost a source go stale, and what came after the others is held against them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Final

from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.hypothesis import VISIBLE, Bearing, Hypothesis, HypothesisSourceKind, HypothesisState
from agentcore.domain.memory import MemoryEntry
from agentcore.stores.values import EntryMaterial
from dream.domain.change import Change, ChangeSet
from dream.domain.guessing_passes import RE_EVALUATE
from dream.domain.proposal import Notes, Proposal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import NextRound, Round
from dream.domain.step import Batch, Packing
from dream.passes.declared import DeclaredPass
from dream.passes.protocol import ModelContext, PassView
from dream.passes.weighing import WeighingQuestion, counted, mark_of, still_weighed, unweighed

EVALUATE: Final = "re_evaluate"
WEIGH: Final = "weigh_evidence"
INTACT: Final = "all its sources are intact, which proves nothing"
EXPIRED: Final = "nobody decided about it in time"
_MOST_TOUCHING: Final = 20
_LOOKED_AT: Final = 500
"""New entries held against hypotheses in one run."""
_NEIGHBOURS: Final = 12
_ASKED_ABOUT: Final = 20
"""Entries that a model weighs in one run, in one call."""


class ReEvaluate(DeclaredPass, declaration=RE_EVALUATE):
    """Looks at every hypothesis in sight; a night that it survives moves neither its rank nor its likelihood.

    What came after one and touches it is listed. With a model, the model is asked what that says of it, in one call a
    run, and what is independent evidence for it raises its likelihood; without one nothing is counted.
    """

    async def has_work(self, context: ModelContext) -> Work:
        """Hypotheses that lost a source, expired, or were proposed since, and what came after those in sight."""
        in_sight = await context.read(lambda view: view.hypotheses.visible_count())
        if not in_sight:
            return Work(0)
        due = await context.read(lambda view: len(_due(view, context.as_of)))
        to_weigh = len(await _to_weigh(context, {})) if _asks(context) else 0
        return Work(due + await _pending(context) + to_weigh)

    async def pack(self, context: ModelContext) -> Packing:
        """Move what is due, list what new entries touch, and have the model asked what that says."""
        due = await context.read(lambda view: _due(view, context.as_of))
        now, later = due[: context.options.step_size], due[context.options.step_size :]
        fresh = await _fresh(context)
        touched = await _touched(context, fresh, {after.id: after for _, after in now})
        moved = {before.id: (before, after) for before, after in now} | touched
        asked = await _to_weigh(context, {name: after for name, (_, after) in moved.items()}) if _asks(context) else []
        pending = await _pending(context)
        return Packing(
            batches=tuple(_batches(asked, moved)),
            change_sets=tuple(map(_change, moved.values())),
            cursor=max([context.cursor, *(item.position for item in fresh)]) if fresh else None,
            looked_at=tuple(item.id for item in fresh),
            backlog=max(0, pending - len(fresh))
            + len(later)
            + max(0, len({one.id for _, one in asked}) - _ASKED_ABOUT),
            notes={**_notes(now), "touched": len(touched)},
        )

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask once what the entries say of the hypotheses; no repair: what is not answered well counts for nothing."""
        if rounds:
            return None
        asked = await context.read(lambda view: WeighingQuestion.of(view, batch))
        return NextRound(asked.request(context, self.instructions)) if asked.pairs else None

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Keep what the answer says of each hypothesis, and count what is independent evidence for it."""
        asked = await context.read(lambda view: WeighingQuestion.of(view, batch))
        found, refused = asked.read(rounds[-1].answer, rounds[-1].model or "model")
        if any(one.code == Refused.BROKEN_ANSWER for one in refused):
            return Proposal(refused=tuple(refused))
        weighed = [
            (
                asked.guesses[handle],
                await context.read(lambda view, h=handle: counted(view, asked.guesses[h], found[h])),
            )
            for handle in found
        ]
        return Proposal(
            change_sets=tuple(_weighed(before, after) for before, after in weighed),
            refused=tuple(refused),
            looked_at=batch.member_ids,
            notes={"weighed": sum(map(len, found.values()))},
        )

    def made(self, change_sets: Sequence[ChangeSet]) -> Notes:
        """Count the hypotheses that got independent evidence."""
        pairs = [(one.before, one.after) for told in change_sets if told.operation == WEIGH for one in told.changes]
        raised = [
            after
            for before, after in pairs
            if isinstance(before, Hypothesis) and isinstance(after, Hypothesis) and after.support > before.support
        ]
        return {"supported": len(raised)}

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over packing and batch."""
        return summed(notes, *self.notes)


_Move = tuple[Hypothesis, Hypothesis]
_Pair = tuple[Hypothesis, MemoryEntry]


def _asks(context: ModelContext) -> bool:
    return context.has_model and context.options.hypotheses.asks_model


def _due(view: PassView, as_of: datetime) -> list[_Move]:
    """Return the hypotheses that move, before and after."""
    in_sight = view.hypotheses.in_states(VISIBLE)
    lost = view.hypotheses.lost_sources(in_sight)
    weighed = view.entries.get_many({piece.entry_id for one in in_sight for piece in one.weighed})
    entries = {one.id: one for one in weighed}
    moved: list[_Move] = []
    for one in in_sight:
        why = lost.get(one.id) or (EXPIRED if one.expires_at <= as_of else None)
        after = still_weighed(one, entries)
        if why is not None:
            after = after.moved(HypothesisState.STALE, reason=why, at=as_of)
        elif one.state is HypothesisState.PROPOSED and one.created_at < as_of:
            after = after.moved(HypothesisState.REINFORCED, reason=INTACT, at=as_of)
        if after is not one:
            moved.append((one, replace(after, evaluated_at=as_of)))
    return moved


def _change(moved: _Move) -> ChangeSet:
    before, after = moved
    if after.state is not before.state:
        reason = after.state_reason or EVALUATE
    elif after.weighed != before.weighed:
        reason = "what was weighed for it is gone or says something else"
    else:
        reason = "something new touches it"
    return ChangeSet(operation=EVALUATE, changes=(Change(before=before, after=after, reason=reason),))


def _weighed(before: Hypothesis, after: Hypothesis) -> ChangeSet:
    """Return the change that keeps what was weighed; whoever takes it back has it weighed no more."""
    new = [one for one in after.weighed if one not in before.weighed]
    said = [one.bearing for one in new]
    told = f"{said.count(Bearing.SUPPORTS)} for it, {said.count(Bearing.CONTRADICTS)} against it"
    reason = f"{len(new)} weighed: {told}; {after.support - before.support} of them new and independent"
    change = Change(before=before, after=after, reason=reason)
    return ChangeSet(operation=WEIGH, changes=(change,), fingerprints={after.id: mark_of(after.id)})


def _notes(moved: Sequence[_Move]) -> dict[str, int]:
    afters = [after for before, after in moved if after.state is not before.state]
    stale = [one for one in afters if one.state is HypothesisState.STALE]
    return {
        "evaluated": len(moved),
        "reinforced": len(afters) - len(stale),
        "stale": len(stale),
        "expired": sum(one.state_reason == EXPIRED for one in stale),
    }


async def _pending(context: ModelContext) -> int:
    return await context.read(lambda view: view.entries.count_material(after=context.cursor, also=context.reopened))


async def _fresh(context: ModelContext) -> list[EntryMaterial]:
    return await context.read(
        lambda view: view.entries.material(after=context.cursor, also=context.reopened, limit=_LOOKED_AT)
    )


async def _to_weigh(context: ModelContext, moved: Mapping[str, Hypothesis]) -> list[_Pair]:
    """Return what touches hypotheses in sight and was not weighed, as they are after this step, oldest entry first."""

    def look(view: PassView) -> list[_Pair]:
        in_sight = [moved.get(one.id, one) for one in view.hypotheses.in_states(VISIBLE)]
        ids = {ref.id for one in in_sight if one.is_visible for ref in one.touching}
        entries = [one for one in view.entries.get_many(ids) if one.is_active]
        return [(one, entry) for one in in_sight if one.is_visible for entry in unweighed(one, entries)]

    found = await context.read(look)
    declined = await context.declined({mark_of(one.id) for one, _ in found})
    left = [(one, entry) for one, entry in found if mark_of(one.id) not in declined]
    return sorted(left, key=lambda pair: (pair[1].recorded_at, pair[1].id, pair[0].id))


def _batches(asked: Sequence[_Pair], moved: Mapping[str, _Move]) -> Iterable[Batch]:
    """Yield the one batch of a run: entries, and beside them the hypotheses in the version that packing leaves."""
    entries = dict(islice({entry.id: entry.version for _, entry in asked}.items(), _ASKED_ABOUT))
    guesses = {one.id: one.version + (one.id in moved) for one, entry in asked if entry.id in entries}
    if entries:
        yield Batch(number="1", kind="evidence", members=tuple(entries.items()), beside=tuple(guesses.items()))


async def _touched(
    context: ModelContext, fresh: Sequence[EntryMaterial], moved: Mapping[str, Hypothesis]
) -> dict[str, _Move]:
    """List new entries beside the hypotheses of which they share rare words with two sources; none of them counts."""
    in_sight = await context.read(lambda view: view.hypotheses.in_states(VISIBLE))
    shared = await context.recall.sharing([item.key for item in fresh] if in_sight else [], limit=_NEIGHBOURS)
    keys = sorted({*shared, *(one.key for found in shared.values() for one in found)})
    entries = await context.read(lambda view: view.entries.by_keys(keys))
    resting = await context.read(lambda view: _resting(view, in_sight))
    since = {one.id: one.created_at for one in in_sight}
    met: dict[str, set[SourceRef]] = {}
    for item in fresh:
        new = entries.get(item.key)
        beside = {entries[one.key].id for one in shared.get(item.key, ()) if one.key in entries}
        hits = {hit for entry_id in beside for hit in resting.get(entry_id, ())}
        names = [name for name, _ in hits]
        for name in {one for one in names if names.count(one) > 1 and new is not None and new.recorded_at > since[one]}:
            met.setdefault(name, set()).add(SourceRef(SourceKind.ENTRY, item.id))
    told: dict[str, _Move] = {}
    for one in in_sight:
        found = met.get(one.id, set()) - set(one.touching) - set(one.sources)
        if found and len(one.touching) < _MOST_TOUCHING:
            after = moved.get(one.id, one)
            told[one.id] = (one, replace(after, touching=tuple(sorted({*one.touching, *found}))[:_MOST_TOUCHING]))
    return told


def _resting(view: PassView, hypotheses: Iterable[Hypothesis]) -> dict[str, set[tuple[str, str]]]:
    """Return per entry which source of which hypothesis it is, or says: an entry, or what a claim was taken from."""
    found: dict[str, set[tuple[str, str]]] = {}
    in_sight = list(hypotheses)
    named = {ref.id for one in in_sight for ref in one.source_refs if ref.kind is HypothesisSourceKind.CLAIM}
    claims = {one.id: one for one in view.claims.get_many(named)}
    for one in in_sight:
        for ref in one.source_refs:
            claim = claims.get(ref.id)
            said = () if claim is None else (*(source.id for source in claim.sources), claim.fact or "")
            for entry_id in (ref.id, *said):
                found.setdefault(entry_id, set()).add((one.id, str(ref)))
    return found
