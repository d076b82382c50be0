"""A year told in conversations, through the real client and a server on loopback (`python -m tests.bench.year`)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agentcore.domain import Confidence, Level, Status
from agentcore.hosting.host import Host
from tests.bench.year import a_year, evidence_of, premises_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

CARD = [
    "IDENTITY: Name is Nora Lindqvist.",
    "ATTRIBUTE: Works at the harbour authority in Antwerp.",
    "ATTRIBUTE: Lives in Antwerp.",
    "ATTRIBUTE: Has two cats, Miso and Yuzu.",
    "ATTRIBUTE: Boulders twice a week in Antwerp-North.",
    "RELATIONSHIP: Separated from Tomas.",
    "INSTRUCTION: Keep answers short.",
]
TRANSITIONS = {
    "Nora moved from Ghent to Antwerp.",
    "Nora went from a bakery start-up in Ghent to the harbour authority in Antwerp.",
    "Nora went from one cat to two.",
    "Nora no longer lives with Tomas, from whom she has separated.",
    "Nora went from rope climbing to bouldering.",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Host]:
    async with a_year(Path(tmp_path_factory.mktemp("year"))) as (lived, _):
        yield lived


async def test_the_card_shows_the_present_and_each_line_the_sentence_it_rests_on(host: Host):
    lines = await host.card.lines()
    assert sorted(map(str, lines)) == sorted(CARD)
    for line in lines:
        told = await evidence_of(host, line)
        assert any(part.strip()[:2] == "20" and "Nora:" in part for part in told), told
    former = {str(line) for line in await host.card.history() if not line.is_active}
    assert {"ATTRIBUTE: Lives in Ghent.", "RELATIONSHIP: Partner is Tomas."} <= former


async def test_transitions_are_deductions_with_what_was_and_what_is(host: Host):
    deduced = [one for one in await host.memory.list(limit=100) if one.level is Level.DEDUCTIVE]
    assert {one.content for one in deduced} == TRANSITIONS
    for one in deduced:
        states = sorted(told.split(": ")[0].split()[1] for told in await premises_of(host, one))
        assert states == ["active", "superseded"], one.content


async def test_a_pattern_is_as_sure_as_its_five_occasions_and_there_is_one_of_it(host: Host):
    (pattern,) = [one for one in await host.memory.list(limit=100) if one.level is Level.INDUCTIVE]
    assert (len(pattern.premises), pattern.confidence) == (5, Confidence.HIGH)
    assert len({one.session for one in pattern.premises}) == 5


async def test_the_contradiction_waits_and_a_person_s_answer_ends_it(host: Host):
    (asked,) = await host.desk.questions()
    told = await host.context.for_turn("next", "Is Nora allergic to anything?", budget_tokens=600)
    assert told.text.count(f"(contradicted, ask: {asked.question.text})") == 2
    healthy = next(one for one in asked.members if "no allergies" in one.content)
    ended = await host.desk.answer(asked.question.id, keep=healthy.id, why="She told me.")
    states = {one.content: (await host.memory.get(one.id)) for one in asked.members}
    assert {text: found and found.status for text, found in states.items()} == {
        "Nora is allergic to shellfish.": Status.SUPERSEDED,
        "Nora has no allergies whatever.": Status.ACTIVE,
    }
    later = await host.context.for_turn("later", "Is Nora allergic to anything?", budget_tokens=600)
    assert "contradicted" not in later.text
    await host.dreams.undo(ended.run_id)
    assert [one.question.text for one in await host.desk.questions()] == [asked.question.text]
