"""Contradictions: questions which a person or new evidence ends, and what is told of them meanwhile."""

from datetime import timedelta
from pathlib import Path

import pytest
from dreaming import NOW, World, codes
from test_inference import DISAGREEING, ON, concluded, deduce, deduction, induce, question_of, said

from agentcore import AgentHostBuilder
from agentcore.domain import RecordKind, Scope, SourceKind, SourceRef, Status
from agentcore.domain.question import Question, QuestionCause
from dream.options import DreamOptions


@pytest.fixture
def world(world: World) -> World:
    world.options = DreamOptions(modes=ON)
    return world


async def test_a_contradiction_becomes_a_question_and_changes_nothing(world: World):
    await said(world, "Lea is allergic to cats.", "Lea has no allergies.", **DISAGREEING)
    report = await deduce(world, deduction("Does Lea have an allergy?", "e1", "e2", kind="contradiction"))
    (asked,) = await world.dreams.desk.questions()
    assert (asked.question.cause, asked.question.text) == (QuestionCause.CONTRADICTION, "Does Lea have an allergy?")
    assert (len(asked.members), report.notes["contradictions"], await concluded(world)) == (2, 1, [])


async def test_a_contradiction_that_the_evidence_decides_is_resolved(world: World):
    old, new = await said(world, "Lea is allergic to cats.", "Lea has no allergies.")
    await world.dreams.desk.confirm(old.id)
    report = await deduce(world, deduction("Does Lea have an allergy?", "e1", "e2", kind="contradiction"))
    assert (report.notes["resolved"], report.notes["contradictions"]) == (1, 0)
    gone = await world.get(new)
    assert (gone.status, gone.successor) == (Status.SUPERSEDED, old.id)
    await world.dreams.undo((await world.dreams.runs())[0].run_id)
    assert (await world.get(new)).is_active


async def test_an_open_contradiction_is_shown_with_both_sides_until_a_new_entry_decides_it(world: World):
    allergic, healthy = await said(world, "Lea is allergic to cats.", "Lea has no allergies.", **DISAGREEING)
    await deduce(world, deduction("Does Lea have an allergy?", "e1", "e2", kind="contradiction"))
    assert "asked about already" not in question_of(world)
    (found,) = await said(world, "The doctor found that Lea is allergic to cats.", apart=timedelta(minutes=1))
    await world.dreams.desk.confirm(found.id)
    report = await deduce(world, deduction("Does Lea have an allergy?", "e1", "e3", kind="contradiction"))
    told = question_of(world)
    assert "asked about already" in told
    assert 'e2, e3 "Does Lea have an allergy?"' in told
    assert all(one.content in told for one in (allergic, healthy, found))
    assert report.notes["resolved"] == 1
    assert (await world.get(healthy)).successor == found.id
    assert await world.dreams.desk.questions() == []


async def test_an_open_contradiction_is_not_asked_twice_nor_told_to_the_induction(world: World):
    await said(world, "Lea is allergic to cats.", "Lea has no allergies.", **DISAGREEING)
    await deduce(world, deduction("Does Lea have an allergy?", "e1", "e2", kind="contradiction"))
    await said(world, "Lea strokes every cat in the allergy ward.", apart=timedelta(minutes=1))
    again = await deduce(world, deduction("Is Lea allergic?", "e2", "e3", kind="contradiction"))
    assert len(await world.dreams.desk.questions()) == 1
    assert "too_few_citations" in codes(again)
    await induce(world)
    assert "asked about already" not in question_of(world)


async def test_the_answer_to_a_contradiction_supersedes_the_loser_and_what_rests_on_it(world: World):
    allergic, healthy = await said(world, "Lea is allergic to cats.", "Lea has no allergies.", **DISAGREEING)
    await deduce(world, deduction("Does Lea have an allergy?", "e1", "e2", kind="contradiction"),
                 deduction("A cat would make Lea ill.", "e1"))  # fmt: skip
    (asked,) = await world.dreams.desk.questions()
    answered = await world.dreams.desk.answer(asked.question.id, keep=healthy.id, why="She told me.")
    assert (await world.get(allergic)).successor == healthy.id
    assert await concluded(world) == []
    await world.dreams.undo(answered.run_id)
    assert [one.content for one in await concluded(world)] == ["A cat would make Lea ill."]


async def test_a_turn_is_told_of_an_open_contradiction_beside_the_entries_it_is_about(tmp_path: Path):
    builder = AgentHostBuilder(tmp_path).with_memory().with_conversation_log()
    async with builder.with_dreaming(DreamOptions()).build() as host:
        for text in ("Lea is allergic to cats.", "Lea has no allergies."):
            await host.memory.remember(text)
        members = tuple(SourceRef(SourceKind.ENTRY, entry.id) for entry in await host.memory.list())
        asked = Question(
            id="q", scope=Scope.default(), cause=QuestionCause.CONTRADICTION, members=members,
            text="Does Lea have an allergy?", asked_at=NOW, asked_by="deduction",
        )  # fmt: skip
        await host.storage.write(Scope.default(), lambda unit: unit.of_kind(RecordKind.QUESTION).apply([(None, asked)]))
        told = await host.context.for_turn("now", "Tell me about the allergies of Lea.", budget_tokens=200)
        assert told.text.count("(contradicted, ask: Does Lea have an allergy?)") == 2
        await host.desk.answer("q", keep=members[0].id)
        told = await host.context.for_turn("later", "Tell me about the allergies of Lea.", budget_tokens=200)
        assert "contradicted" not in told.text
