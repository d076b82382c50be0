"""A model that answers by what it is shown: scripts name texts, and become handles when the question comes."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
from dreaming import World

from agentcore.domain import MemoryEntry
from agentcore.llm import ChatRequest
from agentcore.testing import ScriptedChatClient
from dream.domain import PassReport, RunReport
from dream.options import ConsolidationOptions
from dream.passes.memory_consolidation import MemoryConsolidation

Shown = Mapping[str, str]
"""The handle of each text in a question."""
Script = Callable[[Shown], Any] | Mapping[str, Any] | str

NOTHING = {"toDelete": [], "toSave": []}

_LINE = re.compile(r'^\[(\w+)\] (.*?) ?("(?:[^"\\]|\\.)*")$', re.MULTILINE)


def lines(request: ChatRequest) -> dict[str, str]:
    """The attributes of each text in the first question of *request*."""
    return {orjson.loads(text): attributes for _, attributes, text in _LINE.findall(request.messages[1].content)}


def shown(request: ChatRequest) -> dict[str, str]:
    return {orjson.loads(text): handle for handle, _, text in _LINE.findall(request.messages[1].content)}


def merge(content: str, *texts: str, **fields: Any) -> Callable[[Shown], Any]:
    """An answer with one merge of *texts*."""
    return lambda handles: {"toDelete": [], "toSave": [save(handles, content, *texts, **fields)]}


def save(handles: Shown, content: str, *texts: str, **fields: Any) -> dict[str, Any]:
    sources = [handles.get(text, text) for text in texts]
    return {"content": content, "category": None, "tags": [], "importance": None, "sourceIds": sources} | fields


def drop(*texts: str) -> Callable[[Shown], Any]:
    return lambda handles: {"toDelete": [handles.get(text, text) for text in texts], "toSave": []}


def supersede(old: str, new: str) -> Callable[[Shown], Any]:
    """An answer in which one entry takes another's place."""
    return lambda handles: {
        "toDelete": [{"id": handles[old], "reason": "no longer so", "supersededBy": handles[new]}],
        "toSave": [],
    }


def scripted(world: World, scripts: Sequence[Script], **tuning: Any) -> World:
    def reply(script: Script) -> Callable[[ChatRequest], str]:
        def answer(request: ChatRequest) -> str:
            said = script(shown(request)) if callable(script) else script
            return said if isinstance(said, str) else orjson.dumps(said).decode()

        return answer

    options = world.options.replace(
        model=world.options.model.replace(calls_in_flight=1),
        consolidation=ConsolidationOptions(**tuning) if tuning else world.options.consolidation,
    )
    return replace(world, chat=ScriptedChatClient([reply(script) for script in scripts]), options=options)


async def dream(world: World, *scripts: Script, **tuning: Any) -> tuple[PassReport, list[ChatRequest]]:
    """Run the pass alone; the model answers with one script per call, and any further call fails the pass."""
    one = scripted(world, scripts, **tuning)
    run: RunReport = await one.run_passes(MemoryConsolidation())
    report = run.passes[0]
    assert "used up" not in str(report.reason), report.reason
    return report, one.chat.requests


def contents(entries: Sequence[MemoryEntry]) -> set[str]:
    return {entry.content for entry in entries}
