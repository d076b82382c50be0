"""A server on a port of this machine, in the loop of the test or in a process of its own, and clients of it."""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2

from agentcore import AgentHostBuilder, Host
from dream.interfaces.page import Page
from dream.interfaces.serving.process import listening_socket, serve_http
from dream.interfaces.serving.settings import ServeOptions

MEMORIES = "/api/v1/memories"
RUNS = "/api/v1/runs"
DATABASE: str | None = None
"""Where the memory of `served` is kept: a folder or the memory, unless a test says a URL of PostgreSQL."""


@dataclass(frozen=True)
class Served:
    """A server under way.

    Args:
        host: What it serves.
        url: Where it listens.
        client: A client with a token for everything.
        page: What browsers see.
    """

    host: Host
    url: str
    client: httpx2.AsyncClient
    page: Page

    @asynccontextmanager
    async def client_of(
        self, name: str, *rights: str, reach: str = "*/*/*", **lifetime: Any
    ) -> AsyncIterator[httpx2.AsyncClient]:
        """Yield a client with a token of its own."""
        secret, _ = await self.host.tokens.create(name, scopes=[reach], rights=rights, **lifetime)
        headers = {"Authorization": f"Bearer {secret}"}
        async with httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=60) as client:
            yield client

    async def finished(self, answer: httpx2.Response) -> dict[str, Any]:
        """Return the report of a run that was begun, at its end."""
        assert answer.status_code == 202, answer.text
        while (run := (await self.client.get(answer.headers["Location"])).json())["state"] != "finished":
            await asyncio.sleep(0.02)
        return run


@asynccontextmanager
async def served(
    folder: Path | None = None, *, builder: AgentHostBuilder | None = None, **admitted: Any
) -> AsyncIterator[Served]:
    """Serve a folder, with all services, for the length of the block."""
    made = builder or AgentHostBuilder(folder, database=DATABASE)
    made.with_memory().with_conversation_log().with_feedback().with_skills().with_wisps().with_tool_calls()
    made.with_dreaming(in_background=False)
    options = replace(ServeOptions(), **admitted)
    ready = asyncio.Queue[Page]()
    with listening_socket("127.0.0.1", 0) as bound:
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        async with made.build() as host, asyncio.TaskGroup() as tasks:
            tasks.create_task(serve_http(host, options, bound, ready=ready.put_nowait))
            page = await ready.get()
            secret, _ = await host.tokens.create("everything", scopes=["*/*/*"], rights=["admin"])
            headers = {"Authorization": f"Bearer {secret}"}
            async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
                yield Served(host, url, client, page)
            host.request_stop()


@dataclass(frozen=True)
class ServedProcess:
    """`dream serve` in a process of its own.

    Args:
        process: The process.
        data: Its data directory.
        url: Where it listens.
        log: What it wrote to stderr.
    """

    process: subprocess.Popen[str]
    data: Path
    url: str
    log: Path

    def token(self, name: str, *options: str) -> str:
        """Make a token as a person does."""
        command = [sys.executable, "-m", "dream", "--data", str(self.data), "token", "create", name, *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def client(self, secret: str | None = None) -> httpx2.Client:
        """Return a client with a token, by default that of this machine."""
        given = secret or (self.data / "serve.token").read_text(encoding="utf-8").strip()
        return httpx2.Client(base_url=self.url, headers={"Authorization": f"Bearer {given}"}, timeout=60)


@contextmanager
def serving_process(
    folder: Path, *options: str, data: Path | None = None, files: int | None = None
) -> Iterator[ServedProcess]:
    """Run `dream serve` for the length of the block, on a new data directory in the folder or on that one.

    Args:
        folder: Where its log goes.
        *options: More options of the command.
        data: The data directory.
        files: How many files it may open.
    """
    data, log = data or folder / "data", folder / "log.txt"
    command = [sys.executable, "-m", "dream", "--data", str(data), "serve", "--port", "0", *options]
    if files is not None:
        command = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            told = process.stdout.readline()
            found = re.search(r"http://[0-9.]+:\d+", told)
            assert found is not None, (told, log.read_text())
            yield ServedProcess(process, data, found[0], log)
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(60)
