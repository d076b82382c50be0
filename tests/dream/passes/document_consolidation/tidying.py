"""A MEMORY.md on disk, and a model that answers by what it is shown: scripts name texts, which become handles."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
from dreaming import World, of_pass
from rereading import Denial, is_second_reading, nothing, reread

from agentcore.domain import StoredDocument, fold_key
from agentcore.llm import ChatRequest, ChatRequestRefusedError
from agentcore.testing import ScriptedChatClient
from agentcore.workspace import Document, Workspaces
from dream.domain import PassReport, RunReport
from dream.options import DocumentOptions
from dream.passes.document_consolidation import DocumentConsolidation

NAME = "document-consolidation"
NOTHING: dict[str, Any] = {"edits": []}

PAGE = """\
# MEMORY.md

## Builds

- The nightly build fails when the cache is cold
- Nightly build: fails on a cold cache
- A cold cache makes the nightly build fail
- Releases are cut on Fridays
- Since March releases are cut on Mondays, not on Fridays
- On 6 March the release was late because the nightly build failed
- On 9 April the release was late because the nightly build failed

## People

- Ana keeps bees in Porto
- Rui runs marathons
- Marta has a cat called Miso
- Bo sails on Sundays
- Dora teaches chess

| who | desk |
|-----|------|
| Ana | 4    |
"""
SAME = (
    "The nightly build fails when the cache is cold",
    "Nightly build: fails on a cold cache",
    "A cold cache makes the nightly build fail",
)
OLD, NEW = "Releases are cut on Fridays", "Since March releases are cut on Mondays, not on Fridays"
LATE = (
    "On 6 March the release was late because the nightly build failed",
    "On 9 April the release was late because the nightly build failed",
)

_LINE = re.compile(r'^\[(\w+)\] (.*?) ?("(?:[^"\\]|\\.)*")$', re.MULTILINE)
Script = Callable[[str], Any] | Mapping[str, Any] | str


def shown(text: str) -> dict[str, str]:
    """The handle of each item in a question."""
    return {orjson.loads(said): handle for handle, _, said in _LINE.findall(text)}


def lines(request: ChatRequest) -> dict[str, str]:
    """The attributes of each item in a question."""
    return {orjson.loads(said): attributes for _, attributes, said in _LINE.findall(request.messages[1].content)}


def edit(op: str, *texts: str, text: str | None = None, target: str | None = None, reason: str | None = None) -> Any:
    """An edit whose texts become handles once it is known what was shown."""
    return lambda handles: {
        "op": op,
        "items": [handles.get(one, one) for one in texts],
        "text": text,
        "target": None if target is None else handles.get(target, target),
        "reason": reason,
    }


def answer(*edits: Any) -> Callable[[str], Any]:
    return lambda question: {"edits": [one(shown(question)) for one in edits]}


def said_to(question: str, script: Script) -> str:
    said = script(question) if callable(script) else script
    return said if isinstance(said, str) else orjson.dumps(said).decode()


@dataclass
class Desk:
    """A world whose workspace is *folder*."""

    world: World
    folder: Path
    denies: Denial = nothing
    """What the second reading denies."""
    is_reading: bool = True
    """Whether there is anybody to read a second time."""

    @property
    def memory(self) -> Path:
        return self.folder / "MEMORY.md"

    @property
    def archive(self) -> Path:
        return self.folder / "memory-archive.md"

    @property
    def texts(self) -> list[str]:
        return [item.text for item in Document(self.memory.read_bytes().decode()).items]

    async def write(self, text: str = PAGE, *, own: bool | Sequence[str] = True) -> None:
        """Write MEMORY.md; *own* says which of its items the agent wrote."""
        self.memory.write_bytes(text.encode())
        items = [item.text for item in Document(text).items]
        keys = sorted({fold_key(one) for one in (items if own is True else own or ())})
        known = StoredDocument(
            id="MEMORY.md", scope=self.world.scope, content=text, updated_at=self.world.clock.now(), own=tuple(keys)
        )
        await self.world.write(lambda unit: unit.documents.delete(["MEMORY.md"]))
        await self.world.write(lambda unit: unit.documents.add(known))

    async def own(self, name: str = "MEMORY.md") -> set[str]:
        stored = await self.world.storage.read(self.world.scope, lambda view: view.documents.get(name))
        return set() if stored is None else set(stored.own)

    def set(self, **documents: Any) -> None:
        self.world.options = self.world.options.replace(documents=DocumentOptions(**({"share_cap": 1.0} | documents)))

    async def dream(
        self, *scripts: Script, meanwhile: Callable[[], object] | None = None
    ) -> tuple[PassReport, list[ChatRequest], RunReport]:
        """Run the pass alone; the model answers with one script per call, and any further call fails the pass."""

        def reply(script: Script) -> Callable[[ChatRequest], str]:
            def tell(request: ChatRequest) -> str:
                if meanwhile is not None:
                    meanwhile()
                return said_to(request.messages[1].content, script)

            return tell

        left = iter([reply(script) for script in scripts])
        asked: list[ChatRequest] = []

        def answer_of(request: ChatRequest) -> Any:
            if is_second_reading(request.messages[-1].content):
                if not self.is_reading:
                    return ChatRequestRefusedError(model="m", status=400, code="")
                return reread(request.messages[-1].content, self.denies)
            asked.append(request)
            return next(left)(request)

        chat = ScriptedChatClient(itertools.repeat(answer_of))
        run = await replace(self.world, chat=chat).run_passes(DocumentConsolidation())
        return of_pass(run, NAME), asked, run


def desk_in(world: World, folder: Path) -> Desk:
    world.workspaces = Workspaces(lambda _: folder)
    world.options = world.options.replace(model=world.options.model.replace(calls_in_flight=1))
    desk = Desk(world, folder)
    desk.set()
    return desk
