"""The whole way: both passes in one run, with a real client, killed at any write, undone pass by pass."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest
from dreaming import DAY, VerifyingChatClient, World, of_pass
from interrupting import Killed, bury, count_writes, dying
from talking import talk

from agentcore.clock import SystemClock
from agentcore.llm import ChatOptions, ChatRequest, OpenAIChatClient
from agentcore.testing import ChatServer
from agentcore.testing.chat_server import ServedRequest

PASSES = ["episodes", "preferences"]
EPISODE, PREFERENCE = "Ana decided to tile the roof.", "Ana prefers shorter answers."


def said_of(lines: Sequence[str]) -> str:
    """What a model finds in these lines: a roof, and impatience."""
    found = {text: line[1:].partition("]")[0] for line in lines for text in ("tile the roof", "horter answers", EPISODE)
             if text in line}  # fmt: skip
    items: list[dict[str, Any]] = []
    if EPISODE in found:
        items.append({"existing": found[EPISODE]})
    if "tile the roof" in found:
        items = items or [{"content": EPISODE, "eventType": "decision", "actor": "Ana"}]
        said = (line for line in lines if line.startswith("[t") and "read-before" not in line)
        turn = next(line[1:].partition("]")[0] for line in said if "tile the roof" in line)
        items[0] |= {"sourceTurns": [turn], "quote": "tile the roof"}
    return orjson.dumps({"toSave": items}).decode()


def reply(prompt: str) -> str:
    lines = [line for line in prompt.splitlines() if line.startswith("[")]
    if "Answer with" not in prompt.partition("<<<")[0]:  # both in one question, whose form stands before the data
        return orjson.dumps({"episodes": orjson.loads(said_of(lines)), "preferences": wished(lines)}).decode()
    return said_of(lines) if "sentiment" not in prompt.partition("<<<")[0] else orjson.dumps(wished(lines)).decode()


def wished(lines: Sequence[str]) -> dict[str, Any]:
    turns = [line[1:].partition("]")[0] for line in lines if line.startswith("[t") and "horter answers" in line]
    item = {"content": PREFERENCE, "sentiment": "frustrated", "sourceIds": turns, "quote": "horter answers"}
    return {"toSave": [item | {"quote": "answers"}] if turns else []}


async def evening(world: World) -> None:
    await talk(world, "We will tile the roof.", "assistant: A long answer.", "Shorter answers, please.", session="s1")
    await talk(world, "Still too long, shorter answers!", session="s2")


async def dream(world: World) -> Any:
    return await world.dreams.run(passes=PASSES)


def scripted(world: World) -> World:
    def answer(request: ChatRequest) -> str:
        return reply(request.messages[-1].content)

    return replace(world, chat=VerifyingChatClient(itertools.repeat(answer)))


async def contents(world: World) -> list[tuple[str, int]]:
    return sorted((entry.content, entry.own_count) for entry in await world.active())


async def test_with_a_real_client_both_find_what_is_theirs_and_meet_it_again(world: World):
    await evening(world)
    reader = VerifyingChatClient([])

    def served(request: ServedRequest) -> str:
        prompt = request.body["messages"][-1]["content"]
        if "readings" in prompt:
            return reader.reading(prompt)
        reader.remember(answer := reply(prompt))
        return answer

    async with ChatServer(itertools.repeat(served)) as server:
        client = OpenAIChatClient(ChatOptions(base_url=server.base_url, model="scripted"), clock=SystemClock())
        await client.start()
        dreaming = replace(world, chat=client)
        first = await dream(dreaming)
        assert await contents(world) == [(EPISODE, 1), (PREFERENCE, 1)]
        calls = server.calls
        assert (await dream(dreaming)).changes == 0
        assert server.calls == calls
        world.clock.advance(DAY)
        await talk(world, "They tile the roof now, and shorter answers still.", "assistant: Fine.", session="s3")
        await dream(dreaming)
        await client.stop()
    assert [of_pass(first, name).accepted for name in PASSES] == [1, 1]
    assert await contents(world) == [(EPISODE, 2), (PREFERENCE, 2)]


async def test_each_is_undone_alone(world: World):
    await evening(world)
    run = await dream(scripted(world))
    await world.dreams.undo(run.run_id, pass_name="episodes")
    assert await contents(world) == [(PREFERENCE, 1)]
    await world.dreams.undo(run.run_id, pass_name="preferences")
    assert await contents(world) == []


async def test_a_run_and_its_undo_leave_the_export_as_it_was(world: World):
    await evening(world)
    before = await world.export()
    run = await dream(scripted(world))
    assert await world.export() != before
    await world.dreams.undo(run.run_id)
    assert await world.export() == before


async def test_killed_at_any_write_it_ends_as_if_nothing_had_happened(world: World):
    whole = scripted(world.elsewhere())
    await evening(whole)
    await dream(whole)
    counted = scripted(world.elsewhere())
    await evening(counted)
    writes = await count_writes(counted, dream)
    assert writes > 4
    for write in range(writes):
        one = scripted(world.elsewhere())
        await evening(one)
        with pytest.raises(Killed):
            await dream(dying(one, write, committed=True))
        await bury(one)
        await dream(one)
        await dream(one)
        assert await contents(one) == await contents(whole), write
