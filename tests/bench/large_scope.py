"""Measures one very large scope on PostgreSQL: `python -m tests.bench.large_scope [ENTRIES] [SECONDS]`.

A server of its own is filled by SQL. Each thing is then done in a process of its own, for at most so many seconds.
"""

import asyncio
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path
from shutil import rmtree
from typing import Any

from agentcore import AgentHostBuilder, Host
from tests.postgres_server import Server

_FILL = """
INSERT INTO agentcore.entries ({columns})
SELECT {values} FROM agentcore.entries AS one, generate_series(1::bigint, {count}) AS n WHERE one.id = '{entry}'
"""
_OTHERS = {
    "id": "'e' || n",
    "content": (
        "'The ' || (ARRAY['lamp','key','book','chair','cup','map','coat','bell'])[1 + n % 8] || ' number ' || n "
        "|| ' stands in room ' || (n * 7919) % 99991 || ' near place' || (n * 104729) % 1299709"
    ),
    "fold_key": "md5('e' || n)",
    "position": "one.position + n",
}


async def fill(url: str, folder: Path, count: int) -> None:
    async with AgentHostBuilder(folder, database=url).with_memory().build() as host:
        await host.memory.remember("The first thing of all is a lighthouse.")


def filled(server: Server, count: int) -> float:
    """Make entries of one that the library wrote, as many as are wanted; return how long that took."""
    with server.connect("large") as connection:
        ((entry,),) = connection.execute("SELECT id FROM agentcore.entries").fetchall()
        named = connection.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'agentcore'"
            " AND table_name = 'entries' AND column_name <> 'pk'"
        ).fetchall()
        names = [name for (name,) in named]
        values = ", ".join(_OTHERS.get(name, f"one.{name}") for name in names)
        began = time.perf_counter()
        connection.execute(_FILL.format(columns=", ".join(names), values=values, count=count, entry=entry))
        connection.execute(f"UPDATE agentcore.scopes SET position = position + {count}, explicit_entries = {count}")
        connection.execute("ANALYZE")
        return time.perf_counter() - began


async def status(host: Host) -> object:
    found = await host.dreams.status()
    return type(found).__name__


async def recall(host: Host) -> object:
    found = []
    for _ in range(3):
        began = time.perf_counter()
        hits = await host.memory.recall("key number 4242 stands in room")
        found.append(f"{len(hits)} hits in {(time.perf_counter() - began) * 1_000:.0f} ms")
    return found


async def plan(host: Host) -> object:
    made = await host.dreams.plan()
    return made.report.outcome, {one.name: one.backlog for one in made.report.passes if one.backlog}


async def dream(host: Host) -> object:
    made = await host.dreams.run()
    return made.outcome, made.changes, {one.name: one.backlog for one in made.passes if one.backlog}


async def _done(work: Any, folder: Path, url: str) -> object:
    async with AgentHostBuilder(folder, database=url).with_memory().with_dreaming(in_background=False).build() as host:
        return await work(host)


def _child(work: Any, folder: Path, url: str) -> None:
    began = time.perf_counter()
    try:
        told: object = asyncio.run(_done(work, folder, url))
    except Exception as error:  # noqa: BLE001 - what a person would read
        told = f"{type(error).__name__}: {error}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    print(f"| {work.__name__} | {time.perf_counter() - began:.1f} s | {peak:,.0f} MB | {told} |", flush=True)


def main(count: int, seconds: float, folder: Path) -> None:
    server = Server(folder / "server", fsync="on", autovacuum="on", shared_buffers="256MB")
    server.create()
    server.start()
    try:
        url = server.database("large")
        asyncio.run(fill(url, folder / "data", count))
        print(f"{count:,} entries by SQL in {filled(server, count):.0f} s", flush=True)
        for work in (status, recall, recall, plan, dream):
            child = multiprocessing.Process(target=_child, args=(work, folder / "data", url))
            child.start()
            child.join(seconds)
            if child.is_alive():
                child.kill()
                child.join()
                print(f"| {work.__name__} | not done after {seconds:.0f} s | | |", flush=True)
    finally:
        server.stop()


if __name__ == "__main__":
    place = Path(tempfile.mkdtemp(prefix="agentcore-bench-"))
    place.chmod(0o755)
    try:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000, float((sys.argv[2:] or ["900"])[0]), place)
    finally:
        rmtree(place, ignore_errors=True)
