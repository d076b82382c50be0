"""ChatServer: an OpenAI-protocol server on the loopback interface that says what a test wrote down."""

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, cast

import orjson

from agentcore.clock import Clock, SystemClock
from agentcore.errors import InvalidOptionsError
from agentcore.testing.chat import ScriptExhaustedError
from agentcore.testing.chat_replies import Ending, ServerReply, counted, refused
from agentcore.testing.embeddings import embedded, hashed_words

_DRIP = timedelta(milliseconds=5)
_MOST_HEAD = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRequest:
    """One request a server received.

    Args:
        path: Where it was sent.
        headers: Its headers, names in lower case.
        body: Its JSON.
    """

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def model(self) -> str:
        """The model asked."""
        return str(self.body.get("model", ""))

    @property
    def prompt(self) -> str:
        """All messages, one after the other."""
        messages: Sequence[Mapping[str, object]] = self.body.get("messages", [])
        return "\n".join(str(message.get("content", "")) for message in messages)

    @property
    def texts(self) -> list[str]:
        """The texts to make vectors of."""
        given: object = self.body.get("input", [])
        return [given] if isinstance(given, str) else list(cast("Sequence[str]", given))

    @property
    def response_format(self) -> str:
        """The kind of answer asked for: `json_schema`, `json_object`, or `text` where nothing is said."""
        return str(self.body.get("response_format", {}).get("type", "text"))


Said = str | ServerReply
EmbeddingScript = Callable[[str], Sequence[float] | ServerReply]
ServerScript = Said | Callable[[ServedRequest], Said | Awaitable[Said]]


