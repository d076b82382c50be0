"""Puts the MCP server together, and serves it over HTTP or stdio."""

import inspect
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolResult, InputRequiredResult, Resource
from pydantic import ValidationError
from starlette.types import Receive, Scope as AsgiScope, Send

from agentcore.domain.capability import Capability
from agentcore.domain.scope import Scope
from agentcore.errors import InvalidOptionsError
from agentcore.hosting.host import Host
from dream.interfaces.mcp.dream_tools import DREAM_TOOLS
from dream.interfaces.mcp.hypothesis_tools import HYPOTHESIS_TOOLS
from dream.interfaces.mcp.memory_tools import MEMORY_TOOLS
from dream.interfaces.mcp.offered import McpState, OfferedTool, wrong_arguments
from dream.interfaces.mcp.resources import NEWEST_RUNS, WORKSPACE_DOCUMENTS, add_resources
from dream.interfaces.mcp.session_tools import SESSION_TOOLS
from dream.interfaces.release import installed_version
from dream.interfaces.serving.caller import Caller
from dream.interfaces.serving.problems import Problem
from dream.interfaces.serving.run_desk import RunDesk
from dream.interfaces.serving.settings import ServeOptions

TOOLS: Final = (*MEMORY_TOOLS, *DREAM_TOOLS, *SESSION_TOOLS, *HYPOTHESIS_TOOLS)
"""All tools, in the order in which clients list them."""
_ABOUT: Final = "A memory that outlasts the conversation. The prompt `use_memory` says how to use it."


def chosen_tools(
    capabilities: Collection[Capability], *, names: Collection[str] | None, is_read_only: bool
) -> list[OfferedTool]:
    """Return the tools that are offered.

    Args:
        capabilities: What the host was built with; a tool that needs more is left out.
        names: Only these; None for all.
        is_read_only: Only those that change nothing.

    Raises:
        InvalidOptionsError: there is no tool of a name.
    """
    known = [tool.name for tool in TOOLS]
    for name in sorted(set(names or ()) - set(known)):
        raise InvalidOptionsError(field="--tools", value=name, allowed=f"choose among {', '.join(known)}")
    able = [tool for tool in TOOLS if tool.needs is None or tool.needs in capabilities]
    return [tool for tool in able if (names is None or tool.name in names) and (tool.is_read_only or not is_read_only)]


class _McpServer(MCPServer[McpState]):
    """A server that says of each wrong argument what is wrong with it, and lists what its templates stand for.

    Args:
        has_documents: Whether there is a workspace.
    """

    def __init__(self, *arguments: Any, has_documents: bool, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._listed = [*(WORKSPACE_DOCUMENTS if has_documents else ()), NEWEST_RUNS]

    async def list_resources(self) -> list[Resource]:
        """List what can be read without a name from elsewhere."""
        return self._listed

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[McpState, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool.

        Raises:
            ToolError: it cannot do this.
        """
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(wrong_arguments(error.__cause__)) from None
            raise


def mcp_server(state: McpState, *, names: Collection[str] | None, is_read_only: bool) -> MCPServer[McpState]:
    """Return the server.

    Args:
        state: What its tools work with.
        names: The tools to offer; None for all.
        is_read_only: Whether only those are offered that change nothing.

    Raises:
        InvalidOptionsError: there is no tool of a name.
    """

    @asynccontextmanager
    async def lifespan(_: MCPServer[McpState]) -> AsyncGenerator[McpState]:
        yield state

    server = _McpServer(
        "agentcore-dream",
        title="Memory",
        instructions=_ABOUT,
        version=installed_version("agentcore-dream"),
        lifespan=lifespan,
        log_level="WARNING",
        has_documents=Capability.WORKSPACE in state.host.capabilities,
    )
    for tool in chosen_tools(state.host.capabilities, names=names, is_read_only=is_read_only):
        server.add_tool(
            tool.guarded,
            tool.name,
            title=tool.title,
            description=inspect.getdoc(tool.function),
            annotations=tool.annotations,
        )
    add_resources(server)

    @server.prompt("use_memory", title="How to use the memory")
    def use_memory() -> str:
        """Tell an agent how to use its memory."""
        return (files("dream.interfaces.mcp") / "guide.md").read_text(encoding="utf-8")

    return server


class McpEndpoint:
    """The server over streamable HTTP, as an ASGI app: each request stands for itself, no session is kept.

    Args:
        host: Whose memory.
        run_desk: Runs dreams for clients.
        options: What is offered.
    """

    def __init__(self, host: Host, run_desk: RunDesk, options: ServeOptions) -> None:
        state = McpState(host=host, run_desk=run_desk, is_read_only=options.read_only)
        self._server = mcp_server(state, names=options.tools, is_read_only=options.read_only)
        # The gatekeeper has looked at Host, Origin, and the length of the body.
        self._server.streamable_http_app(
            stateless_http=True,
            json_response=True,
            max_request_body_size=options.body,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Answer requests within the block."""
        async with self._server.session_manager.run():
            yield

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer one request; nothing is ever sent unasked, so that there is no stream to open with GET."""
        if scope["method"] != "POST":
            detail = "MCP is spoken here with POST alone: no session is kept, and nothing is sent unasked."
            refused = Problem(status=405, code="method_not_allowed", detail=detail, headers={"Allow": "POST"})
            await refused.response()(scope, receive, send)
            return
        await self._server.session_manager.handle_request(scope, receive, send)


async def serve_stdio(
    host: Host, scope: Scope, *, names: Collection[str] | None = None, is_read_only: bool = False
) -> None:
    """Serve one client on stdin and stdout, until it closes them.

    Args:
        host: Whose memory; open.
        scope: The one scope that is served.
        names: The tools to offer; None for all.
        is_read_only: Whether only those are offered that change nothing.
    """
    desk = RunDesk(host.clock)
    local = Caller.local_agent(scope, is_read_only=is_read_only)
    state = McpState(host=host, run_desk=desk, local=local)
    try:
        await mcp_server(state, names=names, is_read_only=is_read_only).run_stdio_async()
    finally:
        await desk.stop()
