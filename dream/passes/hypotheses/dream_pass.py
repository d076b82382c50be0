"""Runs the pass hypotheses: proposes what pairs of records might mean together."""

import asyncio
from collections.abc import Sequence

from dream.domain.change import ChangeSet
from dream.domain.cluster import SettledCluster
from dream.domain.guessing_passes import HYPOTHESES
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import NextRound, Round
from dream.domain.step import Batch, Packing
from dream.passes.declared import DeclaredPass
from dream.passes.hypotheses.pairs import Pair, PairSearch, apart, find_pairs, shown_pairs
from dream.passes.hypotheses.prompt import judged, question, read_guesses
from dream.passes.hypotheses.wording import PROPOSE, Guess, proposed, worded
from dream.passes.protocol import ModelContext

_KEPT = 200
"""Pairs whose records are looked at again by the next run, at most."""


class HypothesisGeneration(DeclaredPass, declaration=HYPOTHESES):
    """Looks at what is new, pairs it with what shares something rare with it, and proposes the most telling pairs.

    Without a model the host words them; with one, the model is shown them in one call, and words or declines each.
    """

    async def has_work(self, context: ModelContext) -> Work:
        """New entries, and those of which pairs are left."""
        pending = await context.read(
            lambda view: view.entries.count_material(after=context.cursor, also=context.reopened)
        )
        return Work(pending)

    async def pack(self, context: ModelContext) -> Packing:
        """Propose the best pairs, or have the model asked about them; what is left is looked at by the next run."""
        found = await find_pairs(context)
        terms = context.options.hypotheses
        asks = context.has_model and terms.asks_model
        chosen = apart(found.pairs, terms.shown if asks else terms.max_outputs)
        left = [pair for pair in found.pairs if pair not in chosen][:_KEPT]
        sets = () if asks else tuple(proposed(context, worded(pair)) for pair in chosen)
        return Packing(
            batches=(_batch(chosen),) if asks and chosen else (),
            change_sets=sets,
            cursor=found.cursor,
            looked_at=found.looked_at,
            reopen=tuple(dict.fromkeys(entry_id for pair in left for entry_id in pair.fresh)),
            refused=(*_off_limits(found), *(() if chosen else _why_none(found))),
            backlog=found.backlog,
            notes={
                "looked_at": len(found.looked_at),
                "pairs": len(found.pairs),
                "known": found.known,
                "waiting": len(left),
            },
        )

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask once what the pairs might mean; no repair: another night has other pairs."""
        if rounds:
            return None
        pairs = await shown_pairs(context, batch)
        if not pairs:
            return None
        return NextRound(question(context, _by_handle(pairs), self.instructions, self.name))

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Propose what holds; pairs that the model declined or that did not hold are not shown again."""
        items, refused = read_guesses(rounds[-1].answer)
        if any(refusal.code == Refused.BROKEN_ANSWER for refusal in refused):
            return Proposal(refused=tuple(refused))
        pairs = await shown_pairs(context, batch)
        shown, model = _by_handle(pairs), rounds[-1].model or "model"
        # Comparing texts with their sources takes longer than the event loop may stall.
        found = await asyncio.to_thread(lambda: [judged(one, shown, context.vocabulary, model) for one in items])
        refused += [one for one in found if isinstance(one, Refusal)]
        taken: dict[str, Guess] = {}
        for guess in found:
            if isinstance(guess, Guess):
                taken.setdefault(guess.pair.id, guess)
        told = list(taken.values())[: context.options.hypotheses.max_outputs]
        done = {guess.pair.id for guess in told}
        return Proposal(
            change_sets=tuple(proposed(context, guess) for guess in told),
            refused=tuple(refused),
            settled=tuple(_declined(context, pair) for pair in pairs if pair.id not in done),
            looked_at=batch.member_ids,
            # Whatever else their records share is looked at by the next run; a second look costs no call.
            reopen=batch.member_ids,
            notes={"declined": len(pairs) - len(done)},
        )

    def made(self, change_sets: Sequence[ChangeSet]) -> Notes:
        """Count what was proposed."""
        return {"proposed": sum(one.operation == PROPOSE for one in change_sets)}

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over packing and batch."""
        return summed(notes, *self.notes)


def _batch(pairs: Sequence[Pair]) -> Batch:
    told = [pair.claims or pair.entries for pair in pairs]
    fresh = [pair.fresh[:1] for pair in pairs]
    ordered = [
        (one, other) if not new or one.id in new else (other, one)
        for (one, other), new in zip(told, fresh, strict=True)
    ]
    return Batch(
        number="1",
        kind="pairs",
        members=tuple((one.id, one.version) for one, _ in ordered),
        beside=tuple((other.id, other.version) for _, other in ordered),
    )


def _by_handle(pairs: Sequence[Pair]) -> dict[tuple[str, str], Pair]:
    return {(f"e{2 * place - 1}", f"e{2 * place}"): pair for place, pair in enumerate(pairs, 1)}


def _declined(context: ModelContext, pair: Pair) -> SettledCluster:
    ids = tuple(sorted(ref.id for ref in pair.refs))
    return SettledCluster(fingerprint=pair.id, record_ids=ids, declines=1, declined_at=context.as_of)


def _off_limits(found: PairSearch) -> list[Refusal]:
    return [Refusal(Refused.OFF_LIMITS, f"{found.off_limits} pairs")] if found.off_limits else []


def _why_none(found: PairSearch) -> list[Refusal]:
    """Return why nothing came of a look, with counts."""
    if found.usable < 2:
        return [Refusal(Refused.TOO_FEW_SOURCES, f"{found.usable} usable; two are the least")]
    if found.known:
        return [Refusal(Refused.KNOWN_ALREADY, f"all {found.known} pairs were looked at before")]
    return []
