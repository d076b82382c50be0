"""The offline cycle: a first run, the next ones, and one with nothing left to do.

`python -m tests.bench.cycle FOLDER` measures one filled folder in this process.
"""

import resource
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.stores import UnitOfWork
from dream.domain import PassOutcome, RunReport
from dream.stores import dream_stores
from tests.bench.figures import Figure
from tests.bench.processes import answer, fresh
from tests.bench.stores import Stores

SIZES = (10_000, 100_000, 1_000_000)
_SECONDS = {100_000: 20.0, 1_000_000: 120.0}
_PEAK_GB = {1_000_000: 1.5}
_UNCHANGED = 1 / 5
_PER_ENTRY = 1.5
_SEARCH = "near-duplicates"
_DRAINS = 3


async def measure(folder: Path) -> dict[str, Any]:
    """Run cycles on the folder until nothing changes any more; seconds of each, and the peak memory."""
    host = AgentHostBuilder(folder).with_memory().with_dreaming().build()
    async with host:
        runs = [await _timed(host)]
        peak = _peak_bytes()
        runs += [await _timed(host) for _ in range(_DRAINS)]
        await host.storage.write(Scope.default(), _drain)
        return {"runs": runs, "peak": peak, "last_peak": _peak_bytes(), "settled": await _timed(host)}


async def _timed(host: Host) -> dict[str, Any]:
    began = time.perf_counter()
    report = await host.dreams.run()
    seconds = time.perf_counter() - began
    failed = [done for done in report.passes if done.outcome is PassOutcome.FAILED]
    if failed:
        raise RuntimeError(f"{failed[0].name}: {failed[0].reason}")
    return {"seconds": seconds, "changes": report.changes, "passes": _passes(report)}


def _passes(report: RunReport) -> dict[str, dict[str, Any]]:
    return {
        done.name: {"seconds": done.seconds, "looked_at": done.looked_at, "backlog": done.backlog}
        for done in report.passes
    }


def _drain(unit: UnitOfWork) -> None:
    """Leave the search without backlog, as many more runs would."""
    dream_stores(unit).cursors.move(_SEARCH, unit.entries.last_position())


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def figures(stores: Stores) -> list[Figure]:
    """Measure each size in a process of its own."""
    found: list[Figure] = []
    per_entry: dict[int, float] = {}
    for size in SIZES[:1] if stores.quick else SIZES:
        with stores.copied(size) as folder:
            measured = fresh("cycle", folder)
        found += _of_size(size, measured)
        per_entry[size] = measured["runs"][0]["seconds"] / size
    if len(per_entry) > 1:
        ratio = per_entry[SIZES[-1]] / per_entry[SIZES[0]]
        found.append(Figure("time per entry, 1,000,000 against 10,000", ratio, "x", most=_PER_ENTRY))
    return found


def _of_size(size: int, measured: dict[str, Any]) -> list[Figure]:
    first, *others = measured["runs"]
    told = f"cycle, {size:,} entries"
    searched = [run["passes"][_SEARCH] for run in others]
    seconds = first["seconds"]
    return [
        Figure(f"{told}: first run ({first['changes']:,} changes)", seconds, "s", most=_SECONDS.get(size)),
        *(Figure(f"- {name}", done["seconds"], "s") for name, done in first["passes"].items()),
        Figure("- per entry", seconds / size * 1e6, "us"),
        Figure("- peak memory of the process", measured["peak"] / 1e9, "GB", most=_PEAK_GB.get(size)),
        Figure(
            "- unchanged run, nothing pending, against the first",
            measured["settled"]["seconds"] / seconds,
            "x",
            most=_UNCHANGED,
        ),
        Figure("- unchanged run, nothing pending", measured["settled"]["seconds"], "s"),
        Figure("- next run, search goes on, against the first", others[0]["seconds"] / seconds, "x"),
        Figure("- search drains", median(one["looked_at"] / one["seconds"] for one in searched), "entries/s"),
    ]


if __name__ == "__main__":
    answer(measure(Path(sys.argv[1])))
