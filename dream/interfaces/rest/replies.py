"""Makes answers, and has requests that write carried out once."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from agentcore.errors import StaleVersionError
from agentcore.stores.acting import acting, on_behalf
from agentcore.stores.storage import UnitOfWork
from dream.interfaces.answers import dumps
from dream.interfaces.rest.requests import UnchangedRecord, digest_of
from dream.interfaces.rest.shapes import ProblemDocument, ResponseBody
from dream.interfaces.serving.problems import MEDIA_TYPE, Problem
from dream.interfaces.serving.receipts import Once, Records
from dream.interfaces.serving.scoped_call import ScopedCall

JSON: Final = "application/json"
Responses = dict[int | str, dict[str, Any]]

_PROBLEM: Final[dict[str, Any]] = {"model": ProblemDocument, "content": {MEDIA_TYPE: {}}}
_SAID: Final = {
    400: "The request cannot be read.",
    401: "The token is missing, unknown, expired or revoked.",
    403: "The token does not give this right, or does not reach the scope.",
    404: "There is no such record in this scope.",
    408: "The request took too long to arrive.",
    409: "The present state stands against it.",
    412: "The record is no longer what the client saw.",
    413: "The body is too long.",
    421: "The server does not answer to this name.",
    422: "Something that was sent cannot be taken.",
    429: "Too many requests.",
    503: "The server cannot do this now.",
    507: "The disk of the server is full.",
}


def answers(model: type[ResponseBody], status: int = 200, *, says: str = "Done.", **headers: str) -> Responses:
    """Describe the answers of a route.

    Args:
        model: What is answered.
        status: With which status.
        says: What that means.
        headers: Headers of the answer, and what they say.
    """
    plain = {"schema": {"type": "string"}}
    told = {name.replace("_", "-"): {"description": text, **plain} for name, text in headers.items()}
    refused: Responses = {code: {**_PROBLEM, "description": text} for code, text in _SAID.items()}
    return {status: {"model": model, "description": says, "headers": told}, **refused}


def reply(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a document as an answer that nobody caches."""
    return Response(dumps(document), status, {"Cache-Control": "no-store", **(headers or {})}, JSON)


async def once(
    request: Request,
    call: ScopedCall,
    key: str | None,
    work: Callable[[], Awaitable[Response]],
    again: Callable[[Records], Awaitable[Response]],
    *,
    names: Callable[[UnitOfWork], Records] | None = None,
    always: bool = False,
) -> Response:
    """Carry a request out, or give its answer again if it was sent before with the same key.

    Args:
        request: The request.
        call: Who asks, and of whose memory.
        key: Its key, if it has one.
        work: Carries it out.
        again: Makes the answer of what it wrote.
        names: What the receipt shall name, where that is no record it writes.
        always: Whether it writes in one transaction, and no record.
    """
    return await carried_out(await once_of(request, call, key, names=names, always=always), work, again)


async def once_of(
    request: Request,
    call: ScopedCall,
    key: str | None,
    *,
    names: Callable[[UnitOfWork], Records] | None = None,
    always: bool = False,
) -> Once:
    """Return a request that is carried out once; see `once`."""
    digest = "" if key is None else await digest_of(request)
    return Once(call=call, key=key, digest=digest, new_id=request.app.state.new_id, names=names, always=always)


async def carried_out(
    only: Once, work: Callable[[], Awaitable[Response]], again: Callable[[Records], Awaitable[Response]]
) -> Response:
    """Carry it out, or give its answer again; see `once`."""
    answer, is_repeated = await only.run(work, again)
    if is_repeated:
        answer.headers["Idempotency-Replayed"] = "true"
    return answer


async def guarded(check: UnchangedRecord | None, work: Callable[[], Awaitable[Any]]) -> Any:
    """Do *work* with a check in its first transaction, before whatever the request's own receipt does."""
    if check is None:
        return await work()
    try:
        with on_behalf(acting().checked(check)):
            return await work()
    except StaleVersionError as error:
        now = check.present
        told, headers = ({}, {}) if now is None else ({"sent": check.tag, "present": now}, {"ETag": now})
        raise Problem(status=412, code="stale_version", detail=str(error), headers=headers, more=told) from error


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[tuple[str, Any]], status_code: int = 200) -> None:
        super().__init__(_lines(events), status_code, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


async def _lines(events: AsyncIterator[tuple[str, Any]]) -> AsyncIterator[bytes]:
    async for name, document in events:
        yield b"event: %b\ndata: %b\n\n" % (name.encode(), dumps(document)) if name else b": alive\n\n"
