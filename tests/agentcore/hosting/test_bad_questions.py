"""Every way to recall answers any text, and refuses in a sentence what is no text, no number or no condition."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest
import pytest_asyncio

from agentcore import AgentHostBuilder, Host
from agentcore.errors import InvalidContentError, InvalidInputError, InvalidOptionsError

Ways = dict[str, Callable[..., Awaitable[Sequence[Any]]]]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def host() -> AsyncIterator[Host]:
    builder = AgentHostBuilder(":memory:").with_memory().with_conversation_log().with_skills().with_context()
    async with builder.build() as host:
        await host.memory.remember("Ana flies to Lisbon")
        await host.conversation.append(session_id="s", role="user", content="We fly to Lisbon on Monday.")
        await host.skills.save("flights", summary="Books flights to Lisbon", content="Ask for the dates first.")
        yield host


@pytest.fixture
def ways(host: Host) -> Ways:
    return {
        "memory": host.memory.recall,
        "explain": host.memory.explain,
        "turns": host.conversation.recall,
        "skills": host.skills.recall,
        "both": host.context.recall,
    }


@pytest.mark.parametrize(
    "query",
    [
        "",
        " \t\n",
        "\x00\x1b[31m",
        "\u200d\u200c\u202e",
        "👩‍👩‍👧 🎉",
        "?!",
        "the of it",
        "x" * 1_000_000,
        "猫" * 100_000,
    ],
    ids=["empty", "blank", "control", "invisible", "emoji", "marks", "stop words", "one long word", "han"],
)
async def test_what_asks_for_nothing_finds_nothing(ways: Ways, host: Host, query: str):
    assert {name: len(await recall(query)) for name, recall in ways.items()} == dict.fromkeys(ways, 0)
    if query:
        assert (await host.context.for_turn(session_id="t", message=query, budget_tokens=50)).tokens <= 50


@pytest.mark.parametrize(
    "query",
    ["lisbon " * 140_000, "\u202eLISBON\u202c", "🎉Lis\u00adbon\x00", "\ud800 lisbon", "Lísbon 東京 מרים"],
    ids=["a megabyte", "right to left", "control", "surrogate", "mixed"],
)
@pytest.mark.parametrize("k", [1, 2**80])
async def test_a_word_is_found_whatever_stands_around_it_and_however_many_are_asked_for(ways: Ways, query: str, k: int):
    found = {name: len(await recall(query, k=k)) for name, recall in ways.items()}
    assert found == dict.fromkeys(ways, 1) | {"both": min(k, 2)}


@pytest.mark.parametrize("k", [0, -1, -(2**70), 1.5, "3", None])
async def test_no_number_of_answers_is_refused_in_a_sentence(ways: Ways, k: Any):
    for recall in ways.values():
        with pytest.raises(InvalidOptionsError, match="give 1 or more"):
            await recall("lisbon", k=k)


@pytest.mark.parametrize("query", [None, 5, b"lisbon", ["lisbon"]])
async def test_what_is_no_text_is_refused_in_a_sentence(ways: Ways, query: Any):
    for recall in ways.values():
        with pytest.raises(InvalidOptionsError, match="give text"):
            await recall(query)


async def test_conditions_that_are_none_are_refused_in_a_sentence(host: Host):
    for conditions in ({"created_after": "2025"}, {"seen_before": 5}, {"level": "rumour"}, {"about": "soon"}):
        with pytest.raises((InvalidContentError, InvalidInputError), match=r"cannot be stored|not a subject time"):
            await host.memory.recall("lisbon", **conditions)  # pyright: ignore[reportArgumentType]
    for unknown in ({"mood": "x"}, {"status": "archived"}, {"statuses": ["archived"]}):
        with pytest.raises(TypeError, match="There is no argument"):
            await host.memory.recall("lisbon", **unknown)  # pyright: ignore[reportArgumentType]
