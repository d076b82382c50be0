"""What a person asked to forget is told to nobody, though the log keeps the place of the turns that say it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from agentcore import AgentHostBuilder, Host, MemoryEntry
from agentcore.domain import SourceKind, SourceRef, Turn
from agentcore.testing import ManualClock, SequentialIds

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
CODE = "The door code is 4711"
QUESTION = "What is the code of the door?"


def builder(data_dir: Path | None = None) -> AgentHostBuilder:
    made = AgentHostBuilder(data_dir, clock=ManualClock(NOON), ids=SequentialIds("r")).with_memory()
    return made.with_conversation_log().with_context().with_dreaming()


@pytest.fixture
async def host():
    async with builder().build() as running:
        yield running


async def say(host: Host, text: str, session: str = "before", **more: Any) -> Turn:
    return await host.conversation.append(session_id=session, role="user", content=text, speaker="Ana", **more)


def cites(turn: Turn) -> tuple[SourceRef, ...]:
    return (SourceRef(SourceKind.TURN, turn.id),)


async def by_the_host(host: Host, entry: MemoryEntry) -> None:
    done = await host.memory.forget(entry.id)
    assert done.removed == (entry.id,)


async def by_a_person_whom_the_agent_asks(host: Host, entry: MemoryEntry) -> None:
    call = orjson.dumps({"id": entry.id, "begins": entry.content}).decode()
    assert "deleted" in await host.tools(confirm_forget=lambda _: True).call("forget", call)


async def by_the_agent_alone(host: Host, entry: MemoryEntry) -> None:
    call = orjson.dumps({"id": entry.id, "begins": entry.content}).decode()
    assert "set_aside" in await host.tools().call("forget", call)


async def told(host: Host) -> str:
    """Everything that recall and context tell about the code."""
    said = await host.conversation.recall(QUESTION)
    context = await host.context.for_turn("now", QUESTION, budget_tokens=2_000)
    short = await host.context.for_turn("before", "And?", budget_tokens=2_000)
    mixed = await host.context.recall(QUESTION)
    return "\n".join([*(hit.turn.content for hit in said), context.text, short.text, short.query, *map(str, mixed)])


@pytest.mark.parametrize("forget", [by_the_host, by_a_person_whom_the_agent_asks, by_the_agent_alone])
async def test_a_turn_that_a_forgotten_entry_cites_is_told_no_longer(host: Host, forget: Callable[..., Any]):
    turn = await say(host, "My door opens with 4711, keep that to yourself; and I am fond of trams.")
    other = await say(host, "The code of the bicycle lock I forgot.")
    entry = await host.memory.remember(CODE, sources=cites(turn))
    assert "4711" in await told(host)
    await forget(host, entry)
    assert "4711" not in await told(host)
    assert [hit.turn.id for hit in await host.conversation.recall("code trams")] == [other.id]
    kept = turn if forget is by_the_agent_alone else replace(turn, content="[forgotten]")
    assert await host.conversation.get(turn.id) == kept


@pytest.mark.parametrize("forget", [by_the_host, by_a_person_whom_the_agent_asks, by_the_agent_alone])
async def test_turns_of_equal_text_are_told_no_longer(host: Host, forget: Callable[..., Any]):
    await say(host, "the DOOR code is  4711.")
    await say(host, "The door code is 4711", session="elsewhere")
    entry = await host.memory.remember(CODE)
    assert "4711" in await told(host)
    await forget(host, entry)
    assert "4711" not in await told(host)


async def test_what_is_said_anew_is_told_again(host: Host):
    turn = await say(host, CODE)
    entry = await host.memory.remember(CODE, sources=cites(turn))
    await host.memory.forget(entry.id)
    anew = await say(host, CODE, session="later")
    assert [hit.turn.id for hit in await host.conversation.recall(QUESTION)] == [anew.id]
    again = await host.memory.remember(CODE, sources=cites(anew))
    assert [finding.record.id for finding in await host.context.recall(QUESTION)] == [again.id, anew.id]


async def test_what_a_person_brings_back_brings_its_turns_back(host: Host):
    turn = await say(host, CODE)
    entry = await host.memory.remember(CODE, sources=cites(turn))
    await by_the_agent_alone(host, entry)
    assert await host.context.recall(QUESTION) == []
    await host.dreams.restore(entry.id)
    assert [finding.record.id for finding in await host.context.recall(QUESTION)] == [entry.id, turn.id]


async def test_a_turn_that_two_forgotten_entries_cite_waits_for_both(host: Host):
    turn = await say(host, "My code is 4711 and my bell is broken.")
    code = await host.memory.remember(CODE, sources=cites(turn))
    bell = await host.memory.remember("Ana's bell is broken", sources=cites(turn))
    await by_the_agent_alone(host, code)
    await by_the_agent_alone(host, bell)
    await host.dreams.restore(code.id)
    assert await host.conversation.recall("code bell") == []
    await host.dreams.restore(bell.id)
    assert [hit.turn.id for hit in await host.conversation.recall("code bell")] == [turn.id]


async def test_it_stays_so_after_a_restart(tmp_path: Path):
    async with builder(tmp_path).build() as host:
        turn = await say(host, CODE, occurred_at=NOON - timedelta(days=1))
        await host.memory.forget((await host.memory.remember(CODE, sources=cites(turn))).id)
    async with builder(tmp_path).build() as host:
        assert "4711" not in await told(host)


async def test_other_scopes_keep_what_they_heard(host: Host):
    turn = await say(host, CODE)
    other = host.for_scope(host.memory.scope.__class__("acme", "agent", "ben"))
    await other.conversation.append(session_id="s", role="user", content=CODE)
    await host.memory.forget((await host.memory.remember(CODE, sources=cites(turn))).id)
    assert len(await other.conversation.recall(QUESTION)) == 1
