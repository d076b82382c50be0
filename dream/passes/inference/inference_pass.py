"""Runs a pass that draws conclusions: it may search first; the host and a reader check what it concludes."""

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, TypeAlias, cast

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.question import Question, QuestionCause
from agentcore.domain.text import fold_key
from agentcore.llm.chat import ChatRequest
from agentcore.stores.storage import ReadView
from dream.domain.change import ChangeSet
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, NextRound, Round, RoundKind
from dream.domain.step import Batch, Packing
from dream.options import VerificationMode
from dream.passes.conflicts import SideEvidence, speakers_by_entry
from dream.passes.declared import DeclaredPass
from dream.passes.exchange_state import Item, Settled
from dream.passes.inference.card_edits import CARD_ADD, CARD_REMOVE, CARD_REPLACE, OPERATIONS, CardEdit, card_change_set
from dream.passes.inference.judging import DEDUCE, GENERALISE, RESOLVE, UPDATE, Drawn, InferenceRules, change_set_of
from dream.passes.inference.lookups import MOST_LOOKUPS, look_up, searches_of
from dream.passes.inference.packing import count, pack
from dream.passes.inference.premises import depths_of
from dream.passes.inference.prompt import AnswerShape, RecordHandles, question
from dream.passes.protocol import ModelContext
from dream.passes.questions import question_about
from dream.passes.verified_exchange import VerifiedExchange, unverified

Inferred: TypeAlias = Drawn | CardEdit
"""What an answer makes that a reader has to check."""


