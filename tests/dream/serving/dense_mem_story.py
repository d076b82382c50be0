"""Dense-Mem's routes and tools in a story that always goes the same: `python -m tests.dream.serving.dense_mem_story`.

What they answer stands in the page on parity; the command writes it there anew.
"""

import asyncio
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import mcp
import orjson
from mcp.client.streamable_http import streamable_http_client

sys.path.insert(0, str(Path(__file__).parent))
from served import Served, served

from agentcore import AgentHostBuilder
from agentcore.testing import SequentialIds

PAGE: Final = Path(__file__).parents[3] / "docs" / "reference" / "parity" / "dense-mem.md"
_BLOCK: Final = re.compile(r"`([^`\n]+)`:\n\n```json\n(.*?)\n```", re.DOTALL)
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d(T[0-9:.]+Z)?")
_ID: Final = re.compile(r"\b(id-\d{6}|[0-9a-f]{32})\b")
_HIVES: Final = "Ana sold her beehives in Porto."
_TODAY: Final = (
    "The flat in Porto has no garden for beehives.",
    "Rui plays chess on Sundays.",
    "The boiler is checked each autumn.",
    "Bo learns Finnish at night.",
)
_WORDS: Final = "Yes, she told me. Ana works at Acme."


def on_the_page() -> dict[str, Any]:
    """Return the documents of the page, by the call that gives them."""
    return {call: orjson.loads(text) for call, text in _BLOCK.findall(PAGE.read_text("utf-8"))}


async def answered() -> dict[str, Any]:
    """Live through the story, and return what each call answered, with instants and ids that are always the same."""
    async with served(builder=AgentHostBuilder(None, ids=SequentialIds())) as server:
        earlier = server.host.clock.now() - timedelta(days=9)
        await server.host.memory.remember(_HIVES, occurred_at=earlier)
        for text in _TODAY:
            await server.host.memory.remember(text)
        return {call: _settled(answer) for call, answer in (await _told(server)).items()}


async def _told(server: Served) -> dict[str, Any]:
    found: dict[str, Any] = {}

    async def get(path: str) -> Any:
        found[f"GET {path}"] = (await server.client.get(f"/api/v1{path}")).json()
        return found[f"GET {path}"]["data"]

    async with mcp.Client(streamable_http_client(f"{server.url}/mcp", http_client=server.client)) as client:

        async def call(tool: str, **arguments: Any) -> None:
            found[tool] = (await client.call_tool(tool, arguments)).structured_content

        await call("run_dreaming_cycle", max_outputs=5)
        await get("/dreaming/runs")
        await get("/dreaming/status")
        dream = (await get("/dreams?status=proposed"))["items"][0]["dream_id"]
        await call("recall_memory", query="Are there beehives in Porto?", limit=1)
        await call("resolve_dream_feedback", dream_id=dream, decision="promote_candidate", feedback=_WORDS)
        await call("reflect_memories")
    return found


def _settled(answer: Any) -> Any:
    text = orjson.dumps(answer).decode()
    for place, one in enumerate(dict.fromkeys(_ID.findall(text)), 1):
        text = text.replace(one, f"id-{place}")
    return orjson.loads(_INSTANT.sub(lambda at: "2025-06-10T03:00:00Z" if at[1] else "2025-06-10", text))


def main() -> None:
    """Write the answers into the page."""
    found = asyncio.run(answered())

    def anew(block: re.Match[str]) -> str:
        return f"`{block[1]}`:\n\n```json\n{orjson.dumps(found[block[1]], option=orjson.OPT_INDENT_2).decode()}\n```"

    PAGE.write_text(_BLOCK.sub(anew, PAGE.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
