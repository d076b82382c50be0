"""Runs `dream serve` and `mcp`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from cyclopts import Parameter

from agentcore.domain.actor import HOST
from agentcore.stores.acting import acting_as
from dream.interfaces.cli.errors import ConflictingOptionsError, MissingExtraError, UnprotectedServerError
from dream.interfaces.cli.log_lines import logged_to_stderr
from dream.interfaces.cli.render.text import Line
from dream.interfaces.cli.session import Access, CliSession, CommandSession

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from socket import socket

    from agentcore.hosting.host import Host
    from dream.interfaces.page import Page

T = TypeVar("T")
Level = Literal["debug", "info", "warning", "error"]
Names = Annotated[list[str] | None, Parameter(negative="")]
Flag = Annotated[bool, Parameter(negative="")]
_EXTRA = "serve"
_HOST, _PORT = "127.0.0.1", 8765
_TOKEN_FILE = "serve.token"  # noqa: S105 - the name of the file


async def serve(
    *,
    host: str = _HOST,
    port: int = _PORT,
    no_http: Flag = False,
    allow_host: Names = None,
    allow_origin: Names = None,
    read_only: Flag = False,
    tools: Names = None,
    log_level: Level = "info",
    session: CliSession,
) -> None:
    """Serve the memory of the folder over REST and MCP, and let all its scopes dream by themselves, until stopped.

    Args:
        host: The address to listen on; any but this machine's own takes tokens that were made before.
        port: The port; 0 for any that is free.
        no_http: Listen to nothing; the scopes only dream.
        allow_host: A name that requests may be addressed to; give the option once for each.
        allow_origin: A page of another place that may call it from a browser; give the option once for each.
        read_only: Offer only those MCP tools that change nothing.
        tools: An MCP tool to offer; give the option once for each, all by default.
        log_level: From which level on events are logged to stderr; `debug` may show what is remembered.
        session: Whose memory.
    """
    with acting_as(HOST), logged_to_stderr(log_level):
        if no_http:
            _refuse_unused(host=host, port=port, allow_host=allow_host, allow_origin=allow_origin, tools=tools,
                           read_only=read_only)  # fmt: skip
            await _dream_alone(session)
            return
        listening = _needs_extra("serve", lambda: _listening(host, port))
        from dream.interfaces.serving.process import serve_http  # noqa: PLC0415 - with FastAPI half a second
        from dream.interfaces.serving.settings import LOOPBACK, ServeOptions  # noqa: PLC0415 - as above

        options = ServeOptions(
            hosts=LOOPBACK | {host, *(allow_host or ())},
            origins=frozenset(allow_origin or ()),
            read_only=read_only,
            tools=None if tools is None else frozenset(tools),
        )
        with listening as bound:
            async with session.host(
                Access.CREATE, chat=session.chat(), embedder=session.embedder(), in_background=True
            ) as opened:
                told = await _prepared_token(session, opened, host, is_local=host in LOOPBACK)
                address = f"http://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}"
                secret = await _own_secret(session) if host in LOOPBACK else ""
                await serve_http(
                    opened, options, bound, ready=lambda page: _tell_ready(session, address, told, page, secret)
                )


async def mcp(
    *,
    read_only: Flag = False,
    tools: Names = None,
    log_level: Level = "info",
    session: CliSession,
) -> None:
    """Serve the memory of one scope to the agent that started this command, over MCP on stdin and stdout.

    Args:
        read_only: Offer only those tools that change nothing.
        tools: A tool to offer; give the option once for each, all by default.
        log_level: From which level on events are logged to stderr; `debug` may show what is remembered.
        session: Whose memory.
    """
    serve_stdio = _needs_extra("mcp", _stdio_server)
    if session.screen.has_person:
        session.screen.tell(Line("Waiting for a client on stdin: an agent starts this command itself. Ctrl-C ends it."))
    with acting_as(HOST), logged_to_stderr(log_level):
        async with session.host(
            Access.CREATE, chat=session.chat(), embedder=session.embedder(), in_background=True
        ) as opened:
            await serve_stdio(opened, session.scope, names=tools, is_read_only=read_only)


def _refuse_unused(**given: object) -> None:
    """Refuse what is about the server where there is none.

    Raises:
        ConflictingOptionsError: something was said of it.
    """
    for name, value in given.items():
        if value not in (None, False, {"host": _HOST, "port": _PORT}.get(name)):
            raise ConflictingOptionsError(first="--no-http", second=f"--{name.replace('_', '-')}")


async def _dream_alone(session: CommandSession) -> None:
    """Let all scopes of the folder dream by themselves, until a signal or a worker's death ends it."""
    from dream.interfaces.signals import stopping_on_signals  # noqa: PLC0415 - most commands end by themselves

    async with session.host(
        Access.CREATE, chat=session.chat(), embedder=session.embedder(), in_background=True
    ) as opened:
        with stopping_on_signals(opened.request_stop):
            session.screen.print([Line(f"Dreaming for {session.data_dir}, without HTTP")])
            session.screen.finish()
            await opened.wait_for_shutdown()


def _tell_ready(session: CommandSession, address: str, told: str, page: "Page", secret: str) -> None:
    lines = [f"Serving {session.data_dir} at {address} (REST below /api/v1, MCP at /mcp){told}"]
    if secret:
        lines.append(f"The page, by a link that holds once: {address}/login?code={page.logins.link(secret)}")
    session.screen.print([Line(line) for line in lines])
    session.screen.finish()


async def _own_secret(session: CommandSession) -> str:
    return (await asyncio.to_thread((session.data_dir / _TOKEN_FILE).read_text, encoding="utf-8")).strip()


async def _prepared_token(session: CommandSession, host: "Host", address: str, *, is_local: bool) -> str:
    """Return what to say of the token: on this machine one is made, in a file that only its owner reads.

    Raises:
        UnprotectedServerError: other machines reach the server, and there is no token that holds.
    """
    if is_local:
        from dream.interfaces.serving.token_file import local_token  # noqa: PLC0415 - as above

        path = session.data_dir / _TOKEN_FILE
        await local_token(host.tokens, path)
        return f", token in {path}"
    now = session.clock.now()
    if not any(token.holds(now) for token in await host.tokens.list()):
        raise UnprotectedServerError(host=address)
    return ""


def _listening(host: str, port: int) -> "AbstractContextManager[socket]":
    from dream.interfaces.serving.process import listening_socket  # noqa: PLC0415 - with FastAPI half a second

    return listening_socket(host, port)


def _stdio_server() -> "Callable[..., Awaitable[None]]":
    from dream.interfaces.mcp.server import serve_stdio  # noqa: PLC0415 - with MCP half a second

    return serve_stdio


def _needs_extra(command: str, load: Callable[[], T]) -> T:
    """Return what *load* does.

    Raises:
        MissingExtraError: a package of the extra is not installed.
    """
    try:
        return load()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"fastapi", "starlette", "uvicorn", "mcp", "mcp_types"}:
            raise
        raise MissingExtraError(command=command, extra=_EXTRA) from None
