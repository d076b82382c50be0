"""What a server adds: recall over REST beside the library's own, requests a second, and how soon MCP is ready.

`python -m tests.bench.serving URL TOKEN SECONDS` loads a server from a process of its own, over 16 connections.
"""

import asyncio
import http.client
import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

import mcp
import orjson
from mcp.client.stdio import StdioServerParameters, stdio_client

from agentcore import AgentHostBuilder
from tests.bench.figures import Figure, middle, quantile
from tests.bench.stores import Stores
from tests.dream.serving.served import ServedProcess, serving_process

_SIZE = 10_000
_QUERIES = 300
_CONNECTIONS = 16
_SECONDS = 5
_STARTS = 5
_QUESTIONS = (
    "where did they go hiking with the children last summer",
    "what does Caroline think of the new job",
    "when is the birthday party",
    "which book did she recommend",
)


def figures(stores: Stores) -> list[Figure]:
    """Ask the library and a server on the same folder the same questions."""
    with stores.copied(_SIZE) as folder:
        own = asyncio.run(_library(folder))
        with serving_process(folder, data=folder) as server:
            over_rest = _rest(server)
            before = _worked(server.process.pid)
            told = [_loaded(server) for _ in range(3)]
            worked = _worked(server.process.pid) - before
        ready = [asyncio.run(_mcp_ready(folder)) for _ in range(_STARTS)]
    added = quantile(over_rest, 0.5) - quantile(own, 0.5)
    return [
        Figure("recall by the library, p50", quantile(own, 0.5), "ms"),
        Figure("recall over REST, p50", quantile(over_rest, 0.5), "ms"),
        Figure("recall over REST, p99", quantile(over_rest, 0.99), "ms"),
        Figure("REST over the library, p50", added, "ms", most=3.0),
        Figure("requests of recall a second, 16 connections", max(told), "/s", least=500.0, spread=tuple(told)),
        Figure("requests a second of the server's processor time", sum(told) * _SECONDS / worked, "/s"),
        middle("MCP on stdio ready", [wall for wall, _ in ready], "s", most=1.5),
        middle("MCP on stdio ready, processor time", [used for _, used in ready], "s"),
    ]


async def _library(folder: Path) -> list[float]:
    taken: list[float] = []
    async with AgentHostBuilder(folder).with_memory().build() as host:
        await host.memory.recall(_QUESTIONS[0])
        for number in range(_QUERIES):
            begun = time.perf_counter()
            await host.memory.recall(_QUESTIONS[number % len(_QUESTIONS)])
            taken.append((time.perf_counter() - begun) * 1000)
    return taken


def _target(question: str) -> str:
    return f"/api/v1/memories/search?k=10&query={quote(question)}"


def _token(server: ServedProcess) -> str:
    return (server.data / "serve.token").read_text(encoding="utf-8").strip()


def _rest(server: ServedProcess) -> list[float]:
    place, headers = urlsplit(server.url), {"Authorization": f"Bearer {_token(server)}"}
    connection = http.client.HTTPConnection(place.hostname or "", place.port)
    taken: list[float] = []
    for number in range(_QUERIES + 1):
        begun = time.perf_counter()
        connection.request("GET", _target(_QUESTIONS[number % len(_QUESTIONS)]), headers=headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(answer.status)
        taken.append((time.perf_counter() - begun) * 1000)
    return taken[1:]


def _loaded(server: ServedProcess) -> float:
    """Return how many requests a second were answered while the load lasted."""
    command = [sys.executable, "-m", "tests.bench.serving", server.url, _token(server), str(_SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(orjson.loads(done.stdout))


async def _load(url: str, token: str, seconds: float) -> float:
    place = urlsplit(url)
    answered, end = 0, time.perf_counter() + seconds

    async def ask(number: int) -> None:
        nonlocal answered
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        while time.perf_counter() < end:
            number += 1
            head = f"GET {_target(_QUESTIONS[number % len(_QUESTIONS)])} HTTP/1.1\r\nHost: {place.netloc}\r\n"
            writer.write(f"{head}Authorization: Bearer {token}\r\n\r\n".encode())
            told = await reader.readuntil(b"\r\n\r\n")
            if not told.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(told)
            length = next(line for line in told.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(length.partition(b":")[2]))
            answered += 1
        writer.close()

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for number in range(_CONNECTIONS):
            tasks.create_task(ask(number))
    return answered / (time.perf_counter() - begun)


def _worked(pid: int) -> float:
    """Return the seconds of processor time that a process has used."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def _mcp_ready(folder: Path) -> tuple[float, float]:
    """Return how long it took until the server answered, by the clock and in processor time, its end included."""
    arguments = ["-m", "dream", "--data", str(folder), "mcp"]
    begun, before = time.perf_counter(), os.times()
    async with mcp.Client(stdio_client(StdioServerParameters(command=sys.executable, args=arguments))):
        wall = time.perf_counter() - begun
    after = os.times()
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    print(orjson.dumps(asyncio.run(_load(sys.argv[1], sys.argv[2], float(sys.argv[3])))).decode())
