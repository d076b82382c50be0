"""Calls REST inside the process, as somebody who is logged in: the page has no other way to read or write."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

import orjson
from starlette.types import ASGIApp, Message

from dream.interfaces.serving.caller import SCOPE_KEY, Caller

_API: Final = "/api/v1"
_NAMES: Final = {"content": "text", "subject_time": "what it is about"}


class RefusedCallError(Exception):
    """REST did not do what was asked; has its problem document.

    Args:
        problem: What it said, `status`, `code` and `detail` among it.
    """

    def __init__(self, problem: Mapping[str, Any]) -> None:
        super().__init__(str(problem.get("detail", "")))
        self.problem = problem

    @property
    def status(self) -> int:
        """The status of the answer."""
        return int(self.problem.get("status", 500))


def plain(problem: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a problem in words for those who filled in a form.

    Example:
        >>> fault = {"where": "body.importance", "what": "Input should be less than or equal to 1"}
        >>> plain({"code": "invalid_request", "detail": "...", "faults": [fault]})["detail"]
        'Importance: it should be less than or equal to 1. Nothing was done.'
    """
    faults = problem.get("faults")
    if not faults:
        return problem
    field: list[str] = str(faults[0]["where"]).split(".")[1:2]
    name = _NAMES.get(field[0], field[0].replace("_", " ")) if field else "form"
    what = re.sub(r"^(Input|Value|String|List)\b", "it", faults[0]["what"].removeprefix("Value error, ")).rstrip(".")
    what = what.split(", unable to parse")[0]
    return {**problem, "detail": f"{name.capitalize()}: {what}. Nothing was done."}


@dataclass(frozen=True, slots=True)
class ApiCalls:
    """The calls of one person on one scope; lives as long as a request.

    Args:
        rest: The app of the routes.
        caller: Who calls.
        scope: Whose memory, as WORKSPACE/OBSERVER/OBSERVED.
    """

    rest: ASGIApp
    caller: Caller
    scope: str

    async def get(self, path: str, /, **query: Any) -> Any:
        """Return what a route answers.

        Args:
            path: Below the prefix, such as `/runs`.
            query: Its parameters; those that are None or empty are left out.

        Raises:
            RefusedCallError: it answers with a problem.
        """
        return (await self._call("GET", path, query)).document

    async def get_with_tag(self, path: str, /) -> tuple[Any, str]:
        """Return what a route answers, and the version of it that a change may name."""
        answer = await self._call("GET", path, {})
        return answer.document, answer.headers.get("etag", "")

    async def text_of(self, memory_id: str) -> tuple[str, str]:
        """Return the id of a memory and its text, empty if it is not there."""
        try:
            return memory_id, str((await self.get(f"/memories/{memory_id}"))["content"])
        except RefusedCallError:
            return memory_id, ""

    async def post(self, path: str, body: object = None, /) -> Any:
        """Have a route do something, and return its answer.

        Raises:
            RefusedCallError: it answers with a problem, and nothing was done.
        """
        return await self.send("POST", path, body)

    async def send(
        self,
        method: str,
        path: str,
        body: object = None,
        /,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> Any:
        """Do the same by another method, or with parameters."""
        return (await self._call(method, path, query or {}, body, headers or {})).document

    async def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> "_Answer":
        named = {"scope": self.scope} if self.scope else {}
        given = {name: value for name, value in {**query, **named}.items() if value not in (None, "", [])}
        answer = _Answer(b"" if body is None else orjson.dumps(body))
        sent = {"content-type": "application/json", **(headers or {})}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": f"{_API}{path}",
            "raw_path": f"{_API}{path}".encode(),
            "query_string": urlencode(given, doseq=True).encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items() if value],
            "client": None,
            "server": None,
            SCOPE_KEY: self.caller,
        }
        await self.rest(scope, answer.receive, answer.send)
        if answer.status >= 400:
            raise RefusedCallError(plain({**answer.document, "status": answer.status}))
        return answer


@dataclass(slots=True)
class _Answer:
    """What a route is sent, and what it answers."""

    sent: bytes
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict[str, str])
    parts: list[bytes] = field(default_factory=list[bytes])

    @property
    def document(self) -> Any:
        body = b"".join(self.parts)
        return orjson.loads(body) if body else {}

    async def receive(self) -> Message:
        return {"type": "http.request", "body": self.sent, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode().lower(): value.decode("latin-1") for name, value in message["headers"]}
        else:
            self.parts.append(message.get("body", b""))
