"""Many callers that remember at once, beside one after the other and one call with all texts.

`python -m tests.bench.remembering FOLDER` measures in this process, in a new data folder.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

from agentcore import AgentHostBuilder, Host
from tests.bench.figures import Figure, middle
from tests.bench.processes import answer, fresh
from tests.bench.stores import Stores

_TEXTS = 500
_ROUNDS = 5


async def measure(folder: Path) -> dict[str, Any]:
    """Return, for each way, how many texts a second it took in each round; the ways take turns."""
    host = AgentHostBuilder(folder).with_memory().with_conversation_log().build()
    found: dict[str, list[float]] = {name: [] for name in _WAYS}
    async with host:
        for turn in range(_ROUNDS):
            for name, way in _WAYS.items():
                texts = [
                    f"Visitor {number} of round {turn} left note {name} at house {number * 7}"
                    for number in range(_TEXTS)
                ]
                began = time.perf_counter()
                await way(host, texts)
                found[name].append(_TEXTS / (time.perf_counter() - began))
    return found


async def _in_a_row(host: Host, texts: list[str]) -> None:
    for text in texts:
        await host.memory.remember(text)


async def _at_once(host: Host, texts: list[str]) -> None:
    await asyncio.gather(*map(host.memory.remember, texts))


async def _in_one_call(host: Host, texts: list[str]) -> None:
    await host.memory.remember_many(texts)


async def _appended_at_once(host: Host, texts: list[str]) -> None:
    append = host.conversation.append
    await asyncio.gather(*(append(session_id="s", role="user", content=text) for text in texts))


_WAYS: dict[str, Callable[[Host, list[str]], Awaitable[None]]] = {
    "in a row": _in_a_row,
    "at once": _at_once,
    "in one call": _in_one_call,
    "turns at once": _appended_at_once,
}


def figures(stores: Stores) -> list[Figure]:
    """Measure in a process of its own."""
    with tempfile.TemporaryDirectory(dir=stores.folder) as folder:
        found = fresh("remembering", folder)
    return [
        middle(f"remember, {_TEXTS} texts one after the other", found["in a row"], "/s"),
        middle(f"- {_TEXTS} callers at once", found["at once"], "/s"),
        Figure("- against one after the other", median(found["at once"]) / median(found["in a row"]), "x"),
        middle("- in one call", found["in one call"], "/s"),
        middle(f"append, {_TEXTS} callers at once", found["turns at once"], "/s"),
    ]


if __name__ == "__main__":
    answer(measure(Path(sys.argv[1])))
