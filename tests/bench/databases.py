"""Measures PostgreSQL beside SQLite, in one run: `python -m tests.bench.databases [ENTRIES]`.

It starts a server of its own that syncs every commit (`fsync` and `synchronous_commit` on), as a server in use does.
"""

import asyncio
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.clock import SystemClock
from agentcore.stores.sql import SqlStorage
from agentcore.testing.contracts.samples import an_entry
from tests.bench.corpus import generated, words_of
from tests.postgres_server import Server

WRITES = 200
AT_ONCE = 500
QUESTIONS = 60
SCOPE = Scope.default()


async def remembered(host: Host) -> list[float]:
    """Return how long single memories take."""
    taken: list[float] = []
    for number in range(WRITES):
        began = time.perf_counter()
        await host.memory.remember(f"Note {number} of the bench: the lamp {number * 7} stands in room {number * 3}")
        taken.append(time.perf_counter() - began)
    return taken


async def recalled(host: Host, questions: list[str]) -> list[float]:
    """Return how long warm recalls take."""
    await host.memory.recall(questions[0])
    taken: list[float] = []
    for question in questions:
        began = time.perf_counter()
        await host.memory.recall(question)
        taken.append(time.perf_counter() - began)
    return taken


async def imported(place: Path | str, texts: list[str]) -> float:
    """Return how long entries take that are added 500 at a time."""
    storage = SqlStorage(place, clock=SystemClock())
    await storage.start()
    entries = [an_entry(f"e{number}", text, scope=SCOPE) for number, text in enumerate(texts)]
    began = time.perf_counter()
    for start in range(0, len(entries), AT_ONCE):
        await storage.write(SCOPE, lambda unit, some=entries[start : start + AT_ONCE]: unit.entries.add(some))
    taken = time.perf_counter() - began
    await storage.stop()
    return taken


async def measure(name: str, folder: Path, url: str | None, texts: list[str]) -> dict[str, float]:
    """Return the medians of one database in milliseconds, the import in seconds."""
    took = await imported(url or folder / "agentcore.db", texts)
    async with AgentHostBuilder(folder, database=url).with_memory().build() as host:
        questions = [" ".join(text.split()[:4]) for text in texts[:: max(1, len(texts) // QUESTIONS)]][:QUESTIONS]
        asked = await recalled(host, questions)
        written = await remembered(host)
    found = {
        f"import of {len(texts):,} entries, s": took,
        "recall p50, ms": statistics.median(asked) * 1_000,
        "remember p50, ms": statistics.median(written) * 1_000,
        "remember p99, ms": sorted(written)[int(len(written) * 0.99)] * 1_000,
    }
    print(name, {key: round(value, 2) for key, value in found.items()}, flush=True)
    return found


async def main(count: int, folder: Path) -> None:
    """Measure both, and print what they take beside each other."""
    server = Server(folder / "server", fsync="on", synchronous_commit="on", full_page_writes="on", autovacuum="on")
    server.create()
    server.start()
    try:
        texts = [one.content for one in generated(words_of(), count, now=SystemClock().now())]
        sqlite = await measure("SQLite", folder / "sqlite", None, texts)
        postgres = await measure("PostgreSQL", folder / "postgres", server.database("bench"), texts)
        print("| | SQLite | PostgreSQL | ratio |\n|---|---|---|---|")
        for name, value in sqlite.items():
            print(f"| {name} | {value:.2f} | {postgres[name]:.2f} | {postgres[name] / value:.2f} |")
    finally:
        server.stop()


if __name__ == "__main__":
    place = Path(tempfile.mkdtemp(prefix="agentcore-bench-"))
    place.chmod(0o755)
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, place))
    shutil.rmtree(place, ignore_errors=True)
