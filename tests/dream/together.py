"""Readers that share a question, and a model that answers each of them about two evenings."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
from dreaming import VerifyingChatClient, World
from talking import lines_of, talk

from agentcore.llm import ChatRequest
from dream.domain import RunReport
from dream.options import ReadingOptions

READERS = ["fact-mining", "episodes", "preferences", "skill-gaps"]
FACT, EPISODE, PREFERENCE = "Rui has hay fever.", "Ana decided to tile the roof.", "Ana prefers shorter answers."

ALL = sorted([FACT, EPISODE, PREFERENCE])


def part_of(reader: str, request: ChatRequest) -> dict[str, Any]:
    """What a model finds for one reader in the new turns of a prompt."""
    said = [line for line in lines_of(request, "t") if "read-before" not in line]

    def has(text: str) -> bool:
        return any(text in line for line in said)

    def cites(text: str, key: str, quote: str = "") -> dict[str, Any]:
        handles = [line[1:].partition("]")[0] for line in lines_of(request, "t") if text in line]
        return {key: handles, "quote": quote or text}

    match reader:
        case "fact-mining":
            fact = {"content": FACT, "category": "health", "tags": []}
            return {"facts": [fact | cites("Rui has hay fever", "sourceTurns")] if has("Rui has hay fever") else []}
        case "episodes":
            told = {"content": EPISODE, "eventType": "decision", "actor": "Ana"}
            return {"toSave": [told | cites("tile the roof", "sourceTurns")] if has("tile the roof") else []}
        case "preferences":
            wish = {"content": PREFERENCE, "sentiment": "frustrated"}
            return {"toSave": [wish | cites("horter answers", "sourceIds", "answers")] if has("horter answers") else []}
        case _:
            return {"toSave": []}


def is_joint(request: ChatRequest) -> bool:
    return request.purpose == "reading"


def names_in(request: ChatRequest) -> list[str]:
    return [name for name in READERS if f'# Part "{name}"' in request.messages[0].content]


def answer(request: ChatRequest) -> str:
    if is_joint(request):
        return orjson.dumps({name: part_of(name, request) for name in names_in(request)}).decode()
    return orjson.dumps(part_of(request.purpose, request)).decode()


def reading(world: World, reply: Callable[[ChatRequest], str] = answer, **options: Any) -> World:
    chat = VerifyingChatClient(itertools.repeat(reply))
    together = ReadingOptions(together=True, **options)
    return replace(world, chat=chat, options=world.options.replace(reading=together))


async def evening(world: World) -> None:
    await talk(world, "We will tile the roof. Rui has hay fever.", "assistant: Fine.", session="s1")
    await talk(world, "assistant: A long answer.", "Shorter answers, please!", "Still shorter answers!", session="s2")


async def dream(world: World) -> RunReport:
    return await world.dreams.run(passes=READERS)


async def contents(world: World) -> list[str]:
    return sorted(entry.content for entry in await world.active())
