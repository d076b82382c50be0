"""Gives the server of a host as an ASGI app, to be mounted into an app of the host's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentcore.hosting.host import Host
    from dream.interfaces.serving.app import Server
    from dream.interfaces.serving.settings import ServeOptions


def asgi_app(
    host: Host, options: ServeOptions | None = None, *, page: Callable[..., Awaitable[None]] | None = None
) -> Server:
    """Return the server of a host as an ASGI app: REST, MCP, and a page if there is one; it needs the extra `serve`.

    Mounted into another app it is opened by that one, `async with server:`, since mounted apps are not told of start
    and end.

    Args:
        host: Built with what shall be served, and open while the app is called.
        options: What is admitted; requests addressed to this machine's own names by default.
        page: An ASGI app for everything that is neither REST nor MCP.

    Example:
        >>> from agentcore import AgentHostBuilder
        >>> app = asgi_app(AgentHostBuilder(None).with_memory().with_dreaming().build())
        >>> "/api/v1/memories" in app.rest.openapi()["paths"]
        True
    """
    from dream.interfaces.serving.app import Server  # noqa: PLC0415 - FastAPI comes with the extra alone

    return Server(host, options, page=page)
