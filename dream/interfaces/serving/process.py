"""Runs the server in a process of its own, until a signal ends it."""

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import uvicorn

from agentcore.hosting.host import Host
from dream.interfaces.cli.errors import UnusableAddressError
from dream.interfaces.page import Page
from dream.interfaces.serving.app import Server
from dream.interfaces.serving.connection import connection_with
from dream.interfaces.serving.settings import ServeOptions
from dream.interfaces.signals import stopping_on_signals

_OTHER_FILES: Final = 256
"""Files that are no connections: the database, its readers, documents, backups."""
_NOT_STREAMS: Final = 0.9
"""The share of connections that streams may take, so that others are answered still."""
_HEADERS: Final = 64 * 1024
_IDLE_SECONDS: Final = 15
_GRACE_SECONDS: Final = 5


class _Uvicorn(uvicorn.Server):
    """A server that leaves signals to us: its own handling would end the process before the host has closed."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none."""
        yield

    def end(self) -> None:
        """Answer what is under way, and end."""
        self.should_exit = True


@contextmanager
def listening_socket(host: str, port: int) -> Generator[socket.socket]:
    """Listen on an address, for the length of the block.

    Raises:
        UnusableAddressError: that cannot be done.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends small answers at once; else each waits 40 ms for an acknowledgement.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((host, port))
            bound.listen(2_048)
        except (OSError, OverflowError) as error:
            problem = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise UnusableAddressError(address=f"{host}:{port}", problem=problem) from None
        yield bound


def within_file_limit(options: ServeOptions) -> ServeOptions:
    """Return options that admit no more connections than this process may open files, once it may open all it can."""
    if sys.platform == "win32":
        return options
    import resource  # noqa: PLC0415 - Unix alone has it

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    most = options.connections if soft == resource.RLIM_INFINITY else max(soft - _OTHER_FILES, soft // 2)
    connections = min(options.connections, most)
    return replace(options, connections=connections, streams=min(options.streams, int(connections * _NOT_STREAMS)))


async def serve_http(host: Host, options: ServeOptions, bound: socket.socket, *, ready: Callable[[Page], None]) -> None:
    """Serve an open host until a signal, or the death of one of its workers, ends it.

    Args:
        host: Whose memory.
        options: What is admitted.
        bound: Where to listen.
        ready: Called with the page once it listens.
    """
    options = within_file_limit(options)
    app = Server(host, options)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=_HEADERS,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        http=connection_with(options),
        lifespan="on",
        ws="none",
    )
    # Addresses of requests hold what was searched for: that is memory content, and no line of a log.
    logging.getLogger("uvicorn.access").setLevel(logging.CRITICAL)
    server = _Uvicorn(config, lambda: ready(app.page))
    with stopping_on_signals(server.end):
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(_end_with(host, server), name="serve-watch")
            try:
                await server.serve(sockets=[bound])
            finally:
                watching.cancel()


async def _end_with(host: Host, server: _Uvicorn) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await host.wait_for_shutdown()
        server.end()
