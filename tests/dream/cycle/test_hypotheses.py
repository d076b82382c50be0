"""Hypotheses on their whole way: proposed, decided, promoted through claims and gates, and taken back."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from dreaming import World, codes, fresh_scope, of_pass

from agentcore import AgentHostBuilder
from agentcore.domain import (
    ClaimState,
    Entailment,
    HypothesisDecision,
    HypothesisState,
    MemoryEntry,
    Scope,
    SourceRef,
    Status,
    Trust,
)
from agentcore.domain.hypothesis import TRANSITIONS, Hypothesis
from agentcore.domain.question import QuestionState
from agentcore.errors import (
    ForbiddenTransitionError,
    InvalidContentError,
    InvalidInputError,
    StorageUnavailableError,
    UnknownRecordError,
)
from agentcore.hosting.options import ContextOptions
from agentcore.recall.related_hypotheses import RelatedHypotheses
from agentcore.testing import ManualClock
from dream.cycle.hypotheses import Resolution
from dream.domain.claim_gate import GateOutcome
from dream.domain.declaration import Preset
from dream.domain.report import PassOutcome, RunReport
from dream.errors import LostSourceError
from dream.interfaces.exchange.export import export_scope
from dream.interfaces.exchange.importer import import_file
from dream.options import DreamOptions
from dream.passes.subjects import same_subjects

ON = {"*": "off", "reflect": "apply", "re-evaluate": "apply", "hypotheses": "apply"}
HIVES = "Ana sold her beehives in Porto"
FLAT = "The flat in Porto has no garden for beehives"
OTHERS = ("Rui plays chess on Sundays", "The boiler is checked each autumn", "Bo learns Finnish at night school")
ACME = "Yes, I asked her. Ana works at Acme."


@pytest.fixture
def world(world: World) -> World:
    world.options = DreamOptions.model_validate({"modes": ON})
    return world


async def told(world: World) -> list[Hypothesis]:
    return await world.dreams.hypotheses.list()


async def guess(world: World) -> Hypothesis:
    """Store two records apart from each other, dream, and return what was guessed about them."""
    hives, *_ = await world.add(HIVES, *OTHERS)
    world.clock.advance(timedelta(days=9))
    await world.add(FLAT)
    await world.dreams.run()
    (found,) = await told(world)
    assert {hives.id} < {ref.id for ref in found.source_refs}
    return found


async def confirm(world: World, one: Hypothesis, words: str = ACME, **options: Any) -> Resolution:
    return await world.dreams.hypotheses.resolve(one.id, "promote_candidate", feedback=words, **options)


async def test_a_pair_that_shares_something_rare_is_proposed_once_as_a_question(world: World):
    found = await guess(world)
    assert found.state is HypothesisState.PROPOSED
    assert HIVES in found.hypothesis
    assert FLAT in found.hypothesis
    assert found.question.endswith("?")
    assert {one.name for one in found.factors} == {"likeness", "rarity", "distance", "independence"}
    for _ in range(3):
        world.clock.advance(timedelta(days=1))
        await world.dreams.run()
    assert [one.id for one in await told(world)] == [found.id]


async def test_two_claims_of_which_one_ends_where_the_other_begins_are_a_pair(world: World):
    claims = world.dreams.claims
    for said, parts in (
        ("Ana works at Acme.", ("Ana", "works_at", "Acme")),
        ("Acme is located in Porto.", ("Acme", "located_in", "Porto")),
    ):
        (source,) = await world.add(said)
        claim = await claims.assert_(*parts, source=f"entry:{source.id}")  # noqa: PT009
        assert (await claims.verify(claim.id)).state is ClaimState.VALIDATED
    await world.dreams.run()
    (found,) = await told(world)
    assert (found.generator, {ref.kind.value for ref in found.source_refs}) == ("chain", {"claim"})
    await world.dreams.hypotheses.resolve(found.id, "reject")
    await world.add(*OTHERS)
    await world.dreams.run()
    assert [one.id for one in await told(world)] == [found.id]


async def test_a_guess_is_trusted_no_more_than_the_least_trusted_of_its_sources(world: World):
    await world.add(world.entry(HIVES, trust=Trust.UNTRUSTED))
    world.clock.advance(timedelta(days=9))
    await world.add(FLAT, *OTHERS)
    await world.dreams.run()
    (found,) = await told(world)
    assert found.trust is Trust.UNTRUSTED


def phases(report: RunReport) -> list[str]:
    return [one.name for one in report.passes if one.outcome is not PassOutcome.SKIPPED]


@pytest.mark.parametrize("preset", list(Preset))
async def test_a_cycle_runs_exactly_its_three_phases_whatever_the_preset(world: World, preset: Preset):
    world.options = DreamOptions.preset(preset)
    await world.add(HIVES, HIVES)
    report = await world.dreams.hypotheses.run()
    assert phases(report) == ["reflect", "re-evaluate", "hypotheses"]
    assert len(await world.active()) == 2, "no other pass folds the two"
    world.options = DreamOptions.model_validate({"modes": {"reflect": "off"}})
    report = await world.dreams.hypotheses.run()
    assert phases(report) == ["re-evaluate", "hypotheses"]
    report = await world.dreams.hypotheses.run(reflect=True, re_evaluate=False, hypotheses=False)
    assert phases(report) == ["reflect"]


async def test_no_hypothesis_is_found_by_recall(world: World):
    await guess(world)
    hits = await world.recall.search(world.scope, "beehives Sintra Porto garden")
    assert {hit.entry.content for hit in hits} <= {HIVES, FLAT}


async def test_a_night_that_it_survives_keeps_it_in_sight_and_moves_no_rank(world: World):
    found = await guess(world)
    world.clock.advance(timedelta(days=1))
    await world.dreams.run()
    (after,) = await told(world)
    assert after.state is HypothesisState.REINFORCED
    assert (after.likelihood, after.confidence, after.support) == (found.likelihood, found.confidence, 0)


@pytest.mark.parametrize("how", ["archived", "reworded"])
async def test_it_goes_stale_when_one_of_its_sources_is_no_longer_what_it_was(world: World, how: str):
    found = await guess(world)
    source = found.source_refs[0].id
    if how == "archived":
        await world.dreams.desk.archive(source)
    else:
        await world.dreams.desk.edit(source, content="Ana keeps all her hives for now")
    world.clock.advance(timedelta(days=1))
    await world.dreams.run()
    after = await world.dreams.hypotheses.get(found.id)
    assert after.state is HypothesisState.STALE
    assert f"entry:{source}" in (after.state_reason or "")


async def test_it_expires_after_thirty_days(world: World):
    found = await guess(world)
    world.clock.advance(timedelta(days=31))
    await world.dreams.run()
    after = await world.dreams.hypotheses.get(found.id)
    assert (after.state, after.state_reason) == (HypothesisState.STALE, "nobody decided about it in time")


async def test_a_rejected_one_never_returns(world: World):
    found = await guess(world)
    await world.dreams.hypotheses.resolve(found.id, "reject", feedback="They have nothing to do with each other.")
    world.clock.advance(timedelta(days=1))
    await world.add("Bees and beehives and gardens and orchards")
    await world.dreams.run()
    assert [one.state for one in await told(world) if one.id == found.id] == [HypothesisState.REJECTED]


async def test_one_whose_proposal_was_undone_never_returns(world: World):
    found = await guess(world)
    run = (await world.dreams.runs())[0]
    await world.dreams.undo(run.run_id)
    assert await told(world) == []
    await world.dreams.run()
    assert [one.id for one in await told(world)] != [found.id]


async def test_confirmed_words_become_fragment_claim_and_fact_and_are_undone_to_the_byte(world: World):
    found = await guess(world)
    before = await world.export()
    done = await confirm(world, found)
    assert done.hypothesis.state is HypothesisState.PROMOTED
    assert done.fragment is not None
    assert (done.fragment.content, done.fragment.tags) == (ACME, ("dream_feedback",))
    assert done.fragment.metadata["source"] == f"dream_feedback:{found.id}"
    (step,) = done.claims
    assert step.verdict.outcome is GateOutcome.PROMOTED
    hits = await world.recall.search(world.scope, "where does Ana work Acme")
    assert step.fact is not None
    assert step.fact.id in {hit.entry.id for hit in hits}
    assert all(found.hypothesis not in hit.entry.content for hit in hits)
    await world.dreams.undo(done.report.run_id)
    assert await world.export() == before


async def test_a_repeated_confirmation_changes_nothing_and_gives_the_same_fragment(world: World):
    found = await guess(world)
    first = await confirm(world, found)
    before = await world.export()
    again = await confirm(world, found)
    assert again.is_unchanged
    assert again.fragment == first.fragment
    assert await world.export() == before


async def test_words_without_a_claim_become_a_fragment_alone(world: World):
    done = await confirm(world, await guess(world), "The person confirmed this should be remembered.")
    assert done.fragment is not None
    assert done.claims == ()


async def test_the_gate_refuses_a_weaker_claim_in_the_same_transaction(world: World):
    found = await guess(world)
    for words in ("Ana works at Globex.", "Ana works at Globex, she says."):
        source = (await world.add(words))[0]
        claim = await world.dreams.claims.assert_(  # noqa: PT009
            "Ana", "works_at", "Globex", source=f"entry:{source.id}", quote="Ana works at Globex", confidence=1.0
        )
        await world.dreams.claims.verify(claim.id)
        await world.dreams.claims.promote(claim.id)
    before = await world.export()
    done = await confirm(world, found)
    (step,) = done.claims
    assert (step.verdict.outcome, step.claim.state) == (GateOutcome.WEAKER, ClaimState.REJECTED)
    assert not [one for one in await world.active() if one.content == "Ana works at Acme."]
    await world.dreams.undo(done.report.run_id)
    assert await world.export() == before


@pytest.mark.parametrize("keep", ["claim", "fact"])
async def test_a_conflict_asks_and_the_person_answers(world: World, keep: str):
    first = await confirm(world, await guess(world), "Ana works at Globex.")
    other = await second_guess(world)
    before = await world.export()
    done = await confirm(world, other)
    (step,) = done.claims
    assert (step.verdict.outcome, step.claim.state) == (GateOutcome.CONTRADICTION, ClaimState.DISPUTED)
    assert step.fact is None
    (asked,) = await world.dreams.desk.questions()
    old = first.claims[0].fact
    assert old is not None
    assert [asked.members[0].id, asked.claims[0].id] == [old.id, step.claim.id]
    assert (asked.differ_in, asked.to_json()["claims"][0]["id"]) == ("Globex / Acme", step.claim.id)
    asking = await world.export()
    answered = await world.dreams.desk.answer(asked.question.id, keep=step.claim.id if keep == "claim" else old.id)
    claim = await world.dreams.claims.get(step.claim.id)
    assert claim.state is (ClaimState.PROMOTED if keep == "claim" else ClaimState.REJECTED)
    assert (await world.get(old)).status is (Status.SUPERSEDED if keep == "claim" else Status.ACTIVE)
    assert await world.dreams.desk.questions() == []
    (closed,) = await world.dreams.desk.questions(state=QuestionState.RESOLVED)
    assert closed.question.id == asked.question.id
    await world.dreams.undo(answered.run_id)
    assert await world.export() == asking
    await world.dreams.undo(done.report.run_id)
    assert await world.export() == before


async def second_guess(world: World) -> Hypothesis:
    entries = await world.add("The choir sings Palestrina in the cathedral", "Bo mends the cathedral organ")
    return await world.dreams.hypotheses.propose(
        "Bo may sing in the choir.", what_if="What if Bo sings?", sources=[f"entry:{one.id}" for one in entries]
    )


async def test_the_text_of_a_hypothesis_is_no_evidence_for_it(world: World):
    found = await guess(world)
    for words in (
        found.hypothesis,
        found.what_if,
        f"Yes, that is right: {found.hypothesis} I confirm it.",
        f"I think {found.hypothesis.replace(' may ', ' really do ')}",
    ):
        with pytest.raises(InvalidContentError, match="own text"):
            await confirm(world, found, words)
    assert (await told(world))[0].state is HypothesisState.PROPOSED
    own = f"{found.hypothesis} Ana explained on the phone that her landlord forbids insects."
    assert (await confirm(world, found, own)).hypothesis.state is HypothesisState.PROMOTED


@pytest.mark.parametrize(
    ("decision", "feedback", "said"),
    [
        ("promote", "Yes.", "choose one of"),
        ("promote_candidate", None, "give what the person said"),
        ("reject", "   ", "feedback"),
        ("reject", "x" * 10_000, "10,000 characters"),
    ],
)
async def test_what_cannot_be_decided_is_refused_in_a_sentence(
    world: World, decision: str, feedback: str | None, said: str
):
    found = await guess(world)
    before = await world.export()
    with pytest.raises(InvalidContentError, match=said):
        await world.dreams.hypotheses.resolve(found.id, decision, feedback=feedback)
    assert await world.export() == before


async def test_ids_that_are_unknown_or_of_another_scope_are_refused(world: World):
    found = await guess(world)
    elsewhere = world.dreams.for_scope(type(world.scope)("default", "agent", "somebody"))
    for dreams, name in ((world.dreams, "nothing"), (elsewhere, found.id)):
        with pytest.raises(UnknownRecordError):
            await dreams.hypotheses.resolve(name, "reject")


@pytest.mark.parametrize("rank", [-0.1, 1.1])
async def test_a_rank_beyond_zero_to_one_is_refused(world: World, rank: float):
    entries = await world.add(HIVES, FLAT)
    with pytest.raises(InvalidContentError, match="0 to 1"):
        await world.dreams.hypotheses.propose(
            "A.", what_if="B?", sources=[f"entry:{one.id}" for one in entries], likelihood=rank
        )


async def test_community_as_a_source_is_refused_by_name(world: World):
    (tea,) = await world.add(HIVES)
    with pytest.raises(InvalidContentError, match="no communities"):
        await world.dreams.hypotheses.propose("A.", what_if="B?", sources=[f"entry:{tea.id}", "community:c"])


async def test_a_source_that_vanished_between_listing_and_deciding_keeps_it_from_being_promoted(world: World):
    found = await guess(world)
    await world.dreams.desk.archive(found.source_refs[0].id)
    before = await world.export()
    with pytest.raises(LostSourceError, match="is archived"):
        await confirm(world, found)
    assert await world.export() == before


async def test_of_two_people_who_decide_at_once_one_wins_and_the_other_is_told(world: World):
    found = await guess(world)
    made = await asyncio.gather(
        world.dreams.hypotheses.resolve(found.id, "reject"),
        world.dreams.hypotheses.resolve(found.id, "promote_candidate", feedback=ACME),
        return_exceptions=True,
    )
    assert sorted(type(one).__name__ for one in made) == ["ForbiddenTransitionError", "Resolution"]
    assert len((await told(world))[0].decisions) == 1


@pytest.mark.parametrize("decision", list(HypothesisDecision))
@pytest.mark.parametrize("state", list(HypothesisState))
async def test_the_table_says_which_decision_is_possible(
    world: World, state: HypothesisState, decision: HypothesisDecision
):
    found = await guess(world)
    await world.storage.write(
        world.scope,
        lambda unit: unit.hypotheses.apply([(found, replace(found, state=state))]),
    )
    to = {"reinforce": "reinforced", "stale": "stale", "reject": "rejected", "promote_candidate": "promoted"}[decision]
    if to == state or to in TRANSITIONS[state]:
        done = await world.dreams.hypotheses.resolve(found.id, decision, feedback=ACME)
        assert (done.hypothesis.state, done.is_unchanged) == (to, to == state)
    else:
        with pytest.raises(ForbiddenTransitionError, match=f"is {state} and cannot become {to}"):
            await world.dreams.hypotheses.resolve(found.id, decision, feedback=ACME)


async def test_a_forget_takes_along_what_rests_on_the_forgotten_and_leaves_no_word(world: World):
    found = await guess(world)
    await confirm(world, found)
    entry = await world.get(found.source_refs[0].id)
    await world.storage.write(world.scope, lambda unit: unit.forget(entry.id))
    assert await told(world) == []
    assert entry.content.encode() not in await world.export()


async def test_an_export_brings_hypotheses_and_claims_elsewhere(world: World, tmp_path: Path):
    await confirm(world, await guess(world))
    file, there = tmp_path / "export.jsonl", fresh_scope()
    with file.open("wb") as out:
        await export_scope(world.storage, world.scope, out.write)
    await import_file(world.storage, there, file, clock=world.clock, ids=world.ids)
    before, after = await exported(world, world.scope), await exported(world, there)
    assert b'"kind":"hypothesis"' in before
    assert b'"kind":"claim"' in before
    assert after == before


async def exported(world: World, scope: Scope) -> bytes:
    lines: list[bytes] = []
    await export_scope(world.storage, scope, lines.append)
    return b"".join(lines[1:])


async def test_too_few_sources_and_pairs_known_already_are_told_with_counts(world: World):
    await world.add(HIVES)
    report = await world.dreams.run()
    assert codes(of_pass(report, "hypotheses")) == ["too_few_sources"]
    world.clock.advance(timedelta(days=9))
    await world.add(FLAT, *OTHERS)
    await world.dreams.run()
    (found,) = await told(world)
    await world.dreams.desk.edit(found.source_refs[0].id, category="bees")
    report = await world.dreams.run()
    assert codes(of_pass(report, "hypotheses")) == ["known_already"]


async def test_reflection_counts_and_lists_what_is_unwell(world: World):
    found = await guess(world)
    health = await world.dreams.reflect()
    assert health.counts() == {
        "stale_facts": 0,
        "candidate_claims": 0,
        "disputed_claims": 0,
        "contradictions": 0,
        "undecided": 1,
    }
    assert health.undecided == (found.id,)


async def test_a_claim_needs_a_source_that_says_it(world: World):
    (tea,) = await world.add(HIVES)
    for options in ({"quote": "Ana works at Acme"}, {"source": "entry:none"}, {"source": "feedback:x"}):
        told_so: dict[str, Any] = {"source": f"entry:{tea.id}", **options}
        with pytest.raises(InvalidInputError):
            await world.dreams.claims.assert_(  # noqa: PT009
                "Ana", "works_at", "Acme", **told_so
            )


async def test_a_failing_verifier_changes_nothing(world: World):
    (said,) = await world.add("Ana works at Acme.")
    claim = await world.dreams.claims.assert_(  # noqa: PT009
        "Ana", "works_at", "Acme", source=f"entry:{said.id}"
    )
    before = await world.export()

    async def fail(*_: object) -> Entailment:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await world.dreams.claims.verify(claim.id, by=fail)
    assert await world.export() == before


async def test_a_recall_names_what_has_to_do_with_it_in_a_lane_of_its_own(world: World):
    found = await guess(world)
    hits = await world.memory.recall("Are there beehives in Porto?", related_dreams=3)
    assert [one.hypothesis.id for one in hits.related_dreams] == [found.id]
    assert await told(world) == [found], "a look decides nothing"
    assert (await world.memory.recall("Are there beehives in Porto?")).related_dreams == ()
    assert (await world.memory.recall("When is chess played?", related_dreams=3)).related_dreams == ()
    await world.dreams.hypotheses.resolve(found.id, "reject")
    assert (await world.memory.recall("Are there beehives in Porto?", related_dreams=3)).related_dreams == ()


async def test_a_lane_that_fails_leaves_the_answer_and_a_line_in_the_log(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    await guess(world)

    class Failing:
        async def read(self, *_: object) -> None:
            raise StorageUnavailableError(path="memory", problem="is locked", remedy="try again")

    failing: Any = Failing()
    monkeypatch.setattr(world.recall, "hypotheses", RelatedHypotheses(failing, lambda _: None))
    hits = await world.memory.recall("Are there beehives in Porto?", related_dreams=3)
    assert len(hits) == 2
    assert hits.related_dreams == ()
    assert "related_hypotheses_unread" in caplog.text


async def test_a_turn_is_given_guesses_that_are_marked_as_unproven(tmp_path: Path):
    clock = ManualClock(datetime(2025, 6, 1, tzinfo=UTC))
    builder = AgentHostBuilder(tmp_path, clock=clock).with_memory().with_conversation_log()
    builder = builder.with_context(ContextOptions(hypotheses_share=0.3)).with_dreaming(in_background=False)
    async with builder.build() as host:
        await host.memory.remember(HIVES)
        clock.advance(timedelta(days=9))
        for text in (FLAT, *OTHERS):
            await host.memory.remember(text)
        await host.hypotheses.run()
        given = await host.context.for_turn("s1", "Are there beehives in Porto?", budget_tokens=600)
        bare = await host.context.for_turn("s2", "Are there beehives in Porto?", budget_tokens=60)
    assert len(given.related_dreams) == 1
    assert "Unproven guesses, no memories" in given.text
    assert given.tokens <= 600
    assert bare.related_dreams == ()


async def test_what_confirms_a_hypothesis_never_says_what_it_said(world: World):
    found = await guess(world)
    done = await confirm(world, found)
    entries = await world.entries()
    assert all(found.hypothesis not in one.content and found.what_if not in one.content for one in entries)
    assert all(found.id not in {ref.id for ref in one.sources} for one in entries)
    assert done.fragment is not None
    with pytest.raises(ValueError, match="hypothesis"):
        SourceRef.parse(f"hypothesis:{found.id}")


async def test_facts_of_one_claim_key_meet_in_prompts_though_they_share_no_word(world: World):
    facts: list[MemoryEntry] = []
    for said, thing in (("Ana likes tea.", "tea"), ("For her, rain is the best.", "rain")):
        (source,) = await world.add(said)
        claim = await world.dreams.claims.assert_(  # noqa: PT009
            "Ana", "likes", thing, source=f"entry:{source.id}"
        )
        await world.dreams.claims.verify(claim.id, by=entailed)
        step = (await world.dreams.claims.promote(claim.id)).step
        assert step.fact is not None
        facts.append(step.fact)
    found = await world.storage.read(world.scope, lambda view: same_subjects(view, facts[1:], 4))
    assert [one.id for one in found[facts[1].id]] == [facts[0].id]


async def entailed(*_: object) -> Entailment:
    return Entailment.ENTAILED
