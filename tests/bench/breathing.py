"""The event loop and the foreground beside a cycle.

`python -m tests.bench.breathing FOLDER ticker|remember` runs one cycle on a filled folder in this process and
reports, in milliseconds, the intervals of a 10 ms ticker or how long `remember` took, called every 50 ms.
"""

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

from agentcore import AgentHostBuilder, Host
from tests.bench.figures import Figure, middle, quantile
from tests.bench.processes import answer, fresh
from tests.bench.stores import Stores

_TICK = 0.010
_PAUSE = 0.050
_P99_MS = 30.0
_STALL_MS = 100.0
_REMEMBER_P99_MS = 100.0
_REPETITIONS = 3


async def tick(cycle: "asyncio.Task[Any]") -> list[float]:
    """Return the intervals between awakenings while *cycle* goes on, in milliseconds."""
    intervals: list[float] = []
    last = time.perf_counter()
    while not cycle.done():
        await asyncio.sleep(_TICK)
        now = time.perf_counter()
        intervals.append((now - last) * 1e3)
        last = now
    return intervals


async def remember(host: Host, cycle: "asyncio.Task[Any]") -> list[float]:
    """Return how long each foreground `remember` took while *cycle* went on, in milliseconds."""
    taken: list[float] = []
    while not cycle.done():
        began = time.perf_counter()
        await host.memory.remember(f"Visitor {len(taken)} left a note at the door of house {len(taken) * 7}")
        taken.append((time.perf_counter() - began) * 1e3)
        await asyncio.sleep(_PAUSE)
    return taken


async def measure(folder: Path, beside: str) -> dict[str, Any]:
    """Run a cycle and watch what goes on beside it."""
    host = AgentHostBuilder(folder).with_memory().with_dreaming().build()
    async with host:
        began = time.perf_counter()
        cycle = asyncio.create_task(host.dreams.run())
        taken = await (tick(cycle) if beside == "ticker" else remember(host, cycle))
        report = await cycle
        seconds = time.perf_counter() - began
    return {"seconds": seconds, "changes": report.changes, "count": len(taken), **_spread(taken)}


def _spread(taken: list[float]) -> dict[str, float]:
    return {"p50": quantile(taken, 0.5), "p99": quantile(taken, 0.99), "max": max(taken)}


def figures(stores: Stores) -> list[Figure]:
    """Repeat both, each time on an untouched copy in a process of its own; the middle one counts."""
    size = 10_000 if stores.quick else 100_000
    told = f"beside the cycle on {size:,} entries"
    ticks, waits = _repeated(stores, size, "ticker"), _repeated(stores, size, "remember")
    return [
        middle(f"10 ms ticker {told}: p50", ticks["p50"], "ms"),
        middle("- p99", ticks["p99"], "ms", most=_P99_MS),
        middle("- longest", ticks["max"], "ms", most=_STALL_MS),
        middle(f"remember every 50 ms {told}: p50", waits["p50"], "ms"),
        middle("- p99", waits["p99"], "ms", most=_REMEMBER_P99_MS),
        middle("- longest", waits["max"], "ms"),
        middle("- the cycle meanwhile", waits["seconds"], "s"),
    ]


def _repeated(stores: Stores, size: int, beside: str) -> dict[str, list[float]]:
    found: list[dict[str, Any]] = []
    for _ in range(_REPETITIONS):
        with stores.copied(size) as folder:
            found.append(fresh("breathing", folder, beside))
    return {name: [one[name] for one in found] for name in ("p50", "p99", "max", "seconds")}


if __name__ == "__main__":
    answer(measure(Path(sys.argv[1]), sys.argv[2]))
