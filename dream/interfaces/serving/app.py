"""Puts the server together: one ASGI app for REST, MCP, the checks of health and a page."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Final, Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope as AsgiScope, Send

from agentcore.domain.scope import Scope
from agentcore.errors import AgentcoreError
from agentcore.hosting.host import Host
from agentcore.ids import IdFactory, RandomIds
from dream.interfaces.mcp.server import McpEndpoint
from dream.interfaces.page import Page
from dream.interfaces.rest.api import api
from dream.interfaces.serving.gatekeeper import MCP, Gatekeeper, is_guarded, path_of
from dream.interfaces.serving.problems import problem_of
from dream.interfaces.serving.run_desk import RunDesk
from dream.interfaces.serving.settings import ServeOptions

_ALIVE: Final = "/healthz"
_READY: Final = "/readyz"
_TRIED_FOR: Final = timedelta(seconds=5)
"""How long it is believed that the database can be written: who asks whether it can, often, writes seldom."""


class Server:
    """The ASGI app of one host; lives as long as the host, which is open while it serves.

    Mounted into an app of a host's own, the outer one has to open it: `async with server:`, since mounted apps get no
    word of start and end.

    Args:
        host: Whose memory is served, of all scopes.
        options: What is admitted.
        ids: Names attempts and imported records.
        page: Serves everything that is neither REST nor MCP, instead of the page for browsers.
    """

    def __init__(
        self,
        host: Host,
        options: ServeOptions | None = None,
        *,
        ids: IdFactory | None = None,
        page: ASGIApp | None = None,
    ) -> None:
        admitted, names = options or ServeOptions(), ids or RandomIds()
        self._host = host
        self._run_desk = RunDesk(host.clock)
        self._mcp = McpEndpoint(host, self._run_desk, admitted)
        rest = api()
        rest.state.host, rest.state.run_desk = host, self._run_desk
        rest.state.ids, rest.state.new_id = names, names.new
        routes = [Route(path, answer) for path, answer in ((_ALIVE, _alive), (_READY, self._ready), (MCP, self._mcp))]
        rest.router.routes[:0] = routes
        self.page = Page(rest, tokens=host.tokens, clock=host.clock)
        self._for_browsers = page or self.page
        self._writable_at = datetime.min.replace(tzinfo=UTC)
        self._opened = AsyncExitStack()
        self._gatekeeper = Gatekeeper(self._answer, tokens=host.tokens, options=admitted, clock=host.clock)
        self._app = Starlette(routes=[Mount("/", app=self._gatekeeper)], lifespan=self._lifespan)
        self.rest = rest

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer one connection."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:
            await self._gatekeeper(scope, receive, send)

    async def _answer(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        path = path_of(scope)
        is_for_programs = is_guarded(path) or path in {_ALIVE, _READY}
        await (self.rest if is_for_programs else self._for_browsers)(scope, receive, send)

    async def __aenter__(self) -> Self:
        """Begin to answer over MCP; REST needs no beginning."""
        await self._opened.enter_async_context(self._mcp.running())
        return self

    async def __aexit__(self, *_: object) -> None:
        """End runs that clients asked for between two of their steps, and MCP connections."""
        await self._run_desk.stop()
        await self._opened.aclose()

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncGenerator[None]:
        async with self:
            yield

    async def _ready(self, _: Request) -> Response:
        """Tell whether the database can be read, and written as far as was tried within the last seconds."""
        now = self._host.clock.now()
        try:
            await self._host.storage.read(Scope.default(), lambda view: view.revision)
            if not self._writable_at <= now < self._writable_at + _TRIED_FOR:
                await self._host.require_writable()
                self._writable_at = now
        except AgentcoreError as error:
            told = problem_of(error).detail
            return PlainTextResponse(f"not ready: {told}\n", 503, {"Retry-After": "2"})
        return PlainTextResponse("ready\n")


async def _alive(_: Request) -> Response:
    return PlainTextResponse("ok\n")
