"""Lets requests in: Host and Origin, who it is, how much, how often and how slow."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope as AsgiScope, Send

from agentcore.clock import Clock
from agentcore.hosting.tokens import AccessTokens
from dream.interfaces.serving.caller import SCOPE_KEY, Caller
from dream.interfaces.serving.problems import Problem, problem_of
from dream.interfaces.serving.settings import ServeOptions

API: Final = "/api/"
MCP: Final = "/mcp"
IMPORT: Final = "/api/v1/import"
RUNS: Final = "/api/v1/runs/"
EVENTS: Final = "/events"
_TAKE_LONG: Final = frozenset({IMPORT, f"{API}v1/export", f"{API}v1/backups", f"{API}v1/erasures"})
_CORS_METHODS: Final = "GET, POST, PUT, PATCH, DELETE"
_CORS_HEADERS: Final = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Mcp-Protocol-Version"
_CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="dream"'}


def is_guarded(path: str) -> bool:
    """Tell whether a path takes a token; the others are the page and the checks of health."""
    return path.startswith((API, f"{MCP}/")) or path == MCP


@dataclass(slots=True)
class _Bucket:
    """What a client may still ask for, refilled as time goes."""

    left: float
    at: float


class Gatekeeper:
    """ASGI middleware: refuses what must not reach the app, and leaves the caller in the scope of what may.

    Args:
        app: What is guarded.
        tokens: Tells whom a secret stands for.
        options: What is admitted.
        clock: Tells how fast requests come.
    """

    def __init__(self, app: ASGIApp, *, tokens: AccessTokens, options: ServeOptions, clock: Clock) -> None:
        self._app = app
        self._tokens = tokens
        self._options = options
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}
        self._streams = 0

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, answer = Headers(scope=scope), _HttpReply(send)
        try:
            origin = answer.origin = self._admitted_origin(headers)
            if scope["method"] == "OPTIONS" and origin is not None:
                await _Preflight(origin).answer(send)
                return
            path = path_of(scope)
            if is_guarded(path):
                scope[SCOPE_KEY] = await self._caller(headers)
                self._meter(scope[SCOPE_KEY])
            await self._pass_on(path, scope, self._bounded(path, headers, receive), answer)
        except Exception as error:  # noqa: BLE001 - the edge of the server: a client gets a sentence, not a trace
            problem = problem_of(error)
            if not answer.is_begun:
                await problem.response()(scope, receive, answer.send)

    def _admitted_origin(self, headers: Headers) -> str | None:
        """Return the origin of another place that is listed, if the request comes from one.

        Raises:
            Problem: the request is addressed to another name, or comes from a page that is not listed.
        """
        host = headers.get("host", "")
        if host not in self._options.hosts and _name_of(host) not in self._options.hosts:
            detail = "The server does not answer to this name: add it with --allow-host if it is yours."
            raise Problem(status=421, code="unknown_host", detail=detail)
        origin = headers.get("origin")
        if origin is None or origin in {f"http://{host}", f"https://{host}"}:
            return None
        if origin not in self._options.origins:
            detail = "Pages of this origin may not call the server: list it with --allow-origin if it is yours."
            raise Problem(status=403, code="unknown_origin", detail=detail)
        return origin

    async def _caller(self, headers: Headers) -> Caller:
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        token = await self._tokens.resolve(secret.strip()) if scheme.lower() == "bearer" and secret else None
        if token is None:
            detail = "A valid token is needed: send `Authorization: Bearer TOKEN`, `dream token create` makes one."
            raise Problem(status=401, code="unauthorized", detail=detail, headers=_CHALLENGE)
        return Caller.of_token(token)

    def _meter(self, caller: Caller) -> None:
        now, rate, most = self._clock.now().timestamp(), self._options.per_second, self._options.burst
        bucket = self._buckets.setdefault(caller.actor.name, _Bucket(most, now))
        bucket.left = min(most, bucket.left + max(0.0, now - bucket.at) * rate)
        bucket.at = now
        if bucket.left < 1:
            detail = f"Too many requests: at most {rate:g} in a second are answered, wait a moment."
            raise Problem(status=429, code="too_many_requests", detail=detail, headers={"Retry-After": "1"})
        bucket.left -= 1

    def _bounded(self, path: str, headers: Headers, receive: Receive) -> Receive:
        is_import = path == IMPORT
        most = self._options.import_body if is_import else self._options.body
        time = self._options.import_time if is_import else self._options.body_time
        until = asyncio.get_running_loop().time() + time.total_seconds()
        said = f"The body is too long: send {most:,} bytes at most."
        too_long = Problem(status=413, code="body_too_large", detail=said)
        declared = headers.get("content-length", "0")
        if declared.isdecimal() and int(declared) > most:
            raise too_long
        taken, is_over = 0, False

        async def take() -> Message:
            nonlocal taken, is_over
            if is_over:
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                detail = "The request took too long to arrive: send it faster."
                raise Problem(status=408, code="too_slow", detail=detail, headers={"Connection": "close"}) from None
            taken += len(message.get("body", b""))
            if taken > most:
                raise too_long
            is_over = not message.get("more_body", False)
            return message

        return take

    async def _pass_on(self, path: str, scope: AsgiScope, receive: Receive, answer: "_HttpReply") -> None:
        if path.startswith(RUNS) and path.endswith(EVENTS):
            await self._stream(scope, receive, answer)
            return
        limit = None if path in _TAKE_LONG else self._options.answer_time.total_seconds()
        try:
            async with asyncio.timeout(limit):
                await self._app(scope, receive, answer.send)
        except TimeoutError:
            if answer.is_begun:
                raise
            detail = "The answer took too long: what was committed stands, ask again."
            raise Problem(status=503, code="too_slow", detail=detail, headers={"Retry-After": "5"}) from None

    async def _stream(self, scope: AsgiScope, receive: Receive, answer: "_HttpReply") -> None:
        if self._streams >= self._options.streams:
            detail = f"Too many streams are open: {self._options.streams:,} at most, try again later."
            raise Problem(status=503, code="too_many_streams", detail=detail, headers={"Retry-After": "10"})
        self._streams += 1

        async def send(message: Message) -> None:
            # A stream may outlast its token: each part of it is told only while that holds.
            await self._caller(Headers(scope=scope))
            await answer.send(message)

        try:
            await self._app(scope, receive, send)
        finally:
            self._streams -= 1


class _HttpReply:
    """Sends an answer with the headers of every answer; lives as long as it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.origin: str | None = None
        self.is_begun = False

    async def send(self, message: Message) -> None:
        """Send one part."""
        if message["type"] == "http.response.start":
            self.is_begun = True
            added = [(b"x-content-type-options", b"nosniff")]
            if self.origin is not None:
                added += _encoded({"Access-Control-Allow-Origin": self.origin, "Vary": "Origin"})
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await self._send(message)


