"""Shows documents and runs as resources."""

from typing import Final

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError
from mcp_types import Resource

from agentcore.domain.access import Right
from agentcore.errors import AgentcoreError
from dream.interfaces.answers import dumps
from dream.interfaces.mcp.offered import McpState, ScopedCall, ToolContext, call_of, caller_of
from dream.interfaces.serving.problems import problem_of
from dream.interfaces.serving.remedies import TOOLS, reworded

_NEWEST = 20
_TITLES = {"MEMORY.md": "What the agent shares with its people", "DREAMS.md": "The diary of its dreams"}
WORKSPACE_DOCUMENTS: Final = [
    Resource(uri=f"dream://documents/{name}", name=name, title=title, mime_type="text/markdown")
    for name, title in _TITLES.items()
]
NEWEST_RUNS: Final = Resource(
    uri="dream://runs/newest", name="newest", title="The newest runs", mime_type="application/json"
)


def add_resources(server: MCPServer[McpState]) -> None:
    """Offer MEMORY.md, DREAMS.md, the newest runs, and each run."""

    @server.resource("dream://documents/{name}", title="A document of the workspace", mime_type="text/markdown")
    async def document(name: str, ctx: Context) -> str:
        """MEMORY.md, which the agent shares with its people, or DREAMS.md, the diary."""
        if name not in _TITLES:
            raise ResourceError("There is no such document: read MEMORY.md or DREAMS.md.")
        try:
            return await _reading(ctx).services.workspace.read(name)
        except AgentcoreError as error:
            raise ResourceError(reworded(problem_of(error).detail, TOOLS)) from None

    @server.resource("dream://runs/{run_id}", title="A run", mime_type="application/json")
    async def run(run_id: str, ctx: Context) -> str:
        """What a run did, as `show_run` tells it; `newest` lists the newest runs."""
        try:
            dreams = _reading(ctx).services.dreams
            if run_id == "newest":
                return dumps({"runs": [one.to_json() for one in await dreams.runs(limit=_NEWEST)]}).decode()
            return dumps((await dreams.report(run_id)).to_json()).decode()
        except AgentcoreError as error:
            raise ResourceError(reworded(problem_of(error).detail, TOOLS)) from None


def _reading(context: ToolContext) -> ScopedCall:
    caller_of(context).require(Right.READ)
    return call_of(context)
