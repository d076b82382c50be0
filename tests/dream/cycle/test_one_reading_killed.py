"""A process killed anywhere while passes read together: no reader loses a turn, and no answer is paid for twice."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from dreaming import VerifyingChatClient, World
from interrupting import Killed, WatchedStorage, bury, count_writes, dying
from talking import talk
from together import ALL, answer, contents, dream, evening, reading

from agentcore.llm import ChatRequest
from agentcore.llm.chat import Completion
from agentcore.stores.sql.stored_prompts import StoredPrompts

pytestmark = pytest.mark.slow
BATCH = 3
Prompts = list[tuple[str, ...]]


async def talked(world: World) -> World:
    """The world after five turns, which are asked about in several shared questions."""
    await evening(world)
    await talk(world, "Nothing else happened.", session="s3")
    return reading(world, batch_turns=BATCH)


async def kept(world: World) -> Prompts:
    """The prompts whose answers are on record."""
    told = await world.storage.read(world.scope, lambda view: [*StoredPrompts(view.transaction).all()])
    return [tuple(text for _, text in messages) for _, messages in told]


def asked(world: World) -> Prompts:
    requests = [*world.chat.requests, *world.chat.readings]
    return [tuple(message.content for message in request.messages) for request in requests]


async def died_in(world: World, work: Awaitable[Any]) -> None:
    with pytest.raises(BaseException) as raised:  # noqa: PT011 - a kill may come wrapped
        await work
    error: BaseException = raised.value
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, Killed)
    await bury(world)


async def goes_on(world: World, where: object) -> None:
    """Dream again after the death, and a third time: all is known, nothing was paid twice, nothing is left to do."""
    paid, before = await kept(world), asked(world)
    await dream(world)
    assert await contents(world) == ALL, where
    assert [one for one in asked(world)[len(before) :] if one in paid] == [], where
    count = len(asked(world))
    await dream(world)
    assert len(asked(world)) == count, where


async def test_at_any_transaction(world: World):
    async def whole(somewhere: World) -> None:
        await dream(somewhere)

    writes = await count_writes(await talked(world.elsewhere()), whole)
    assert writes > 20
    for write in range(writes):
        for committed in (False, True):
            other = await talked(world.elsewhere())
            await died_in(other, dream(dying(other, write, committed=committed)))
            await goes_on(other, (write, committed))


class DyingChatClient(VerifyingChatClient):
    """A model whose caller dies while a call is under way, before any answer comes.

    Args:
        die: Kills the process.
        at: At which call, second readings among them.
    """

    def __init__(self, die: Callable[[], None], at: int) -> None:
        super().__init__(iter(lambda: answer, None))
        self._die = die
        self._left = at

    async def complete(self, request: ChatRequest) -> Completion:
        self._left -= 1
        if self._left < 0:
            self._die()
            raise Killed
        return await super().complete(request)


async def test_at_any_call(world: World):
    probe = await talked(world.elsewhere())
    await dream(probe)
    calls = len(asked(probe))
    assert len(probe.chat.readings) >= 1
    assert calls > 3
    for call in range(calls):
        other = await talked(world.elsewhere())
        storage = WatchedStorage(other.storage)

        def die(storage: WatchedStorage = storage) -> None:
            storage.is_dead = True

        doomed = replace(other, storage=storage, chat=DyingChatClient(die, call))
        await died_in(other, dream(doomed))
        await goes_on(other, call)
