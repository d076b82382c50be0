"""A model that answers by what it is shown: scripts name texts, and become handles when the question comes."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
from dreaming import VerifyingChatClient, World

from agentcore.domain import MemoryEntry
from agentcore.llm import ChatRequest
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


def supersede(old: str, new: str, reason: str = "no longer so") -> Callable[[Shown], Any]:
    """An answer in which one entry takes another's place."""
    return lambda handles: {
        "toDelete": [{"id": handles[old], "reason": reason, "supersededBy": handles[new]}],
        "toSave": [],
    }


def keep(text: str, *others: str, add: Sequence[tuple[str, str]] = (), **fields: Any) -> Callable[[Shown], Any]:
    """An answer with one merge by copying: a text that stays whole, and sentences of other texts."""

    def answer(handles: Shown) -> Any:
        added = [{"from": handles.get(source, source), "text": sentence} for source, sentence in add]
        sources = dict.fromkeys([text, *others, *(source for source, _ in add)])
        copied = {"content": None, "keep": handles.get(text, text), "add": added}
        return {"toDelete": [], "toSave": [save(handles, "", *sources) | copied | fields]}

    return answer


class Reader(VerifyingChatClient):
    """A second reader that finds every text that was written to be borne out, and every change to be one."""

    def reading(self, prompt: str) -> str:
        for old in _CHANGE.findall(prompt):
            self.remember(orjson.dumps([{"content": orjson.loads(f'"{old}"')}]).decode())
        return super().reading(prompt)


_CHANGE = re.compile(r'^\[s\w+\] .*?"(\\".*" holds now in the place of .*tells nothing else\.)"$', re.MULTILINE)


def scripted(world: World, scripts: Sequence[Script], denies: Collection[str] = (), **tuning: Any) -> World:
    def reply(script: Script) -> Callable[[ChatRequest], str]:
        def answer(request: ChatRequest) -> str:
            said = script(shown(request)) if callable(script) else script
            return said if isinstance(said, str) else orjson.dumps(said).decode()

        return answer

    options = world.options.replace(
        model=world.options.model.replace(calls_in_flight=1),
        consolidation=ConsolidationOptions(**tuning) if tuning else world.options.consolidation,
    )
    return replace(world, chat=Reader([reply(script) for script in scripts], denies=denies), options=options)


async def dream(
    world: World, *scripts: Script, denies: Collection[str] = (), **tuning: Any
) -> tuple[PassReport, list[ChatRequest]]:
    """Run the pass alone; the model answers with one script per call, and any further call fails the pass."""
    one = scripted(world, scripts, denies, **tuning)
    run: RunReport = await one.run_passes(MemoryConsolidation())
    report = run.passes[0]
    assert "used up" not in str(report.reason), report.reason
    return report, one.chat.requests


def contents(entries: Sequence[MemoryEntry]) -> set[str]:
    return {entry.content for entry in entries}
