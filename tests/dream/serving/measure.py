"""Measure what a server adds: `python tests/dream/serving/measure.py [--entries N] [--seconds S]`.

It prints medians of recall over REST beside those of the library itself, requests a second, and how long an MCP client
on stdio waits for its first answer, by the clock and in processor time. The load of the machine stands beside.
"""

import argparse
import asyncio
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2
import mcp
import orjson
from mcp.client.stdio import StdioServerParameters, stdio_client
from served import MEMORIES, ServedProcess, serving_process

from agentcore import AgentHostBuilder

_QUERIES = [f"garden of house {number} by the river" for number in range(200)]
_CLIENTS = 8
_STARTS = 5


async def _library(data: Path) -> float:
    async with AgentHostBuilder(data).with_memory().build() as host:
        await host.memory.recall(_QUERIES[0], k=10)
        return await _median(lambda query: host.memory.recall(query, k=10))


async def _median(ask: Callable[[str], Awaitable[object]]) -> float:
    taken = []
    for query in _QUERIES:
        begun = time.perf_counter()
        await ask(query)
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1_000


async def _rest(server: ServedProcess, seconds: float) -> tuple[float, float]:
    secret = (server.data / "serve.token").read_text(encoding="utf-8").strip()
    headers = {"Authorization": f"Bearer {secret}"}

    async def ask(client: httpx2.AsyncClient, query: str) -> None:
        answer = await client.get(f"{MEMORIES}/search", params={"query": query, "k": 10})
        assert answer.status_code == 200, answer.text

    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=60) as client:
        await ask(client, _QUERIES[0])
        median = await _median(lambda query: ask(client, query))
        count, end = 0, time.perf_counter() + seconds

        async def go_on() -> None:
            nonlocal count
            while time.perf_counter() < end:
                await ask(client, _QUERIES[count % len(_QUERIES)])
                count += 1

        await asyncio.gather(*(go_on() for _ in range(_CLIENTS)))
        return median, count / seconds


async def _ready(data: Path) -> tuple[float, float]:
    start = StdioServerParameters(command=sys.executable, args=["-m", "dream", "--data", str(data), "mcp"])
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    async with mcp.Client(stdio_client(start)) as client:
        await client.list_tools()
        waited = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return waited, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data"
        with serving_process(Path(name), data=data) as server:
            lines = [
                orjson.dumps({"content": f"House {n} has a garden by the river {n % 97}"}) for n in range(asked.entries)
            ]
            with server.client() as client:
                client.post("/api/v1/import", params={"format": "memory-jsonl"}, content=b"\n".join(lines))
            median, rate = asyncio.run(_rest(server, asked.seconds))
        own = asyncio.run(_library(data))
        starts = [asyncio.run(_ready(data)) for _ in range(_STARTS)]
    load = os.getloadavg()[0]
    print(f"{asked.entries:,} entries, {os.cpu_count()} processors, load {load:.1f}")
    print(
        f"recall: library {own:.2f} ms, REST {median:.2f} ms, {median - own:.2f} ms more (medians of {len(_QUERIES)})"
    )
    print(f"{rate:.0f} requests a second by {_CLIENTS} clients, which share the processors with the server")
    waited, worked = (statistics.median(one) for one in zip(*starts, strict=True))
    print(f"MCP on stdio: tools listed after {waited:.2f} s, {worked:.2f} s of processor time (medians of {_STARTS})")


if __name__ == "__main__":
    main()
