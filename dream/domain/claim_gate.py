"""Decides what becomes of a claim that is to be a fact: one of the outcomes of a gate, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agentcore.domain.claim import Claim, ClaimState, Entailment, independent_sources
from agentcore.domain.memory import Trust
from agentcore.domain.predicates import DEFAULT, PredicatePolicy, PredicateRule
from agentcore.domain.validity import begin_of

_CLOSE: Final = 0.02
"""Strengths that differ by no more are comparable."""


class GateOutcome(StrEnum):
    """What a gate says of a claim."""

    PROMOTED = "promoted"
    """It becomes a fact."""
    CONFIRMED = "confirmed"
    """A fact says it already, and was said once more."""
    REPLACED = "replaced"
    """It becomes a fact and takes the place of others."""
    WEAKER = "weaker"
    """A stronger fact says something else: it is refused."""
    CONTRADICTION = "contradiction"
    """An equally strong fact says something else: a person is asked."""
    NO_RULE = "no_rule"
    """No row names its predicate, and there is no default."""
    NOT_VALIDATED = "not_validated"
    """Its words do not say it, as far as anybody held them against it."""
    LOW_CONFIDENCE = "low_confidence"
    """It is less sure than its predicate asks for."""
    TOO_FEW_SOURCES = "too_few_sources"
    """Fewer independent sources say it than its predicate asks for."""
    SETTLED = "settled"
    """It was decided before; nothing changes."""


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """What a gate says, and the facts that it is about.

    Args:
        outcome: It.
        reason: Why, in words for people.
        against: Claims of facts that are confirmed, replaced, stronger, or contradicted.
    """

    outcome: GateOutcome
    reason: str
    against: tuple[Claim, ...] = ()


def rule_of(predicate: str, rules: Mapping[str, PredicateRule]) -> PredicateRule | None:
    """Return the row of a predicate, the default if no row names it, None if there is none."""
    return rules.get(predicate.strip().casefold()) or rules.get(DEFAULT)


def strength(claim: Claim, support: int) -> float:
    """Return how strong a claim is, 0 to 1: how sure, by whom it was said, whether its words say it, and how often.

    A rank of named parts, not a probability.
    """
    said = 0.15 if claim.entailment is Entailment.ENTAILED else 0.0
    return 0.5 * claim.confidence + 0.2 * claim.trust / Trust.CONFIRMED + said + 0.15 * min(1.0, support / 3)


def judge_gate(
    claim: Claim, rule: PredicateRule | None, known: Sequence[Claim], *, is_chosen: bool = False
) -> GateVerdict:
    """Return what becomes of a claim; pure.

    Args:
        claim: It.
        rule: The row of its predicate.
        known: The other claims of its key; those that are promoted are what is known.
        is_chosen: Whether a person said that it holds, and not what contradicts it.
    """
    if claim.state in {ClaimState.PROMOTED, ClaimState.REJECTED, ClaimState.SUPERSEDED}:
        return GateVerdict(GateOutcome.SETTLED, f"it is {claim.state.value}")
    if rule is None:
        return GateVerdict(GateOutcome.NO_RULE, f"no row names {claim.predicate}")
    same = [one for one in known if one.says_as(claim)]
    support = independent_sources([claim, *(one for one in same if one.state is not ClaimState.REJECTED)])
    refused = None if is_chosen else _short_of(claim, rule, support)
    return refused or _against_facts(claim, rule, support, known, is_chosen=is_chosen)


def _against_facts(
    claim: Claim, rule: PredicateRule, support: int, known: Sequence[Claim], *, is_chosen: bool
) -> GateVerdict:
    facts = [one for one in known if one.state is ClaimState.PROMOTED and one.fact is not None]
    told = tuple(one for one in facts if one.says_as(claim))
    if told:
        return GateVerdict(GateOutcome.CONFIRMED, "a fact says it already", told[:1])
    rivals = tuple(one for one in facts if _excludes(rule, claim, one))
    if not rivals:
        return GateVerdict(GateOutcome.PROMOTED, "nothing speaks against it")
    if is_chosen or rule.policy is PredicatePolicy.VERSIONED:
        return GateVerdict(GateOutcome.REPLACED, "it takes the place of what held before", rivals)
    return _compared(claim, support, rivals, known)


def _short_of(claim: Claim, rule: PredicateRule, support: int) -> GateVerdict | None:
    if claim.state is not ClaimState.VALIDATED or (rule.entailed and claim.entailment is not Entailment.ENTAILED):
        told = "nobody held it against them" if claim.entailment is None else f"they are {claim.entailment.value}"
        return GateVerdict(GateOutcome.NOT_VALIDATED, f"its words do not say it: {told}")
    if claim.confidence < rule.confidence:
        least = f"{claim.confidence:.2f} of {rule.confidence:.2f}"
        return GateVerdict(GateOutcome.LOW_CONFIDENCE, f"it has {least} that {claim.predicate} asks for")
    if support < rule.sources:
        return GateVerdict(GateOutcome.TOO_FEW_SOURCES, f"{support} of {rule.sources} sources say it")
    return None


def _excludes(rule: PredicateRule, claim: Claim, fact: Claim) -> bool:
    if rule.policy is PredicatePolicy.APPEND_ONLY:
        return False
    if rule.policy is PredicatePolicy.MULTI:
        return claim.object.casefold() == fact.object.casefold()
    # That somebody does not work here says nothing against their working there.
    return claim.negated is fact.negated or claim.object.casefold() == fact.object.casefold()


def _compared(claim: Claim, support: int, rivals: tuple[Claim, ...], known: Sequence[Claim]) -> GateVerdict:
    mine = strength(claim, support)
    theirs = max(
        strength(fact, independent_sources([fact, *(one for one in known if one.says_as(fact))])) for fact in rivals
    )
    begin = begin_of(claim.subject_time)
    is_later = begin is not None and all(
        (theirs_began := begin_of(fact.subject_time)) is None or theirs_began.begins < begin.begins for fact in rivals
    )
    if mine > theirs + _CLOSE or (is_later and mine >= theirs - _CLOSE):
        why = "it began later" if is_later else "it is stronger"
        return GateVerdict(GateOutcome.REPLACED, f"{why} than what is known", rivals)
    if mine < theirs - _CLOSE:
        return GateVerdict(GateOutcome.WEAKER, f"what is known is stronger ({theirs:.2f} to {mine:.2f})", rivals)
    return GateVerdict(GateOutcome.CONTRADICTION, "what is known is about as strong", rivals)