class InferencePass(DeclaredPass, ABC):
    """Draws conclusions from what is new and what is like it; every new entry is looked at once.

    Lives as long as the process, for all scopes, and holds nothing.
    """

    shape: ClassVar[AnswerShape]
    """What it reads of an answer."""

    def shape_for(self, _context: ModelContext) -> AnswerShape:
        """Return what it reads of an answer in a scope with these options."""
        return self.shape

    async def has_work(self, context: ModelContext) -> Work:
        """New entries; where nobody would read a conclusion a second time, only that it has to say so."""
        if context.options.verification is VerificationMode.OFF:
            return Work(0, reports=True)
        return Work(await count(context, self.shape_for(context)))

    async def pack(self, context: ModelContext) -> Packing:
        """Put entries that are alike into one batch, with what they took the place of and what was concluded."""
        if context.options.verification is VerificationMode.OFF:
            return Packing(batches=(), refused=(Refusal(Refused.NEEDS_VERIFIER, self.name),))
        return await pack(context, self.shape_for(context))

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask what follows; carry searches out and ask again; then have what was concluded read a second time."""
        if rounds and len(rounds) <= MOST_LOOKUPS and _is_looking(rounds):
            searches, _ = searches_of(rounds[-1].answer)
            if searches:
                return await self._after_lookup(context, batch, rounds)
        return await self._exchange(context, batch, rounds).next_round(rounds)

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Make of the answer what follows."""
        outcome = await self._exchange(context, batch, rounds).outcome(rounds)
        searched = [searches_of(one.answer) for one in rounds if one.kind is not RoundKind.VERIFICATION]

        def changes(settled: Sequence[Settled[Inferred]]) -> tuple[ChangeSet, ...]:
            return tuple(self._changes(context, one) for one in settled if not one.value.asks)

        found = [one.value for one in (*outcome.settled, *outcome.for_review)]
        asked = [one for one in found if isinstance(one, Drawn) and one.asks]
        return Proposal(
            change_sets=changes(outcome.settled),
            for_review=changes(outcome.for_review),
            questions=tuple(_question(context, one) for one in asked),
            refused=(*(one for _, refused in searched for one in refused), *outcome.refused, *outcome.unread),
            notes={
                "reviewed": len(batch.members),
                "searches": sum(len(items) for items, _ in searched[:MOST_LOOKUPS]),
                "contradictions": len(asked),
                **outcome.notes,
            },
            looked_at=batch.member_ids,
            waits=outcome.waits,
            undecided=changes(list(map(unverified, outcome.undecided))),
        )

    def _changes(self, context: ModelContext, settled: Settled[Inferred]) -> ChangeSet:
        if isinstance(settled.value, CardEdit):
            of_card = cast("Settled[CardEdit]", settled)
            return card_change_set(of_card, context.new_id(), context.as_of, self.name)
        return change_set_of(cast("Settled[Drawn]", settled), context.new_id(), context.as_of)

    def made(self, change_sets: Sequence[ChangeSet]) -> Notes:
        """Count what was concluded."""
        settled = [one for one in change_sets if one.operation == RESOLVE]
        edits = Counter(one.operation for one in change_sets)
        drawn = [one for one in change_sets if one.operation not in OPERATIONS.values()]
        new = [one for one in drawn if one.changes[0].before is None]
        before = [one.changes[0].before for one in drawn]
        revived = [one for one in before if isinstance(one, MemoryEntry) and one.lost_premises]
        return {
            "deduced": sum(one.operation == DEDUCE for one in new),
            "updated": sum(one.operation == UPDATE for one in new),
            "patterns": sum(one.operation == GENERALISE for one in new),
            "resolved": len(settled),
            "repointed": len(revived),
            "reinforced": len(drawn) - len(new) - len(settled) - len(revived),
            "card_added": edits[CARD_ADD],
            "card_replaced": edits[CARD_REPLACE],
            "card_removed": edits[CARD_REMOVE],
        }

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over the batches."""
        return summed(notes, *self.notes)

    @abstractmethod
    def judge(self, answer: Answer, rules: InferenceRules) -> tuple[Sequence[Item[Inferred]], Sequence[Refusal]]:
        """Return what of an answer a reader has to check, and why the rest is not taken."""

    @abstractmethod
    def texts(self, answer: Answer) -> Sequence[str]:
        """Return what the items of an answer say."""

    async def _after_lookup(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        shown = await context.read(lambda view: RecordHandles.of(view, batch, rounds))
        searches, _ = searches_of(rounds[-1].answer)
        found = await look_up(context, searches, dict.fromkeys(shown.ids.values()))
        wider = await context.read(lambda view: RecordHandles.of(view, batch, rounds, found.versions))
        may_search = len(rounds) < MOST_LOOKUPS and bool(found.versions)
        request = self._request(context, wider, may_search=may_search)
        return NextRound(request, RoundKind.LOOKUP, shown=found.versions)

    def _request(self, context: ModelContext, shown: RecordHandles, *, may_search: bool) -> ChatRequest:
        return question(context, self.shape_for(context), shown, self.instructions, self.name, may_search=may_search)

    def _exchange(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> VerifiedExchange[Inferred]:
        async def asked(_handles: frozenset[str] | None) -> ChatRequest | None:
            shown = await context.read(lambda view: RecordHandles.of(view, batch, ()))
            if shown.fresh.isdisjoint(shown.entries):
                return None
            return self._request(context, shown, may_search=True)

        async def judged(answer: Answer) -> tuple[Sequence[Item[Inferred]], Sequence[Refusal]]:
            rules = await context.read(lambda view: _rules(view, context, batch, rounds, self.texts(answer)))
            # Comparing texts takes longer than the event loop may stall.
            return await asyncio.to_thread(self.judge, answer, rules)

        return VerifiedExchange(
            context=context, batch=batch, name=self.shape.name, question=asked, judge=judged, repairs=0
        )


def _is_looking(rounds: Sequence[Round]) -> bool:
    return all(one.kind in {RoundKind.QUESTION, RoundKind.LOOKUP} for one in rounds)


def _question(context: ModelContext, drawn: Drawn) -> Question:
    versions = {entry.id: entry.version for entry in drawn.entries}
    return question_about(context, QuestionCause.CONTRADICTION, versions, drawn.content)


def _rules(
    view: ReadView, context: ModelContext, batch: Batch, rounds: Sequence[Round], texts: Sequence[str]
) -> InferenceRules:
    shown = RecordHandles.of(view, batch, rounds)
    entries = list(shown.entries.values())
    keys = {fold_key(text) for text in texts}
    known = {fold_key(entry.content): Refused.ALREADY_KNOWN for entry in view.entries.with_fold_keys(keys)}
    speakers = speakers_by_entry(view, entries)
    return InferenceRules(
        shown=shown,
        depths=depths_of(view, entries),
        missing={entry.id: view.conclusions.missing(entry) for entry in entries if entry.is_conclusion},
        known={**known, **dict.fromkeys(view.forgotten.contains(keys), Refused.FORGOTTEN)},
        vocabulary=context.vocabulary,
        sides={entry.id: SideEvidence.of([entry], speakers.get(entry.id, ())) for entry in entries},
        as_of=context.as_of,
        card=tuple(view.card.lines()) if context.options.inference.card else None,
    )
