"""People who talk, and models that answer from a list."""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from dreaming import VerifyingChatClient, World

from agentcore.domain import Trust, Turn
from agentcore.llm import ChatRequest
from agentcore.stores import Origin

MINUTE = timedelta(minutes=1)


async def talk(world: World, *said: str, session: str = "s1", **fields: Any) -> list[Turn]:
    """Log what Ana said, a minute apart; `assistant: ...` is the assistant's."""
    start = fields.pop("occurred_at", world.clock.now())
    turns = [a_turn(world, text, session, start + place * MINUTE, **fields) for place, text in enumerate(said)]
    await world.write(lambda unit: unit.turns.add(turns), origin=Origin.HOST)
    return turns


def a_turn(world: World, text: str, session: str, at: datetime, **fields: Any) -> Turn:
    role, speaker, trust = "user", "Ana", Trust.STATED
    if text.startswith("assistant: "):
        role, speaker, trust, text = "assistant", None, Trust.INFERRED, text.removeprefix("assistant: ")
    usual = {"session_id": session, "role": role, "speaker": speaker, "trust": trust, "occurred_at": at}
    now = world.clock.now()
    return Turn(id=world.ids.new(), scope=world.scope, content=text, recorded_at=now, **(usual | fields))


def answering(
    world: World, *answers: str | Callable[[ChatRequest], str], denies: Collection[str] = (), **options: Any
) -> World:
    """The world with a model that gives these answers in turn, and denies some of it when it reads it again."""
    chat = VerifyingChatClient(answers, denies=denies)
    return replace(world, chat=chat, options=world.options.replace(**options))


def lines_of(request: ChatRequest, letter: str) -> list[str]:
    """The lines of data of a prompt whose handles begin with a letter."""
    return [line for line in request.messages[-1].content.splitlines() if line.startswith(f"[{letter}")]


def handle_of(request: ChatRequest, text: str) -> str:
    """The handle of the first line that holds a text."""
    lines = [line for line in request.messages[-1].content.splitlines() if line.startswith("[") and text in line]
    return lines[0][1:].partition("]")[0]
