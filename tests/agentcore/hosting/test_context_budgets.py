"""What a budget gives a turn: it is filled, more of it never gives less, and of a long text the part that answers."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from agentcore import AgentHostBuilder, Host
from agentcore.domain import SourceKind, SourceRef
from agentcore.hosting import TurnContext
from agentcore.testing import ManualClock, SequentialIds

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
QUESTION = "Which tram goes over the yellow bridge in Lisbon?"
WORDS = ("tram", "yellow", "bridge", "Lisbon", "river", "rain", "Ana", "bought", "a", "ticket", "never", "again.")


@asynccontextmanager
async def opened() -> AsyncIterator[Host]:
    made = AgentHostBuilder(None, clock=ManualClock(NOON), ids=SequentialIds("r")).with_memory().with_skills()
    async with made.with_conversation_log().with_context(lambda one: one.replace(window=0)).build() as running:
        yield running


@pytest.fixture
async def host():
    async with opened() as running:
        yield running


async def say(host: Host, text: str):
    return await host.conversation.append(session_id="before", role="user", speaker="Ana", content=text)


async def ask(host: Host, budget: int, question: str = QUESTION) -> TurnContext:
    found = await host.context.for_turn("now", question, budget_tokens=budget)
    assert found.tokens <= budget
    return found


def shown(found: TurnContext) -> set[str]:
    return {one.id for one in (*found.always, *found.entries, *found.turns, *found.skills)}


def told(found: TurnContext) -> set[str]:
    """What is shown, and the turns that an entry shown tells of: below 250 tokens it may not fit, and they do."""
    return shown(found) | {source.id for one in (*found.always, *found.entries) for source in one.sources}


async def noted(host: Host, text: str, *turn_ids: str, category: str = "general"):
    sources = [SourceRef(SourceKind.TURN, one) for one in turn_ids]
    return await host.memory.remember(text, category=category, sources=sources)


async def test_two_facts_of_one_turn_are_both_given_before_what_answers_worse(host: Host):
    turn = await say(host, "The tram over the yellow bridge is the 15, and my sister drives it")
    facts = [
        await noted(host, "The tram over the yellow bridge in Lisbon is the 15", turn.id),
        await noted(host, "Ana's sister drives a tram over the yellow bridge", turn.id),
    ]
    for number in range(20):
        await noted(host, f"Ticket {number} for a tram costs three euros")
    assert {fact.id for fact in facts} <= shown(await ask(host, 100))


async def test_what_is_always_loaded_hides_no_other_entry_of_its_turn(host: Host):
    turn = await say(host, "Answer in short. The tram over the yellow bridge is the 15")
    await noted(host, "Answers should be short", turn.id, category="user-preferences")
    fact = await noted(host, "The tram over the yellow bridge in Lisbon is the 15", turn.id)
    for number in range(20):
        await noted(host, f"Ticket {number} for a tram costs three euros")
    assert fact.id in shown(await ask(host, 200))


async def test_an_entry_that_is_not_shown_hides_no_turn(host: Host):
    turn = await say(host, "The tram over the yellow bridge in Lisbon is the 15")
    await noted(host, f"The tram over the yellow bridge in Lisbon, {'which is old and slow, ' * 15}is the 15", turn.id)
    for number in range(60):
        await say(host, f"Ticket {number} for a tram costs three euros")
    assert turn.id in shown(await ask(host, 90))


async def test_a_large_budget_is_filled(host: Host):
    for number in range(300):
        await say(host, f"Tram {number} is yellow")
    for budget in (250, 700, 1_000, 2_000):
        assert (await ask(host, budget)).tokens > 0.9 * budget


async def test_what_stands_around_the_matches_fills_what_they_leave(host: Host):
    await say(host, "The tram over the yellow bridge is the 15")
    for number in range(100):
        await say(host, f"Sunday number {number} was quiet and we stayed in the garden")
    given = await ask(host, 2_000)
    assert given.text.splitlines()[2].endswith("The tram over the yellow bridge is the 15")
    assert given.tokens > 1_800
    assert len({one.id for one in given.turns}) == len(given.turns)


async def test_other_parts_of_a_long_turn_come_when_everything_else_had_its_place(host: Host):
    rain = "".join(f"On day {number} it rained and nobody left the house. " for number in range(200))
    long = await say(host, f"{rain}The yellow bridge is crossed by tram 15. {rain}")
    await say(host, "Which tram?")
    given = await ask(host, 1_000)
    lines = given.text.splitlines()[2:]
    assert ["tram 15" in line or "Which tram?" in line for line in lines[:2]] == [True, True]
    assert given.tokens > 900
    assert [turn.id for turn in given.turns].count(long.id) == 1


async def test_a_question_that_matches_nothing_is_given_nothing(host: Host):
    await say(host, "We stayed in the garden")
    assert (await ask(host, 1_000)).text == ""


@pytest.mark.parametrize("role", ["turn", "entry"])
async def test_of_a_long_text_the_sentences_that_answer_are_shown(host: Host, role: str):
    filler = "It rained all day and nobody knew what to do about that. "
    text = f"{filler * 40}The yellow bridge is crossed by tram 15 alone. Dr. Sousa said so! {filler * 40}"
    await (say(host, text) if role == "turn" else noted(host, text))
    line = next(line for line in (await ask(host, 400)).text.splitlines() if "tram 15" in line)
    assert "The yellow bridge is crossed by tram 15 alone. Dr. Sousa said so!" in line
    assert line.startswith("- [14 June 2025] Ana: … " if role == "turn" else "- … ")
    assert "about that. …" in line
    assert len(line) < 600


async def test_a_sentence_too_long_to_be_shown_is_cut_around_its_words(host: Host):
    await say(host, f"{'on and on ' * 300}the yellow bridge is crossed by tram 15 {'on and on ' * 300}")
    given = await ask(host, 400)
    line = next(line for line in given.text.splitlines() if "the yellow bridge is crossed by tram 15" in line)
    assert len(line) < 700


async def test_a_long_text_without_spaces_or_full_stops_is_shown_in_part(host: Host):
    await say(host, f"{'昨日は雨だった' * 200}黄色い橋を渡る電車{'昨日は雨だった' * 200}")
    given = await ask(host, 1_000, "黄色い橋を渡る電車はどれですか")
    line = next(line for line in given.text.splitlines() if "黄色い橋を渡る電車" in line)
    assert len(line) < 700


@st.composite
def texts(draw: st.DrawFn) -> str:
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12))
    said = " ".join([draw(st.sampled_from(WORDS[:4])), *words * draw(st.sampled_from((1, 1, 2, 20)))])
    return draw(st.sampled_from(("", "", "Always take the ", "Rain, rain. From now on no "))) + said


@settings(max_examples=25, deadline=None)
@given(
    turns=st.lists(texts(), max_size=12),
    entries=st.lists(st.tuples(texts(), st.booleans(), st.sets(st.integers(0, 11), max_size=3)), max_size=10),
    skills=st.lists(texts(), max_size=3),
    budgets=st.lists(st.integers(0, 700), min_size=2, max_size=8).map(sorted),
)
async def test_what_a_budget_shows_every_bigger_one_shows_too(
    turns: Sequence[str],
    entries: Sequence[tuple[str, bool, set[int]]],
    skills: Sequence[str],
    budgets: Sequence[int],
):
    async with opened() as host:
        said = [await say(host, text) for text in turns]
        for text, pinned, cited in entries:
            sources = [SourceRef(SourceKind.TURN, said[one].id) for one in cited if one < len(said)]
            await host.memory.remember(text, pinned=pinned, sources=sources)
        for number, summary in enumerate(skills):
            await host.skills.save(f"skill/{number}", summary=summary[:200], content="Do it.")
        found = [await ask(host, budget) for budget in budgets]
    for budget, (less, more) in zip(budgets, pairwise(found), strict=False):
        assert shown(less) <= told(more)
        if budget >= 250:
            assert set(less.text.splitlines()) <= set(more.text.splitlines())