@dataclass(frozen=True, slots=True)
class _Preflight:
    """What a browser asks before a page of another place calls."""

    origin: str

    async def answer(self, send: Callable[[Message], Awaitable[None]]) -> None:
        """Send the answer."""
        headers = {
            "Access-Control-Allow-Origin": self.origin,
            "Access-Control-Allow-Methods": _CORS_METHODS,
            "Access-Control-Allow-Headers": _CORS_HEADERS,
            "Access-Control-Max-Age": "600",
            "Vary": "Origin",
        }
        await send({"type": "http.response.start", "status": 204, "headers": _encoded(headers)})
        await send({"type": "http.response.body", "body": b""})


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


def path_of(scope: AsgiScope) -> str:
    """Return the path within this app, which may be mounted below a prefix.

    Example:
        >>> path_of({"path": "/memory/mcp", "root_path": "/memory"}), path_of({"path": "/mcp"})
        ('/mcp', '/mcp')
    """
    path: str = scope["path"]
    below = path.removeprefix(scope.get("root_path", ""))
    return below if below.startswith("/") else path


def _name_of(host: str) -> str:
    """Return a host without its port.

    Example:
        >>> _name_of("[::1]:8765"), _name_of("localhost:8765"), _name_of("example.org")
        ('::1', 'localhost', 'example.org')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
