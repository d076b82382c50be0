"""Thousands of clients that stay: streams of events up to the limit of files, and what comes after is told to wait."""

import asyncio
import os
import resource
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from served import MEMORIES, RUNS, ServedProcess, serving_process

from agentcore import Scope
from agentcore.clock import SystemClock
from agentcore.stores.sql import FILE_NAME, SqlStorage
from dream.domain.report import Outcome, RunReport
from dream.stores import dream_stores

_NOW = datetime(2025, 6, 14, 9, tzinfo=UTC)
_OPEN = RunReport(run_id="open", scope=Scope.default(), outcome=Outcome.UNCHANGED, as_of=_NOW, started_at=_NOW)
_WANTED = int(os.environ.get("AGENTCORE_STREAMS", "1000"))
"""Streams at once; with `AGENTCORE_STREAMS=10000` ten thousand."""
_MOST = min(_WANTED, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 500)

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def written(server: ServedProcess, report: RunReport) -> None:
    """Open a run, or end it, as another process does."""
    storage = SqlStorage(server.data / FILE_NAME, clock=SystemClock())
    await storage.start()
    try:
        if report.finished_at is None:
            await storage.write(Scope.default(), lambda unit: dream_stores(unit).runs.open(report, {"passes": []}))
        else:
            await storage.write(Scope.default(), lambda unit: dream_stores(unit).runs.close(report))
    finally:
        await storage.stop()


@contextmanager
def allowed(files: int):
    """Let this process open more files for the length of the block."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, before[0]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@asynccontextmanager
async def connected(server: ServedProcess, path: str) -> AsyncIterator[Stream]:
    host, _, port = server.url.removeprefix("http://").partition(":")
    token = (server.data / "serve.token").read_text(encoding="utf-8").strip()
    reader, writer = await asyncio.open_connection(host, int(port), limit=4_096)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    try:
        yield reader, writer
    finally:
        writer.close()


async def opened(server: ServedProcess, stack: AsyncExitStack, count: int, path: str) -> tuple[list[Stream], list[str]]:
    """Connect so many times; return the connections that are answered with 200, and the other answers."""
    there: list[Stream] = []
    refused: list[str] = []
    turns = asyncio.Semaphore(50)

    async def one() -> None:
        async with turns:
            stream = await stack.enter_async_context(connected(server, path))
            head = (await asyncio.wait_for(stream[0].readuntil(b"\r\n\r\n"), 60)).decode()
        there.append(stream) if head.startswith("HTTP/1.1 200") else refused.append(head)

    await asyncio.gather(*(one() for _ in range(count)))
    return there, refused


async def until_done(stream: Stream) -> bool:
    while line := await asyncio.wait_for(stream[0].readline(), 120):
        if line.startswith(b"event: done"):
            return True
    return False


@pytest.mark.slow
async def test_a_thousand_streams_are_open_at_once_and_all_are_told_the_end(tmp_path: Path):
    with allowed(_MOST + 500), serving_process(tmp_path) as server:
        await written(server, _OPEN)
        async with AsyncExitStack() as stack:
            there, refused = await opened(server, stack, _MOST, f"{RUNS}/open/events")
            assert (len(there), refused) == (_MOST, [])
            with server.client() as client:
                client.post(MEMORIES, json={"content": "Ana likes tea"})
                hits = client.get(f"{MEMORIES}/search", params={"query": "tea"}).json()["hits"]
            assert len(hits) == 1
            await written(server, replace(_OPEN, finished_at=_NOW))
            assert all([await until_done(stream) for stream in there])
        assert "Traceback" not in server.log.read_text(encoding="utf-8")


async def test_what_is_more_than_the_limit_of_files_is_told_when_to_come_back(tmp_path: Path):
    with serving_process(tmp_path, files=400) as server:
        await written(server, _OPEN)
        async with AsyncExitStack() as stack:
            there, refused = await opened(server, stack, 260, f"{RUNS}/open/events")
            assert len(there) == 180
            assert {head.partition("\r\n")[0] for head in refused} == {"HTTP/1.1 503 Service Unavailable"}
            assert all("retry-after: 10" in head.lower() for head in refused)
            assert any("application/problem+json" in head for head in refused)
        for _ in range(100):
            async with AsyncExitStack() as stack:
                there, refused = await opened(server, stack, 1, f"{RUNS}/open/events")
            if there:
                break
            await asyncio.sleep(0.05)
        assert (len(there), refused) == (1, [])
        with server.client() as client:
            assert client.post(MEMORIES, json={"content": "Ana likes tea"}).status_code == 201
        assert "Traceback" not in server.log.read_text(encoding="utf-8")
