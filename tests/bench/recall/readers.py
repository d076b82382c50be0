"""The public recall beside the index alone, and several readers beside one, in one process.

`python -m tests.bench.recall.readers FOLDER [LOCOMO]` measures a filled folder.
"""

import asyncio
import itertools
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from agentcore import AgentHostBuilder, Host
from agentcore.clock import SystemClock
from agentcore.domain.decay import Decay
from agentcore.domain.temporal import to_micros
from tests.bench.figures import quantile
from tests.bench.processes import answer
from tests.bench.recall import corpus

_PASSES = 7
_K = 10
_READERS = 8
_ROUNDS = 9


async def measure(folder: Path, questions: list[str]) -> dict[str, Any]:
    """Return medians, in seconds, and how many times as many recalls a second several tasks get as one."""
    host = AgentHostBuilder(folder).with_memory().build()
    async with host:
        await host.memory.recall(questions[0])
        return await _beside_index(host, questions) | await _readers(host, questions)


async def _beside_index(host: Host, questions: list[str]) -> dict[str, Any]:
    """Ask the index and the public way by turns; of every question the best of the passes counts, and all of them."""
    caches = host.memory._recall._entries  # pyright: ignore[reportPrivateUsage]
    index: Any = caches._scopes[host.memory.scope].index  # pyright: ignore[reportPrivateUsage]
    half = len(questions) // 2
    alone: list[list[float]] = []
    public: list[list[float]] = []
    for _ in range(_PASSES):
        alone.append([])
        public.append([])
        for question, other in zip(questions, questions[half:] + questions[:half], strict=True):
            now_us = to_micros(SystemClock().now())
            began = time.perf_counter()
            index.rank(question, decay=Decay(), now_us=now_us, limit=_K)
            between = time.perf_counter()
            await host.memory.recall(other, _K)
            alone[-1].append(between - began)
            public[-1].append(time.perf_counter() - between)
    return {
        "index": median(itertools.chain(*alone)),
        "public": median(itertools.chain(*public)),
        "index_best": median(min(times) for times in zip(*alone, strict=True)),
        "public_best": median(min(times) for times in zip(*public, strict=True)),
        "public_p99": quantile(list(itertools.chain(*public)), 0.99),
    }


async def _readers(host: Host, questions: list[str]) -> dict[str, Any]:
    """Have one task ask every question, then several tasks as many each, by turns."""

    async def ask(shift: int) -> None:
        for question in questions[shift:] + questions[:shift]:
            await host.memory.recall(question, _K)

    one: list[float] = []
    many: list[float] = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        await ask(0)
        between = time.perf_counter()
        await asyncio.gather(*(ask(number * len(questions) // _READERS) for number in range(_READERS)))
        one.append(len(questions) / (between - began))
        many.append(_READERS * len(questions) / (time.perf_counter() - between))
    return {"one": median(one), "many": median(many)}


if __name__ == "__main__":
    locomo = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    answer(measure(Path(sys.argv[1]), corpus.material(locomo).questions))
