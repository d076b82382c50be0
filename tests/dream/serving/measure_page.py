"""Measure the page: `python tests/dream/serving/measure_page.py [--entries N] [--runs N] [--changes N]`.

It prints how long the server takes for each view, by the clock of a client on the same machine, over a memory of many
entries and runs, and for a run that changed many records; and how many bytes of scripts and styles a browser loads.
"""

import argparse
import asyncio
import os
import statistics
import time
from dataclasses import replace
from pathlib import Path

from served import Served, served
from visiting import visiting

import dream.interfaces.page
from agentcore.domain import Scope

_TIMES = 9
_STATIC = Path(dream.interfaces.page.__file__).parent / "static"


async def _filled(server: Served, entries: int, runs: int, changes: int) -> str:
    """Fill the memory; return the run that changed most."""
    await server.host.memory.remember_many(f"House {n} has a garden by river {n % 97}." for n in range(entries))
    boats = await server.host.memory.remember_many(f"Boat {n} is blue." for n in range(changes))
    again = [replace(one, id=f"again-{place}") for place, one in enumerate(boats)]
    await server.host.storage.write(Scope.default(), lambda unit: unit.entries.add(again))
    largest = (await server.host.dreams.run(passes=["exact-fold"])).run_id
    for _ in range(runs):
        await server.host.dreams.run(passes=["importance-decay"])
    return largest


async def _measured(entries: int, runs: int, changes: int) -> None:
    async with served() as server, visiting(server) as person:
        largest = await _filled(server, entries, runs, changes)
        report = await server.host.dreams.report(largest)
        print(f"{entries:,} entries, {runs:,} runs, a run of {report.changes:,} changes; load {os.getloadavg()[0]:.1f}")
        memory = (await server.host.memory.recall("garden", 1))[0].entry.id
        views = ["", "runs", f"runs/{largest}", f"runs/{largest}/undo", "memories", "memories?q=garden"]
        views += [f"memories/{memory}", "questions", "review", "peers", "schedule", "sessions", "settings"]
        for view in views:
            taken: list[float] = []
            for _ in range(_TIMES):
                begun = time.perf_counter()
                await person.see(view)
                taken.append(time.perf_counter() - begun)
            first, median = (1_000 * one for one in (taken[0], statistics.median(taken)))
            name = view.replace(largest, "RUN").replace(memory, "ID") or "overview"
            print(f"{name:<28} {first:6.0f} ms first, {median:6.0f} ms median")
    size = sum(path.stat().st_size for path in _STATIC.rglob("*") if path.suffix in {".js", ".css", ".svg"})
    print(f"scripts and styles: {size:,} bytes")


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--changes", type=int, default=5_000)
    asked = parser.parse_args()
    asyncio.run(_measured(asked.entries, asked.runs, asked.changes))


if __name__ == "__main__":
    main()
