"""Runs the pass claims: takes claims from new entries, has them read a second time, and lets them pass their gates."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from agentcore.domain.claim import Claim, ClaimState, Entailment
from agentcore.domain.memory import MemoryEntry, Trust
from agentcore.domain.predicates import PredicateRule, read_rules
from agentcore.domain.records import Record
from dream.domain.change import Change, ChangeSet
from dream.domain.desk_decision import DeskDecision
from dream.domain.guessing_passes import CLAIMS
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import NextRound, Round, RoundKind
from dream.domain.step import Batch, Packing
from dream.domain.verification import Assertion, Reading, SecondReading
from dream.options import VerificationMode
from dream.passes.claim_changes import PromotionStep, as_new, by_words, promoted, verified
from dream.passes.claims.judging import ClaimRules, assertion_of, judged, mark_of
from dream.passes.claims.prompt import question, read_claims
from dream.passes.declared import DeclaredPass
from dream.passes.protocol import ModelContext, PassView
from dream.passes.second_reading import VerificationCall, first_of
from dream.passes.subjects import CLAIM

TAKE: Final = "take_claim"
_AT_ONCE: Final = 20
"""Entries that one question is about."""
_TRIES: Final = 2
"""A second reading whose checks fail is asked once more, in another order."""
_LEAST_BASE: Final = 0.5
"""Importance of a fact at most: that of an entry that nothing else tells of."""
_ENTAILMENTS: Final = {
    Reading.SAYS: Entailment.ENTAILED,
    Reading.CONTRADICTS: Entailment.CONTRADICTED,
    Reading.NOT_SAID: Entailment.INSUFFICIENT,
}


class ClaimTaking(DeclaredPass, declaration=CLAIMS):
    """Takes claims from entries that are new since it looked last; each entry is looked at once.

    Words decide what they can of a claim; a second reader, who did not take it, decides the rest. What nobody read,
    and what the reader found insufficient, stays a candidate; what is entailed goes through its gate.
    """

    async def has_work(self, context: ModelContext) -> Work:
        """New entries."""
        pending = await context.read(
            lambda view: view.entries.count_material(after=context.cursor, also=context.reopened)
        )
        return Work(pending)

    async def pack(self, context: ModelContext) -> Packing:
        """Put new entries into batches in the order of arrival; facts and conclusions are claims' own or nobody's."""
        most = context.options.claims.max_entries
        fresh = await context.read(
            lambda view: view.entries.material(after=context.cursor, also=context.reopened, limit=most)
        )
        pending = await context.read(
            lambda view: view.entries.count_material(after=context.cursor, also=context.reopened)
        )
        found = await context.read(lambda view: view.entries.by_keys([item.key for item in fresh]))
        told = [found[item.key] for item in fresh if item.key in found and _may_claim(found[item.key])]
        members = [(entry.id, entry.version) for entry in told]
        asked = {entry.id for entry in told}
        parts = [members[start : start + _AT_ONCE] for start in range(0, len(members), _AT_ONCE)]
        return Packing(
            batches=tuple(
                Batch(number=str(number), kind="entries", members=tuple(part)) for number, part in enumerate(parts, 1)
            ),
            cursor=max([context.cursor, *(item.position for item in fresh)]),
            looked_at=tuple(item.id for item in fresh if item.id not in asked),
            backlog=max(0, pending - len(fresh)),
        )

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask what the entries claim, then have it read a second time; once more where the reader's checks failed."""
        entries = await context.read(lambda view: _shown(view, batch))
        if not rounds:
            rows = read_rules(context.options.claims.rules)
            return NextRound(question(context, entries, rows, self.instructions)) if entries else None
        if len(rounds) > _TRIES or context.options.verification is not VerificationMode.VERIFIED:
            return None
        taken = await self._taken(context, entries, rounds[0])
        if not taken.open or _readings(taken.open, rounds):
            return None
        statements = first_of(list(taken.open.items()), tokens=context.options.model.prompt_tokens)
        call = VerificationCall.of(statements, len(rounds) + 1)
        about = tuple(number for number, _ in statements)
        return NextRound(call.request(context), RoundKind.VERIFICATION, about=about)

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Keep the claims, as words and the second reader left them, and what their gates made of those that hold."""
        entries = await context.read(lambda view: _shown(view, batch))
        taken = await self._taken(context, entries, rounds[0])
        if taken.is_broken:
            return Proposal(refused=tuple(taken.refused))
        found = _readings(taken.open, rounds)
        decision = _decision(context)
        verifier = next((one.model for one in reversed(rounds) if one.kind is RoundKind.VERIFICATION), "") or "model"
        for number in taken.open:
            entailment = _ENTAILMENTS.get(found[number].reading) if number in found else None
            if entailment is not None:
                taken.claims[number] = verified(taken.claims[number], entailment, verifier, decision)
        unread = [number for number in taken.open if number not in found]
        off_limits = [one for one in found if found[one].reading is Reading.OFF_LIMITS]
        kept = {number: claim for number, claim in taken.claims.items() if number not in off_limits}
        refused = [*taken.refused, *(Refusal(Refused.UNVERIFIED, f"claim {one}") for one in unread)]
        refused += [Refusal(Refused.OFF_LIMITS, f"claim {one}") for one in off_limits]
        by_id = {entry.id: entry for entry in entries.values()}
        return Proposal(
            change_sets=tuple(await context.read(lambda view: _change_sets(view, context, kept.values(), by_id))),
            refused=tuple(refused),
            looked_at=batch.member_ids,
            notes={"looked_at": len(entries), "known": taken.known, "read_again": len(found)},
        )

    def made(self, change_sets: Sequence[ChangeSet]) -> Notes:
        """Count the claims by how far they have come."""
        states = [
            change.after.state
            for one in change_sets
            for change in one.changes
            if isinstance(change.after, Claim) and change.before is None
        ]
        return {"taken": len(states), **{state.value: states.count(state) for state in _COUNTED}}

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over the batches."""
        return summed(notes, *self.notes)

    async def _taken(self, context: ModelContext, entries: Mapping[str, MemoryEntry], first: Round) -> "_Taken":
        rows = read_rules(context.options.claims.rules)
        rules = ClaimRules(
            entries=entries, rows=rows, off_limits=context.off_limits, taken_at=context.as_of, taken_by=self.name
        )
        items, refused = read_claims(first.answer)
        taken = _Taken(refused)
        decision, by_id = _decision(context), {entry.id: entry for entry in entries.values()}
        # Comparing texts with their sources takes longer than the event loop may stall.
        found = await asyncio.to_thread(lambda: [(item, judged(item, rules, context.new_id())) for item in items])
        made = {item.number: one for item, one in found if isinstance(one, Claim)}
        taken.refused += [one.at(item.number) for item, one in found if isinstance(one, Refusal)]
        marks = {number: mark_of(one, by_id[one.sources[0].id]) for number, one in made.items()}
        known = await context.read(lambda view: _known(view, made))
        declined = await context.declined(set(marks.values()))
        met: set[str] = set()
        for number, claim in made.items():
            if number in known or marks[number] in met:
                taken.known += 1
            elif marks[number] in declined:
                taken.refused.append(Refusal(Refused.UNDONE_BY_PERSON, f"claim {number}"))
            else:
                held = await context.read(lambda view, c=claim: by_words(view, c, rows, decision))
                taken.take(number, held, by_id[claim.sources[0].id], rows)
            met.add(marks[number])
        return taken


