"""Makes the changes by which a claim is verified, passes its gate, or is decided about by a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agentcore.domain.claim import Claim, ClaimState, Entailment
from agentcore.domain.evidence import Evidence, EvidenceVerdict, SourceKind, SourceRef, exact_words
from agentcore.domain.memory import Level, MemoryEntry
from agentcore.domain.predicates import PredicateRule
from agentcore.domain.question import Question, QuestionCause, question_id
from agentcore.domain.records import Record
from agentcore.domain.validity import superseded
from agentcore.stores.storage import ReadView
from dream.domain.change import Change
from dream.domain.claim_gate import GateOutcome, GateVerdict, judge_gate, rule_of
from dream.domain.desk_decision import DeskDecision
from dream.guards.claim_words import entailment_of
from dream.passes.subjects import CLAIM, SUBJECT, TOPIC

WORDS: Final = "words"
"""Who verified a claim that words alone decide about."""
FACTS: Final = "facts"
"""The category of entries that promoted claims make."""
_ASKED: Final = "Two claims about the same thing are about as strong, and one of them at most holds. Which?"
_MOVES: Final = {Entailment.ENTAILED: ClaimState.VALIDATED, Entailment.CONTRADICTED: ClaimState.DISPUTED}


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionStep:
    """What a gate made of a claim.

    Args:
        verdict: What it says.
        claim: The claim as it is then.
        changes: What changes.
        fact: The entry that says it, if one does.
        question: What a person is asked, if somebody is.
    """

    verdict: GateVerdict
    claim: Claim
    changes: tuple[Change[Record], ...] = ()
    fact: MemoryEntry | None = None
    question: Question | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "claim_id": self.claim.id,
            "claim": str(self.claim),
            "status": self.claim.state.value,
            "outcome": self.verdict.outcome.value,
            "reason": self.verdict.reason,
            "fact_id": None if self.fact is None else self.fact.id,
            "question_id": None if self.question is None else self.question.id,
        }


def texts_of(view: ReadView, claim: Claim) -> list[str]:
    """Return what the sources of a claim say, of those that are there and told."""
    ids = {kind: [ref.id for ref in claim.sources if ref.kind is kind] for kind in (SourceKind.ENTRY, SourceKind.TURN)}
    entries = [one.content for one in view.entries.get_many(ids[SourceKind.ENTRY]) if one.is_active]
    return [*entries, *(one.content for one in view.learnable.turns.get_many(ids[SourceKind.TURN]))]


def verified(claim: Claim, entailment: Entailment, verifier: str, decision: DeskDecision) -> Claim:
    """Return a claim after somebody held it against its words; what they do not tell moves it nowhere."""
    told = replace(claim, entailment=entailment, verified_by=verifier)
    to = _MOVES.get(entailment)
    if to is None or to is claim.state or claim.state not in {ClaimState.CANDIDATE, ClaimState.VALIDATED}:
        return told
    return told.moved(to, reason=f"its words are {entailment.value}, says {verifier}", at=decision.at)


def by_words(
    view: ReadView,
    claim: Claim,
    rules: Mapping[str, PredicateRule],
    decision: DeskDecision,
    *,
    beside: Sequence[MemoryEntry] = (),
) -> Claim:
    """Return a claim after words alone were held against it; *beside* are entries that come in with it."""
    texts = [*texts_of(view, claim), *(one.content for one in beside)]
    found = entailment_of(claim, rule_of(claim.predicate, rules), texts)
    return verified(claim, found, WORDS, decision)


def promoted(
    view: ReadView,
    claim: Claim,
    rules: Mapping[str, PredicateRule],
    decision: DeskDecision,
    new_id: str,
    *,
    is_chosen: bool = False,
    beside: Sequence[MemoryEntry] = (),
) -> PromotionStep:
    """Return what its gate makes of a claim, as it is in *view* or will be with it.

    Args:
        view: The stores.
        claim: It.
        rules: The rows of predicates.
        decision: Who asks for it.
        new_id: The id of the entry that it makes, if it makes one.
        is_chosen: Whether a person said that it holds, and not what contradicts it.
        beside: Entries that come into the stores with it.
    """
    known = [one for one in view.claims.of_key(claim.key) if one.id != claim.id]
    facts = {one.id: one for one in view.entries.get_many([one.fact for one in known if one.fact]) if one.is_active}
    there = [one for one in known if one.state is not ClaimState.PROMOTED or one.fact in facts]
    verdict = judge_gate(claim, rule_of(claim.predicate, rules), there, is_chosen=is_chosen)
    against = [facts[one.fact] for one in verdict.against if one.fact in facts]
    match verdict.outcome:
        case GateOutcome.PROMOTED | GateOutcome.REPLACED:
            fact = _fact(view, claim, decision, new_id, beside)
            return _made_fact(claim, verdict, against, decision, fact)
        case GateOutcome.CONFIRMED:
            return _confirmed(claim, verdict, against[0], decision)
        case GateOutcome.WEAKER:
            after = claim.moved(ClaimState.REJECTED, reason=verdict.reason, at=decision.at)
            return PromotionStep(verdict=verdict, claim=after, changes=(_moved(claim, after, decision),))
        case GateOutcome.CONTRADICTION:
            return _asking(view, claim, verdict, against, decision)
        case _:
            return PromotionStep(verdict=verdict, claim=claim)


def _made_fact(
    claim: Claim,
    verdict: GateVerdict,
    against: Sequence[MemoryEntry],
    decision: DeskDecision,
    fact: MemoryEntry,
) -> PromotionStep:
    moved = (
        claim
        if claim.state is not ClaimState.CANDIDATE
        else claim.moved(ClaimState.VALIDATED, reason=decision.told("chosen"), at=decision.at)
    )
    after = replace(moved.moved(ClaimState.PROMOTED, reason=verdict.reason, at=decision.at), fact=fact.id)
    changes: list[Change[Record]] = [
        Change[Record](before=None, after=fact, reason=decision.told(f"promoted of claim {claim.id}")),
        _moved(claim, after, decision),
    ]
    reason = f"superseded by {fact.id}, of which a claim passed its gate"
    for old in against:
        gone = superseded(old, by=fact, reason=reason, at=decision.at)
        changes.append(Change[Record](before=old, after=gone, reason=decision.told(reason)))
    for old_claim in verdict.against:
        ended = old_claim.moved(ClaimState.SUPERSEDED, reason=f"claim {claim.id} took its place", at=decision.at)
        changes.append(_moved(old_claim, ended, decision))
    return PromotionStep(verdict=verdict, claim=after, changes=tuple(changes), fact=fact)


def _fact(
    view: ReadView, claim: Claim, decision: DeskDecision, new_id: str, beside: Sequence[MemoryEntry]
) -> MemoryEntry:
    ids = [ref.id for ref in claim.sources if ref.kind is SourceKind.ENTRY]
    cited = [one for one in (*view.entries.get_many(ids), *beside) if one.id in ids]
    turns = view.turns.get_many([ref.id for ref in claim.sources if ref.kind is SourceKind.TURN])
    said = min([*(one.created_at for one in cited), *(one.occurred_at for one in turns)], default=claim.asserted_at)
    seen = max([*(one.last_seen_at for one in cited), *(one.occurred_at for one in turns)], default=said)
    evidence = Evidence(
        source=claim.sources[0],
        said_at=said,
        sentence=exact_words(claim.quote),
        verdict=EvidenceVerdict.PROVEN,
        verified_by=claim.verified_by or decision.by,
    )
    return MemoryEntry(
        id=new_id,
        scope=claim.scope,
        content=claim.quote,
        category=FACTS,
        base=max([one.base for one in cited], default=0.5),
        created_at=said,
        recorded_at=decision.at,
        last_seen_at=seen,
        subject_time=claim.subject_time,
        # Subject and topic are the claim's key: facts of one key meet in a prompt though they share no word.
        metadata={CLAIM: claim.id, SUBJECT: claim.subject, TOPIC: claim.predicate.replace("_", " ")},
        level=Level.DERIVED,
        sources=claim.sources,
        evidence=(evidence,),
        trust=claim.trust,
    )


def _confirmed(claim: Claim, verdict: GateVerdict, fact: MemoryEntry, decision: DeskDecision) -> PromotionStep:
    moved = (
        claim
        if claim.state is not ClaimState.CANDIDATE
        else claim.moved(ClaimState.VALIDATED, reason=decision.told("chosen"), at=decision.at)
    )
    after = replace(moved.moved(ClaimState.PROMOTED, reason=verdict.reason, at=decision.at), fact=fact.id)
    seen = replace(fact, last_seen_at=max(fact.last_seen_at, decision.at))
    changes = (
        Change[Record](before=fact, after=seen, reason=decision.told("confirmed")),
        _moved(claim, after, decision),
    )
    return PromotionStep(verdict=verdict, claim=after, changes=changes, fact=seen)


def _asking(
    view: ReadView, claim: Claim, verdict: GateVerdict, against: Sequence[MemoryEntry], decision: DeskDecision
) -> PromotionStep:
    after = (
        claim
        if claim.state is ClaimState.DISPUTED
        else claim.moved(ClaimState.DISPUTED, reason=verdict.reason, at=decision.at)
    )
    versions = [(SourceRef(SourceKind.ENTRY, one.id), one.version) for one in against]
    versions.append((SourceRef(SourceKind.CLAIM, claim.id), 1))
    asked = Question(
        id=question_id(QuestionCause.CONTRADICTION, versions),
        scope=claim.scope,
        cause=QuestionCause.CONTRADICTION,
        members=tuple(ref for ref, _ in versions),
        text=_ASKED,
        asked_at=decision.at,
        asked_by=decision.by,
    )
    changes = [] if after == claim else [_moved(claim, after, decision)]
    if not view.questions.existing([asked.id]):
        changes.append(Change[Record](before=None, after=asked, reason=decision.told("asked which claim holds")))
    return PromotionStep(verdict=verdict, claim=after, changes=tuple(changes), question=asked)


def as_new(step: PromotionStep, held: Claim, decision: DeskDecision) -> PromotionStep:
    """Return a step of a claim that is not stored yet: it comes in as the gate left it."""
    others = tuple(one for one in step.changes if one.record_id != held.id)
    made = Change[Any](before=None, after=step.claim, reason=decision.told(f"claimed: {step.verdict.reason}"))
    return replace(step, changes=(made, *others))


def rejected(claim: Claim, reason: str, decision: DeskDecision) -> Change[Record]:
    """Return the change by which a claim is refused."""
    return _moved(claim, claim.moved(ClaimState.REJECTED, reason=reason, at=decision.at), decision)


def _moved(before: Claim, after: Claim, decision: DeskDecision) -> Change[Record]:
    return Change[Record](
        before=before, after=after, reason=decision.told(f"{after.state.value}: {after.state_reason}")
    )
