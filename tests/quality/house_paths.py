"""Which files of the product a memory passes through: every Python call on three paths, in all threads.

Started by `house_figures` as a process of its own, with the tree to measure on the path of imports; prints JSON. It
uses names of the public face alone (and the public doubles), so that it can be run on trees whose rooms differ.
"""

import asyncio
import importlib
import pkgutil
import re
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from agentcore import Host
    from agentcore.llm import ChatRequest

_NOW = datetime(2025, 6, 14, 9, 30, tzinfo=UTC)
_TEXT = "Ana keeps bees in Sintra"
_PATIENCE_SECONDS = 60.0


class Tracer:
    """Notes the product's files that calls enter, while a path is being walked.

    Doubles count as the world outside, as a model and a clock do. The bodies of modules and classes do not count: what
    is imported late is no step of a datum.

    Args:
        root: The tree whose files count.
    """

    def __init__(self, root: Path) -> None:
        self._root = f"{root}/"
        self._product = (f"{root}/agentcore/", f"{root}/dream/")
        self._doubles = f"{root}/agentcore/testing/"
        self._entered: set[str] | None = None
        self.paths: dict[str, list[str]] = {}

    @contextmanager
    def looking(self) -> Generator[None, None, None]:
        """Look at all calls within the block, in this thread and in those that begin there."""
        threading.setprofile(self._look)
        sys.setprofile(self._look)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # pyright: ignore[reportArgumentType] - the documented way to end it

    @contextmanager
    def path(self, name: str) -> Generator[None, None, None]:
        """Note the files entered within the block under *name*."""
        self._entered = entered = set[str]()
        try:
            yield
        finally:
            self._entered = None
            self.paths[name] = sorted(file.removeprefix(self._root) for file in entered)

    def whole(self, name: str, *parts: str) -> None:
        """Note the files of several paths under one name."""
        self.paths[name] = sorted({file for part in parts for file in self.paths[part]})

    def _look(self, frame: FrameType, event: str, _argument: object) -> None:
        entered = self._entered
        if entered is None or event != "call" or not frame.f_code.co_flags & CO_OPTIMIZED:
            return
        file = frame.f_code.co_filename
        if file.startswith(self._product) and not file.startswith(self._doubles):
            entered.add(file)


def import_everything(root: Path) -> None:
    """Import the whole product, so that what is imported late enters no path."""
    for name in ("agentcore", "dream"):
        package = importlib.import_module(name)
        if not str(package.__file__).startswith(f"{root}/"):
            raise SystemExit(f"{name} was imported from {package.__file__}, not from {root}")
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if "__main__" not in module.name and ".migrations." not in module.name:
                importlib.import_module(module.name)


async def fold(tracer: Tracer, folder: Path) -> None:
    """Remember a text, fold one pair, and undo the fold."""
    from agentcore import AgentHostBuilder  # noqa: PLC0415 - only once the tracer looks
    from agentcore.testing import ManualClock  # noqa: PLC0415

    clock = ManualClock(_NOW)
    builder = AgentHostBuilder(folder, clock=clock).with_memory().with_dreaming(in_background=False)
    async with builder.build() as host:
        await host.memory.remember("Ben sails on Sundays")
        await _rest()
        with tracer.path("remember"):
            await host.memory.remember("Cleo plays the cello")
        await _a_pair(host)
        with tracer.path("fold of one pair"):
            report = await host.dreams.run(passes=["exact-fold"])
        _expect(report.changes == 2, report)
        with tracer.path("undo"):
            undone = await host.dreams.undo(report.run_id)
        _expect(undone.changes == 2, undone)
    tracer.whole("remember, fold of one pair, undo", "remember", "fold of one pair", "undo")


async def mine(tracer: Tracer, folder: Path) -> None:
    """Append a turn, take one fact down from it, and recall the fact."""
    from agentcore import AgentHostBuilder  # noqa: PLC0415
    from agentcore.testing import ManualClock, ScriptedChatClient  # noqa: PLC0415

    builder = AgentHostBuilder(folder, clock=ManualClock(_NOW)).with_memory().with_conversation_log()
    builder = builder.with_llm(ScriptedChatClient([_fact])).with_dreaming(in_background=False)
    async with builder.build() as host:
        await _rest()
        with tracer.path("append a turn"):
            await host.conversation.append(
                session_id="s1", role="user", speaker="Ana", content="I keep bees in Sintra."
            )
        with tracer.path("fact-mining of one fact"):
            report = await host.dreams.run(passes=["fact-mining"])
        _expect(report.changes == 1, report)
        with tracer.path("recall"):
            hits = await host.memory.recall("who keeps bees")
        _expect([hit.entry.content for hit in hits] == [f"{_TEXT}."], hits)
    tracer.whole("append a turn, fact-mining of one fact, recall", "append a turn", "fact-mining of one fact", "recall")


def _fact(request: "ChatRequest") -> str:
    """Answer with the one fact of the one turn shown, whatever its handle is called."""
    (handle,) = re.findall(r"^\[(\w+)\].*bees", request.messages[-1].content, re.MULTILINE)
    fact = {"content": f"{_TEXT}.", "sourceTurns": [handle], "quote": "I keep bees in Sintra"}
    return orjson.dumps({"facts": [fact]}).decode()


async def due(tracer: Tracer, folder: Path) -> None:
    """Let time pass until the interval's dream has begun, run the passes that need no model, and ended."""
    from agentcore import AgentHostBuilder  # noqa: PLC0415
    from agentcore.testing import ManualClock  # noqa: PLC0415

    clock = ManualClock(_NOW)
    reports: list[Any] = []
    async with AgentHostBuilder(folder, clock=clock).with_memory().with_dreaming().build() as host:
        host.dreams.on_report(reports.append)
        await _a_pair(host)
        await _rest()
        _expect(not reports, reports)
        with tracer.path("due time to run"):
            until = time.monotonic() + _PATIENCE_SECONDS
            while not reports and time.monotonic() < until:
                clock.advance(timedelta(minutes=1))
                await asyncio.sleep(0.05)
        _expect([report.changes for report in reports] == [2], reports)


async def _a_pair(host: "Host") -> None:
    """Store two entries that say the same.

    A text that is remembered again is reinforced at once; one that is corrected to say the same waits for a dream.
    """
    await host.memory.remember(_TEXT)
    other = await host.memory.remember("Ana keeps wasps")
    await host.memory.update(other.id, content=f"{_TEXT}.")


async def _rest() -> None:
    """Let the host's own tasks come to rest, so that none of their steps enters a path."""
    await asyncio.sleep(0.3)


def _expect(holds: bool, seen: object) -> None:
    if not holds:
        raise SystemExit(f"A path led elsewhere: {seen}")


def main() -> None:
    """Walk all paths and print the files of each as JSON."""
    root = Path(sys.argv[1]).resolve()
    import_everything(root)
    tracer = Tracer(root)
    with tracer.looking(), tempfile.TemporaryDirectory() as folder:
        for walk in (fold, mine, due):
            asyncio.run(walk(tracer, Path(folder) / walk.__name__))
    print(orjson.dumps(tracer.paths).decode())


if __name__ == "__main__":
    main()