_COUNTED: Final = tuple(one for one in ClaimState if one is not ClaimState.SUPERSEDED)


class _Taken:
    """What an answer claims, as far as words tell."""

    def __init__(self, refused: list[Refusal]) -> None:
        self.refused = refused
        self.is_broken = any(one.code == Refused.BROKEN_ANSWER for one in refused)
        self.claims: dict[int, Claim] = {}
        self.open: dict[int, Assertion] = {}
        """What words do not decide, by the number of the item."""
        self.known = 0

    def take(self, number: int, claim: Claim, entry: MemoryEntry, rows: Mapping[str, PredicateRule]) -> None:
        """Take a claim that words were held against."""
        if claim.entailment is Entailment.INSUFFICIENT:
            self.open[number] = assertion_of(claim, entry, rows)
            claim = replace(claim, entailment=None, verified_by=None)
        self.claims[number] = claim


def _decision(context: ModelContext) -> DeskDecision:
    return DeskDecision(by=context.pass_name, at=context.as_of, trust=Trust.STATED)


def _may_claim(entry: MemoryEntry) -> bool:
    return entry.is_active and not entry.is_conclusion and CLAIM not in entry.metadata


def _shown(view: PassView, batch: Batch) -> dict[str, MemoryEntry]:
    """Return the entries of a batch that are as they were packed, by their handles."""
    stored = {(one.id, one.version): one for one in view.entries.get_many(batch.member_ids) if one.is_active}
    return {f"e{place}": stored[one] for place, one in enumerate(batch.members, 1) if one in stored}


