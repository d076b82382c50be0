"""A world where people talk, and a model that answers with the facts a test wrote down."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
from dreaming import NOW, VerifyingChatClient, World

from agentcore.domain import Trust, Turn
from agentcore.llm import ChatRequest
from agentcore.stores import Origin
from dream.domain import PassReport
from dream.passes.fact_mining import FactMining

MINUTE = timedelta(minutes=1)


def a_fact(content: str, *turns: str, quote: str, **fields: Any) -> dict[str, Any]:
    """A fact as a model writes it."""
    usual = {"category": "general", "tags": []}
    return {"content": content, "sourceTurns": list(turns or ("t1",)), "quote": quote, **(usual | fields)}


def answer(*facts: Any) -> str:
    return orjson.dumps({"facts": list(facts)}).decode()


async def talk(world: World, *said: str | Turn, session: str = "s1", **fields: Any) -> list[Turn]:
    """Log what Ana said, a minute apart; `assistant: ...` is the assistant's."""
    start = fields.pop("occurred_at", world.clock.now())
    turns: list[Turn] = []
    for place, text in enumerate(said):
        at = start + place * MINUTE
        turns.append(text if isinstance(text, Turn) else a_turn(world, text, session, at, **fields))
    await world.write(lambda unit: unit.turns.add(turns), origin=Origin.HOST)
    return turns


def a_turn(world: World, text: str, session: str, at: Any = NOW, **fields: Any) -> Turn:
    role, speaker, trust = "user", "Ana", Trust.STATED
    if text.startswith("assistant: "):
        role, speaker, trust, text = "assistant", None, Trust.INFERRED, text.removeprefix("assistant: ")
    usual = {"session_id": session, "role": role, "speaker": speaker, "trust": trust, "occurred_at": at}
    return Turn(id=world.ids.new(), scope=world.scope, content=text, recorded_at=NOW, **(usual | fields))


def hearing(world: World, *answers: Any, denies: Collection[str] = (), **options: Any) -> World:
    """The world with a model that gives these answers in turn, and denies some of it when it reads it again."""
    chat = VerifyingChatClient(answers, denies=denies)
    return replace(world, chat=chat, options=world.options.replace(**options))


async def mine(world: World, *facts: Any, **options: Any) -> PassReport:
    """Mine once, the model answering with these facts, whatever is refused of them."""
    heard = hearing(world, *[answer(*facts)] * 2, **options)
    return (await heard.run_passes(FactMining())).passes[0]


def lines_of(request: ChatRequest) -> list[str]:
    """The lines of data of a prompt."""
    text = request.messages[-1].content
    return [line for line in text.splitlines() if line.startswith("[t")]


def contents(entries: Iterable[Any]) -> list[str]:
    return sorted(entry.content for entry in entries)
