"""The gates of predicates: each policy, what a claim may lack, and the file that puts rows over the shipped ones."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from agentcore import AgentHostBuilder
from agentcore.domain import ClaimState, Entailment, Scope, SourceRef, SubjectTime, Trust
from agentcore.domain.claim import Claim
from agentcore.domain.predicates import RULES, PredicatePolicy, PredicateRule, rules_from
from agentcore.errors import InvalidOptionsError
from dream.domain.claim_gate import GateOutcome, judge_gate, rule_of
from dream.options import DreamOptions

ACME = Claim(
    id="acme",
    scope=Scope.default(),
    subject="Ana",
    predicate="works_at",
    object="Acme",
    quote="Ana works at Acme.",
    sources=(SourceRef.parse("entry:one"),),
    asserted_at=datetime(2025, 6, 1, tzinfo=UTC),
    asserted_by="person",
    trust=Trust.STATED,
    confidence=0.9,
    state=ClaimState.VALIDATED,
    entailment=Entailment.ENTAILED,
)
GLOBEX = replace(
    ACME, id="globex", object="Globex", sources=(SourceRef.parse("entry:two"),), state=ClaimState.PROMOTED, fact="fact"
)
WEAK = replace(GLOBEX, trust=Trust.UNTRUSTED)
STRONG = replace(GLOBEX, trust=Trust.CONFIRMED)
SINCE = {"subject_time": SubjectTime.parse("2024")}


def rule(policy: PredicatePolicy) -> PredicateRule:
    return PredicateRule(policy=policy, confidence=0.5)


@pytest.mark.parametrize(
    ("policy", "claim", "fact", "outcome"),
    [
        ("single_current", ACME, WEAK, GateOutcome.REPLACED),
        ("single_current", ACME, STRONG, GateOutcome.WEAKER),
        ("single_current", ACME, GLOBEX, GateOutcome.CONTRADICTION),
        ("single_current", replace(ACME, **SINCE), GLOBEX, GateOutcome.REPLACED),
        ("single_current", ACME, replace(GLOBEX, object="acme"), GateOutcome.CONFIRMED),
        ("single_current", replace(ACME, negated=True), GLOBEX, GateOutcome.PROMOTED),
        ("single_current", replace(ACME, object="Globex", negated=True), GLOBEX, GateOutcome.CONTRADICTION),
        ("versioned", ACME, STRONG, GateOutcome.REPLACED),
        ("multi", ACME, STRONG, GateOutcome.PROMOTED),
        ("multi", replace(ACME, object="Globex", negated=True), GLOBEX, GateOutcome.CONTRADICTION),
        ("append_only", ACME, STRONG, GateOutcome.PROMOTED),
        ("append_only", replace(ACME, object="Globex", negated=True), GLOBEX, GateOutcome.PROMOTED),
    ],
)
def test_each_policy_decides_about_what_else_is_said(policy: str, claim: Claim, fact: Claim, outcome: GateOutcome):
    assert judge_gate(claim, rule(PredicatePolicy(policy)), [fact]).outcome is outcome


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        (replace(ACME, predicate="owns"), GateOutcome.NO_RULE),
        (replace(ACME, state=ClaimState.CANDIDATE, entailment=None), GateOutcome.NOT_VALIDATED),
        (replace(ACME, entailment=Entailment.INSUFFICIENT), GateOutcome.NOT_VALIDATED),
        (replace(ACME, confidence=0.8), GateOutcome.LOW_CONFIDENCE),
        (replace(ACME, state=ClaimState.REJECTED), GateOutcome.SETTLED),
    ],
)
def test_what_a_claim_lacks_for_its_row_is_named(claim: Claim, outcome: GateOutcome):
    verdict = judge_gate(claim, rule_of(claim.predicate, RULES), [])
    assert (verdict.outcome, bool(verdict.reason)) == (outcome, True)


def test_sources_count_once_each_and_those_of_a_rejected_claim_not():
    two = replace(rule(PredicatePolicy.MULTI), sources=2)
    for other, outcome in (
        (replace(ACME, id="again"), GateOutcome.TOO_FEW_SOURCES),
        (replace(ACME, id="elsewhere", sources=GLOBEX.sources), GateOutcome.PROMOTED),
        (replace(ACME, id="no", sources=GLOBEX.sources, state=ClaimState.REJECTED), GateOutcome.TOO_FEW_SOURCES),
    ):
        assert judge_gate(ACME, two, [other]).outcome is outcome


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    name, year = draw(st.integers(0, 99)), draw(st.sampled_from((None, "2019", "2024")))
    states = (ClaimState.PROMOTED, ClaimState.PROMOTED, ClaimState.DISPUTED, ClaimState.REJECTED)
    state = draw(st.sampled_from(states))
    return replace(
        ACME,
        id=f"c{name}",
        object=draw(st.sampled_from(("Acme", "ACME", "Globex", "Initech"))),
        trust=draw(st.sampled_from(list(Trust))),
        state=state,
        fact=f"f{name}" if state is ClaimState.PROMOTED else None,
        negated=draw(st.booleans()),
        confidence=draw(st.sampled_from((0.5, 0.9, 1.0))),
        subject_time=None if year is None else SubjectTime.parse(year),
    )


@given(claim=claims(), known=st.lists(claims(), max_size=4), policy=st.sampled_from(list(PredicatePolicy)))
def test_a_gate_touches_only_facts_that_its_policy_lets_it_touch(
    claim: Claim, known: list[Claim], policy: PredicatePolicy
):
    verdict = judge_gate(replace(claim, state=ClaimState.VALIDATED, fact=None), rule(policy), known)
    assert all(one.state is ClaimState.PROMOTED for one in verdict.against)
    if verdict.outcome is GateOutcome.REPLACED:
        assert policy is not PredicatePolicy.APPEND_ONLY
        assert not any(one.says_as(claim) for one in verdict.against)
    if policy is PredicatePolicy.VERSIONED:
        assert verdict.outcome not in {GateOutcome.WEAKER, GateOutcome.CONTRADICTION}
    if policy is PredicatePolicy.MULTI and verdict.outcome is not GateOutcome.CONFIRMED:
        assert all(one.object.casefold() == claim.object.casefold() for one in verdict.against)


def test_a_file_puts_rows_over_the_shipped_ones_and_default_is_for_all_others():
    rows = rules_from("[works_at]\nsources = 2\n[default]\npolicy = 'multi'\nconfidence = 0.8\n", where="rows.toml")
    assert rows["works_at"] == replace(RULES["works_at"], sources=2)
    assert rows["likes"] == RULES["likes"]
    owns = replace(ACME, predicate="owns")
    assert judge_gate(owns, rule_of("Owns", rows), []).outcome is GateOutcome.PROMOTED
    assert judge_gate(ACME, rule_of("works_at", rows), []).outcome is GateOutcome.TOO_FEW_SOURCES


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("works_at = 3", r"\[works_at\].*write a table"),
        ("[works_at", "it is no TOML"),
        ("[owns]\nconfidence = 0.8", r"\[owns\].*give policy"),
        ("[works_at]\npolicy = 'several'", r"\[works_at\].*single_current, multi"),
        ("[works_at]\nconfidence = 2", r"\[works_at\].*from 0 to 1"),
        ("[works_at]\nsources = 0", r"\[works_at\].*sources from 1"),
        ("[works_at]\nweight = 1", r"\[works_at\].*give policy"),
        (None, "claims.rules.*cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_its_row_when_the_host_is_built(
    tmp_path: Path, text: str | None, said: str
):
    path = tmp_path / "rows.toml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    options = DreamOptions.model_validate({"claims": {"rules": str(path)}})
    with pytest.raises(InvalidOptionsError, match=said):
        AgentHostBuilder(None).with_memory().with_dreaming(options).build()