def _known(view: PassView, claims: Mapping[int, Claim]) -> set[int]:
    """Return the numbers of claims that were taken from the same entry before."""
    return {
        number
        for number, claim in claims.items()
        if any(one.says_as(claim) and set(one.sources) & set(claim.sources) for one in view.claims.of_key(claim.key))
    }


def _readings(open_ones: Mapping[int, Assertion], rounds: Sequence[Round]) -> dict[int, SecondReading]:
    """Return what the first second reading found whose checks held; nothing if there is none."""
    for number, one in enumerate(rounds, 1):
        if one.kind is RoundKind.VERIFICATION:
            asked = [(place, open_ones[place]) for place in one.asked.about if place in open_ones]
            found = VerificationCall.of(asked, number).read(one.answer) if asked else None
            if found is not None:
                return found
    return {}


def _change_sets(
    view: PassView, context: ModelContext, claims: Iterable[Claim], entries: Mapping[str, MemoryEntry]
) -> list[ChangeSet]:
    """Return the change set of each claim: the claim, and what its gate makes of it, all or nothing."""
    rows, decision = read_rules(context.options.claims.rules), _decision(context)
    met: set[tuple[str, str]] = set()
    made: list[ChangeSet] = []
    for claim in claims:
        mark = {claim.id: mark_of(claim, entries[claim.sources[0].id])}
        changes = (Change[Record](before=None, after=claim, reason=f"{claim.sources[0]} says it"),)
        if claim.state is ClaimState.VALIDATED and claim.key not in met:
            # The gate of another one with this key would have to know what this one changes.
            met.add(claim.key)
            step = promoted(view, claim, rows, decision, context.new_id())
            changes = _within_laws(as_new(step, claim, decision)).changes
        made.append(ChangeSet(operation=TAKE, changes=changes, fingerprints=mark))
    return made


def _within_laws(step: PromotionStep) -> PromotionStep:
    """Return a step that raises nothing: no fact gets more trusted, important or lately seen than there was one."""
    olds = [one.before for one in step.changes if isinstance(one.before, MemoryEntry)]
    seen = [old.last_seen_at for old in olds]
    changes: list[Change[Record]] = []
    for one in step.changes:
        after = one.after
        if isinstance(after, MemoryEntry) and one.before is None:
            least = replace(
                after,
                base=min(after.base, max((old.base for old in olds), default=_LEAST_BASE)),
                trust=min([after.trust, *(old.trust for old in olds)]),
                last_seen_at=min(after.last_seen_at, max(seen, default=after.last_seen_at)),
            )
            changes.append(Change[Record](before=None, after=least, reason=one.reason))
        elif not isinstance(after, MemoryEntry) or not after.is_active:  # a fact said once more is no later for it
            changes.append(one)
    return replace(step, changes=tuple(changes))
