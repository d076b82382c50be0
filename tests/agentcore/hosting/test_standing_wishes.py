"""What a person asked for to hold on: it is given whatever the message says."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentcore import AgentHostBuilder, Host, Trust
from agentcore.domain import SourceKind, SourceRef
from agentcore.errors import InvalidOptionsError
from agentcore.hosting import TurnContext
from agentcore.testing import ManualClock, SequentialIds

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
WISH = "Always write dates with the weekday."
QUESTION = "When does the ferry to Lisbon leave?"


def builder(path: str | None = None, **context: Any) -> AgentHostBuilder:
    made = AgentHostBuilder(path, clock=ManualClock(NOON), ids=SequentialIds("r")).with_memory()
    return made.with_conversation_log().with_context(lambda options: options.replace(**context))


@pytest.fixture
async def host():
    async with builder(window=0).build() as running:
        yield running


async def say(host: Host, text: str, session: str = "before", role: str = "user", **more: Any):
    return await host.conversation.append(session_id=session, role=role, content=text, **more)


async def ferries(host: Host, count: int = 60) -> None:
    for number in range(count):
        await say(host, f"The ferry number {number} to Lisbon leaves from pier {number}", session="ferries")


async def ask(host: Host, budget: int = 400, session: str = "now") -> TurnContext:
    given = await host.context.for_turn(session, QUESTION, budget_tokens=budget)
    assert given.tokens <= budget
    return given


def asked(given: TurnContext) -> list[str]:
    """Return the lines under the heading of wishes."""
    lines = given.text.splitlines()
    if "Asked for:" not in lines:
        return []
    after = lines[lines.index("Asked for:") + 1 :]
    return after[: next((place for place, line in enumerate(after) if not line.startswith("- ")), len(after))]


async def test_a_wish_without_a_word_of_the_message_is_given_beside_what_answers(host: Host):
    wish = await say(host, WISH, speaker="Ana")
    await ferries(host)
    given = await ask(host)
    assert wish in given.turns
    assert asked(given) == [f"- [14 June 2025] Ana: {WISH}"]
    assert "Said before:" in given.text


async def test_the_newest_of_two_wishes_stands_first_and_alone_where_only_one_fits(host: Host):
    for days, text in ((0, "Please always answer in German"), (9, "From now on answer in French, please")):
        await say(host, text, occurred_at=NOON - timedelta(days=20 - days))
    await ferries(host)
    assert [line.split("] ")[1] for line in asked(await ask(host, 1_000))] == [
        "From now on answer in French, please",
        "Please always answer in German",
    ]
    assert [line.split("] ")[1] for line in asked(await ask(host, 130))] == ["From now on answer in French, please"]


async def test_what_the_assistant_promises_is_no_wish(host: Host):
    await say(host, WISH, role="assistant")
    await ferries(host)
    assert asked(await ask(host, 1_000)) == []


async def test_a_wish_that_an_always_loaded_entry_was_made_of_is_not_given_besides(host: Host):
    wish = await say(host, WISH)
    source = SourceRef(SourceKind.TURN, wish.id)
    note = await host.memory.remember("Dates come with the weekday", category="user-preferences", sources=[source])
    await ferries(host)
    given = await ask(host)
    assert given.always == (note,)
    assert wish not in given.turns


async def test_a_forgotten_wish_is_given_no_more(host: Host):
    wish = await say(host, WISH)
    note = await host.memory.remember(WISH, category="user-preferences", sources=[SourceRef(SourceKind.TURN, wish.id)])
    await ferries(host)
    await host.memory.forget(note.id)
    assert "weekday" not in (await ask(host, 1_000)).text


async def test_a_wish_from_outside_is_marked(host: Host):
    await say(host, WISH, trust=Trust.UNTRUSTED)
    await ferries(host)
    assert asked(await ask(host)) == [f"- [14 June 2025] {WISH} [untrusted]"]


async def test_a_wish_is_given_once_in_a_window_and_never_when_the_conversation_shows_it():
    async with builder(window=3).build() as host:
        await say(host, WISH)
        await say(host, "Never call me Annie", session="now")
        await ferries(host)
        given = await ask(host, 2_000)
        assert len(asked(given)) == 1
        assert given.text.count("weekday") == 1
        assert "Annie" not in given.text
        assert asked(await ask(host, 2_000)) == []


async def test_wishes_take_no_more_than_their_share(host: Host):
    for number in range(60):
        await say(host, f"Always water plant number {number} in the evening")
    await ferries(host)
    for budget in (250, 300, 700, 1_000):
        held = sum(len(line.encode()) + 1 for line in asked(await ask(host, budget))) / 4
        assert 0 < held <= 0.2 * budget


async def test_of_a_long_turn_the_part_with_the_wish_is_given(host: Host):
    filler = "The garden was full of rain that day and nobody went out. " * 20
    await say(host, f"{filler}\n\nFrom now on, measure rain in inches.\n\n{filler}")
    await ferries(host)
    (line,) = asked(await ask(host, 1_000))
    assert "measure rain in inches" in line
    assert len(line) < 500


async def test_a_share_of_nothing_gives_no_wish():
    async with builder(window=0, standing_share=0.0).build() as host:
        await say(host, WISH)
        await ferries(host)
        assert "weekday" not in (await ask(host, 1_000)).text


def test_a_share_above_everything_is_refused():
    with pytest.raises(InvalidOptionsError, match=r"context\.standing_share"):
        builder(standing_share=1.5).build()


async def test_a_wish_is_found_again_after_a_restart_with_a_kept_index(tmp_path: Any):
    def kept() -> AgentHostBuilder:
        made = AgentHostBuilder(tmp_path, clock=ManualClock(NOON), ids=SequentialIds("r"))
        return made.with_memory(lambda one: one.replace(snapshot_min_entries=1)).with_conversation_log()

    async with kept().build() as host:
        await say(host, WISH)
        await ferries(host)
        assert len(asked(await ask(host, 1_000))) == 1
    async with kept().build() as host:
        assert len(asked(await ask(host, 1_000))) == 1
