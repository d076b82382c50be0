"""Speaks HTTP on one connection: faults are problems, and a client that does not get on is let go."""

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from dream.interfaces.serving.problems import MEDIA_TYPE, Problem
from dream.interfaces.serving.settings import ServeOptions


class HttpConnection(H11Protocol):
    """HTTP whose faults are problems, too; lives as long as the connection.

    The time that a body takes is the gatekeeper's; here are the head of a request, and an answer that nobody reads.
    """

    options: ClassVar[ServeOptions] = ServeOptions()
    """How long a client may take."""

    _head: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the head of the first request, not for ever."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Take bytes; a head that is begun has to come to its end."""
        if self.conn.their_state is h11.IDLE and self._head is None:
            self._await_head()
        if len(self.connections) > self.options.connections:
            # Told now, not when it connected: an answer to what was not read yet is lost with the connection.
            detail = f"Too many connections are open: {self.options.connections:,} at most, try again later."
            busy = Problem(status=503, code="too_many_connections", detail=detail, headers={"Retry-After": "10"})
            self._close_with(busy, "Service Unavailable")
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._head = _cancelled(self._head)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._head, self._unread = _cancelled(self._head), _cancelled(self._unread)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait until the client reads on, not for ever: what it has not read would stay in memory."""
        super().pause_writing()
        self._unread = _cancelled(self._unread)
        self._unread = self.loop.call_later(self.options.unread_time.total_seconds(), self.transport.abort)

    def resume_writing(self) -> None:
        """Go on."""
        self._unread = _cancelled(self._unread)
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's own words
        """Answer what is no request, and close."""
        detail = "The request cannot be read: send HTTP/1.1 with headers of at most 64 KiB."
        self._close_with(Problem(status=400, code="bad_request", detail=detail), "Bad Request")

    def _await_head(self) -> None:
        self._head = self.loop.call_later(self.options.head_time.total_seconds(), self._head_too_slow)

    def _head_too_slow(self) -> None:
        detail = "The request took too long to arrive: send it faster."
        self._close_with(Problem(status=408, code="too_slow", detail=detail), "Request Timeout")

    def _close_with(self, problem: Problem, phrase: str) -> None:
        if self.transport.is_closing():
            return
        body = bytes(problem.response().body)
        headers = {"Content-Type": MEDIA_TYPE, "Content-Length": len(body), **(problem.headers or {})}
        told = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {problem.status_code} {phrase}\r\n{told}"
        self.transport.write(f"{head}Connection: close\r\n\r\n".encode() + body)
        self.transport.close()


def connection_with(options: ServeOptions) -> type[HttpConnection]:
    """Return the protocol with these limits; uvicorn makes one of it for each connection."""
    return type("HttpConnection", (HttpConnection,), {"options": options})


def _cancelled(timer: asyncio.TimerHandle | None) -> Any:
    if timer is not None:
        timer.cancel()
