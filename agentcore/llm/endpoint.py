"""Makes one request to an OpenAI-compatible server through the `openai` package, bounded in time and size.

Importing this costs what `openai` costs, so only a client that starts does it.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any, cast

import httpx2
import openai

from agentcore.llm.chat import TryFailure
from agentcore.llm.reply import ConnectionFailure, Reply
from agentcore.llm.settings import ChatOptions

_MOST_OF_AN_ERROR = 1 << 16


class Endpoint:
    """The connection to one server; lives from a client's start to its stop.

    It never retries, and follows no redirect: prompts go to the address that was configured and to no other.

    Args:
        options: Where the server is, the key, and the bounds.
    """

    def __init__(self, options: ChatOptions) -> None:
        self._options = options
        key = options.api_key.get_secret_value() if options.api_key else ""
        self._headers = _headers(has_key=bool(key))
        seconds = options.timeout.total_seconds()
        self._openai = openai.AsyncOpenAI(
            base_url=options.base_url,
            api_key=key or "none",
            max_retries=0,
            timeout=seconds,
            http_client=openai.DefaultAsyncHttpxClient(
                verify=_trusted(),
                follow_redirects=False,
                timeout=httpx2.Timeout(seconds, connect=min(seconds, 20.0)),
                event_hooks={"request": [_follow], "response": [_bound_errors]},
            ),
        )

    async def post(self, body: Mapping[str, object]) -> Reply | ConnectionFailure:
        """Ask for a completion, and return what came of it."""
        return await self._bounded(self._openai.chat.completions.with_streaming_response, body)

    async def embed(self, body: Mapping[str, object]) -> Reply | ConnectionFailure:
        """Ask for vectors, and return what came of it."""
        return await self._bounded(self._openai.embeddings.with_streaming_response, body)

    async def _bounded(self, resource: object, body: Mapping[str, object]) -> Reply | ConnectionFailure:
        progress = _Progress()
        _UNDER_WAY.set(progress)
        try:
            async with asyncio.timeout(self._options.timeout.total_seconds()):
                return await self._post(resource, body, progress)
        except (TimeoutError, openai.APITimeoutError, httpx2.TimeoutException):
            # As where a handshake hangs: what never left cannot have been answered, or be paid for.
            failure = TryFailure.TIMED_OUT if progress.was_sent else TryFailure.UNREACHABLE
            return ConnectionFailure(failure=failure, received=progress.received)
        except openai.APIStatusError as error:
            headers = cast("Mapping[str, str]", error.response.headers)
            return Reply(status=error.status_code, headers=headers, body=error.response.content)
        except (openai.APIConnectionError, httpx2.ConnectError) as error:
            sent = isinstance(error.__cause__, httpx2.RemoteProtocolError | httpx2.ReadError)
            return ConnectionFailure(failure=TryFailure.CLOSED if sent else TryFailure.UNREACHABLE)
        except (httpx2.RequestError, httpx2.StreamError):
            return ConnectionFailure(failure=TryFailure.CLOSED, received=progress.received)

    async def close(self) -> None:
        """Close all connections; calls in flight break."""
        await self._openai.close()

    async def _post(
        self, resource: object, body: Mapping[str, object], progress: "_Progress"
    ) -> Reply | ConnectionFailure:
        call = cast("Any", resource).create(**body, extra_headers=self._headers)
        async with call as response:
            parts: list[bytes] = []
            async for part in response.iter_bytes():
                progress.received += len(part)
                if progress.received > self._options.max_answer_bytes:
                    return ConnectionFailure(failure=TryFailure.TOO_LARGE, received=progress.received)
                parts.append(part)
            return Reply(status=response.status_code, headers=response.headers, body=b"".join(parts))


class _Progress:
    """How far a call has come."""

    received = 0
    was_sent = False

    async def note(self, event: str, _: Mapping[str, Any]) -> None:
        """Hear of an event of the connection; the client wants a coroutine."""
        self.was_sent = self.was_sent or event.endswith(".send_request_headers.started")


_UNDER_WAY: ContextVar[_Progress] = ContextVar("call_under_way")


async def _follow(request: httpx2.Request) -> None:
    """Have the call that sends *request* told how far it comes."""
    request.extensions = {**request.extensions, "trace": _UNDER_WAY.get().note}


class _Bounded(httpx2.AsyncByteStream):
    """The beginning of a stream."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for part in self._stream:
            yield part[:left]
            left -= len(part)
            if left <= 0:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound_errors(response: httpx2.Response) -> None:
    """Let no server fill the memory through the body of an error, which `openai` reads whole."""
    if response.status_code >= 300 and isinstance(response.stream, httpx2.AsyncByteStream):
        # Nothing compressed either: what is cut off could not be unpacked, and what is unpacked is not bounded.
        response.headers.pop("content-encoding", None)
        response.stream = _Bounded(response.stream, _MOST_OF_AN_ERROR)


@cache
def _trusted() -> ssl.SSLContext:
    """Return whom every endpoint of the process trusts: reading all those certificates takes some 25 ms each time."""
    return httpx2.create_ssl_context()


def _headers(*, has_key: bool) -> dict[str, Any]:
    plain: dict[str, Any] = {"Accept-Encoding": "identity"}
    return plain if has_key else plain | {"Authorization": openai.Omit()}
