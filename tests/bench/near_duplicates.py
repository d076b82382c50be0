"""The search for near-duplicates among imported entries: dreams until all are compared, and how long each takes.

`python -m tests.bench.near_duplicates FOLDER` measures one filled folder in this process.
"""

import sys
import time
from pathlib import Path
from typing import Any

from agentcore import AgentHostBuilder
from tests.bench.figures import Figure
from tests.bench.processes import answer, fresh
from tests.bench.stores import Stores

_SEARCH = "near-duplicates"
_MOST_RUNS = 60
_RUNS, _SECONDS = 5, 20.0


async def measure(folder: Path) -> dict[str, Any]:
    """Dream until nothing is left to compare; how long each run took, by the wall and by the processor."""
    host = AgentHostBuilder(folder).with_memory().with_dreaming(in_background=False).build()
    wall: list[float] = []
    processor: list[float] = []
    async with host:
        backlog = 1
        while backlog and len(wall) < _MOST_RUNS:
            began, before = time.perf_counter(), time.process_time()
            report = await host.dreams.run()
            wall.append(time.perf_counter() - began)
            processor.append(time.process_time() - before)
            backlog = next(done.backlog for done in report.passes if done.name == _SEARCH)
    return {"wall": wall, "processor": processor}


def figures(stores: Stores) -> list[Figure]:
    """Measure 100,000 entries in a process of its own."""
    size = 10_000 if stores.quick else 100_000
    with stores.copied(size) as folder:
        measured = fresh("near_duplicates", folder)
    wall, processor = measured["wall"], measured["processor"]
    return [
        Figure(f"dreams until {size:,} imported entries are compared", len(wall), most=_RUNS),
        Figure("- the longest of them", max(wall), "s", most=_SECONDS, spread=tuple(wall)),
        Figure("- the longest of them, processor time", max(processor), "s", spread=tuple(processor)),
    ]


if __name__ == "__main__":
    answer(measure(Path(sys.argv[1])))
