"""A model that answers by what it is shown: scripts name texts, and become handles when the question comes."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
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

    def _says(self, one: Any, asked: Sequence[Any]) -> bool:
        if one.text in self._written or any(part.casefold() in one.text for part in self._denies):
            return super()._says(one, asked)
        shown = " ".join(one.evidence)
        told = [piece.rstrip(".!") for piece in _pieces(shown.casefold())]
        is_whole = all(piece.rstrip(".!") in told for piece in _pieces(one.text)) and all(
            piece in one.text for piece in told
        )
        is_change = '" and no longer "' in one.text and all(number in shown for number in re.findall(r"\d+", one.text))
        return one.text in _TRUE or is_change or is_whole


def _pieces(text: str) -> list[str]:
    return [piece for piece in re.split(r"(?<=[.!?])\s+", " ".join(text.split())) if piece]


_TRUE = {row["true"].casefold() for row in orjson.loads(Path("directives/verify-checks.json").read_bytes())}


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
