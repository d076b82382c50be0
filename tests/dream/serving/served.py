"""A server on a port of this machine, in the loop of the test, and clients of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2

from agentcore import AgentHostBuilder, Host
from dream.interfaces.serving.process import listening_socket, serve_http
from dream.interfaces.serving.settings import ServeOptions

MEMORIES = "/api/v1/memories"
RUNS = "/api/v1/runs"


@dataclass(frozen=True)
class Served:
    """A server under way.

    Args:
        host: What it serves.
        url: Where it listens.
        client: A client with a token for everything.
    """

    host: Host
    url: str
    client: httpx2.AsyncClient

    async def client_of(self, name: str, *rights: str, reach: str = "*/*/*", **lifetime: Any) -> httpx2.AsyncClient:
        """Return a client with a token of its own; who asks for it closes it."""
        secret, _ = await self.host.tokens.create(name, scopes=[reach], rights=rights, **lifetime)
        return httpx2.AsyncClient(base_url=self.url, headers={"Authorization": f"Bearer {secret}"})

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
    made = builder or AgentHostBuilder(folder)
    made.with_memory().with_conversation_log().with_feedback().with_skills().with_wisps().with_tool_calls()
    made.with_dreaming(in_background=False)
    options = replace(ServeOptions(), **admitted)
    ready = asyncio.Event()
    with listening_socket("127.0.0.1", 0) as bound:
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        async with made.build() as host, asyncio.TaskGroup() as tasks:
            tasks.create_task(serve_http(host, options, bound, ready=ready.set))
            await ready.wait()
            secret, _ = await host.tokens.create("everything", scopes=["*/*/*"], rights=["admin"])
            headers = {"Authorization": f"Bearer {secret}"}
            async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
                yield Served(host, url, client)
            host.request_stop()