class ChatServer:
    """A scripted model behind real HTTP; lives as long as its `async with` block.

    It answers `/v1/chat/completions` with the replies, one after the other, and `/v1/embeddings` with a vector for
    each text, which uses up no reply. Every request is recorded and counted. A request for a response format that the
    server does not take, or for another path, is refused and uses up no reply. After the block nothing listens any
    more, which makes the URL that of an absent server.

    Args:
        replies: One per call, taken as they are needed, so `itertools.repeat(reply)` answers for ever. A text
            becomes a whole answer with usage; see `agentcore.testing.chat_replies` for the others; a function of
            the request gives one of these, or an awaitable of one.
        response_formats: What it takes beside plain text, of `json_schema` and `json_object`.
        embedding: Makes the vector of a text, or the reply that a request with this text gets in its place.
        latency: How long it takes for each reply, beside the reply's own delay.
        clock: What it waits by; the machine's by default.
        port: Where it listens; 0 for any free port.

    Raises:
        InvalidOptionsError: a bare string instead of a list of replies.
        ScriptExhaustedError: when the block ends well, though a call found no reply left.

    Example:
        >>> async def main() -> None:
        ...     async with ChatServer(["Hello."]) as server:
        ...         print(server.base_url.startswith("http://127.0.0.1:"), server.calls)
        >>> asyncio.run(main())
        True 0
    """

    def __init__(
        self,
        replies: Iterable[ServerScript],
        *,
        response_formats: Collection[str] = ("json_schema", "json_object"),
        embedding: EmbeddingScript = hashed_words,
        latency: timedelta = timedelta(),
        clock: Clock | None = None,
        port: int = 0,
    ) -> None:
        if isinstance(replies, str):
            raise InvalidOptionsError(field="replies", value=replies, allowed="give a list with one reply per call")
        self._replies = iter(replies)
        self._formats = frozenset(response_formats)
        self._embedding = embedding
        self._latency = latency
        self._clock = clock or SystemClock()
        self._server: asyncio.Server | None = None
        self._port = port
        self._given = 0
        self._exhausted: ScriptExhaustedError | None = None
        self._requests: list[ServedRequest] = []
        self._in_flight = 0
        self._most_in_flight = 0
        self._connections: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    @property
    def base_url(self) -> str:
        """What `OPENAI_BASE_URL` is to be."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def requests(self) -> list[ServedRequest]:
        """Every request received so far, refused ones included, oldest first."""
        return list(self._requests)

    @property
    def calls(self) -> int:
        """How many requests were received, refused ones included."""
        return len(self._requests)

    @property
    def most_in_flight(self) -> int:
        """How many requests were served at once, at the busiest moment."""
        return self._most_in_flight

    async def __aenter__(self) -> Self:
        """Begin to listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=_MOST_HEAD)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop listening and drop all connections."""
        if self._server is not None:
            self._server.close()
            await self._drop_connections()
            await self._server.wait_closed()
        if self._exhausted is not None and kind is None:
            raise self._exhausted

    async def _drop_connections(self) -> None:
        tasks = list(self._connections.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it is closed."""
        self._connections[writer] = cast("asyncio.Task[None]", asyncio.current_task())
        try:
            while (request := await _read(reader)) is not None and await self._answer(request, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # The client hung up, or the server stops; asyncio would report a cancelled handler as an error.
            pass
        finally:
            del self._connections[writer]
            writer.transport.abort()

    async def _answer(self, request: ServedRequest, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection stays."""
        self._requests.append(request)
        self._in_flight += 1
        self._most_in_flight = max(self._most_in_flight, self._in_flight)
        try:
            reply = self._embedded(request) or self._refusal_of(request) or await self._next_reply(request)
            if reply.delay + self._latency:
                await self._clock.sleep(reply.delay + self._latency)
            await self._send(reply, writer)
        finally:
            self._in_flight -= 1
        return reply.ending is Ending.WHOLE

    def _embedded(self, request: ServedRequest) -> ServerReply | None:
        """Return the answer to a request for vectors; None for any other."""
        if request.path != "/v1/embeddings":
            return None
        vectors: list[Sequence[float]] = []
        for text in request.texts:
            made = self._embedding(text)
            if isinstance(made, ServerReply):
                return made
            vectors.append(made)
        return embedded(vectors, model=request.model)

    def _refusal_of(self, request: ServedRequest) -> ServerReply | None:
        if request.path != "/v1/chat/completions":
            return refused(404, message="Not found.")
        asked = request.response_format
        if asked != "text" and asked not in self._formats:
            return refused(400, message=f"{asked} is not supported", param="response_format")
        return None

    async def _next_reply(self, request: ServedRequest) -> ServerReply:
        try:
            scripted = next(self._replies)
        except StopIteration:
            self._exhausted = ScriptExhaustedError(replies=self._given, purpose=request.model)
            return refused(400, code="script_exhausted", message=str(self._exhausted))
        self._given += 1
        said = scripted(request) if callable(scripted) else scripted
        said = await said if inspect.isawaitable(said) else said
        return counted(said, prompt=request.prompt) if isinstance(said, str) else said

    async def _send(self, reply: ServerReply, writer: asyncio.StreamWriter) -> None:
        if reply.ending is Ending.HANG_UP:
            return
        endless = reply.ending is Ending.NEVER
        writer.write(_head(reply, length=None if endless else len(reply.body)))
        if reply.ending is Ending.MID_BODY:
            writer.write(reply.body[: len(reply.body) // 2])
        elif not endless:
            writer.write(reply.body)
        await writer.drain()
        part = reply.body
        while endless:
            writer.write(b"%x\r\n%b\r\n" % (len(part), part))
            await writer.drain()
            await self._clock.sleep(_DRIP)
            part = b" "


async def _read(reader: asyncio.StreamReader) -> ServedRequest | None:
    """Return the next request of a connection; None if there is none."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    body: object = None
    with contextlib.suppress(ValueError):
        body = orjson.loads(raw)
    known: Mapping[str, Any] = cast("Mapping[str, Any]", body) if isinstance(body, dict) else {}
    return ServedRequest(path=first.split(" ")[1], headers=headers, body=known)


def _head(reply: ServerReply, *, length: int | None) -> bytes:
    framing = {"Transfer-Encoding": "chunked"} if length is None else {"Content-Length": str(length)}
    headers = {"Content-Type": "application/json", **framing, **reply.headers}
    lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
