"""A run of mining that dies at any write is resumed: nothing is paid twice, nothing is doubled."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from dreaming import VerifyingChatClient, World
from interrupting import Killed, bury, count_writes, dying
from mining import a_fact, answer, contents, talk

from agentcore.llm import ChatRequest
from dream.options import ModelOptions
from dream.passes.fact_mining import FactMining

SAID = ("I like tea " * 100, "I like milk " * 100, "I like tea " * 100)


def reply(request: ChatRequest) -> str:
    """Answer for whichever turn is asked about, as each prompt has room for one."""
    drink = "tea" if "I like tea" in request.messages[-1].content else "milk"
    return answer(a_fact(f"Ana likes {drink}.", "t1", quote=f"I like {drink}"))


def wrong_at_first(request: ChatRequest) -> str:
    """Answer with a quote that nobody said, and put it right when told so."""
    is_repair = "Refused items:" in request.messages[1].content
    drink = "tea" if "I like tea" in request.messages[1].content else "milk"
    fact = a_fact(f"Ana likes {drink}.", "t1", quote=f"I like {drink}" if is_repair else "I drink it")
    return answer({"item": 1, **fact} if is_repair else fact)


async def drinking(world: World, says: Callable[[ChatRequest], str] = reply) -> World:
    there = replace(
        world.elsewhere(),
        chat=VerifyingChatClient(itertools.repeat(says)),
        options=world.options.replace(model=ModelOptions(prompt_tokens=620, calls_in_flight=1)),
    )
    for number, text in enumerate(SAID):
        await talk(there, text, session=f"s{number}")
    return there


async def outcome(world: World) -> Any:
    found = {entry.content: (entry.own_count, len(entry.sources)) for entry in await world.active()}
    return contents(await world.active()), found


async def mined(world: World) -> None:
    await world.run_passes(FactMining())


async def test_it_ends_as_if_nothing_had_happened(world: World):
    whole = await drinking(world)
    await mined(whole)
    expected = await outcome(whole)
    assert expected[1] == {"Ana likes tea.": (2, 2), "Ana likes milk.": (1, 1)}
    assert len(whole.chat.requests) == 3
    for write in range(await count_writes(await drinking(world), mined)):
        one = await drinking(world)
        with pytest.raises(Killed):
            await mined(dying(one, write, committed=True))
        await bury(one)
        await mined(one)
        assert await outcome(one) == expected, write
        assert len(one.chat.requests) == 3, write


async def test_a_repair_is_paid_for_once_whenever_the_process_dies(world: World):
    whole = await drinking(world, wrong_at_first)
    await mined(whole)
    expected = await outcome(whole)
    assert expected[1] == {"Ana likes tea.": (2, 2), "Ana likes milk.": (1, 1)}
    assert len(whole.chat.requests) == 6
    for write in range(await count_writes(await drinking(world, wrong_at_first), mined)):
        one = await drinking(world, wrong_at_first)
        with pytest.raises(Killed):
            await mined(dying(one, write, committed=True))
        await bury(one)
        await mined(one)
        assert await outcome(one) == expected, write
        assert len(one.chat.requests) == 6, write
