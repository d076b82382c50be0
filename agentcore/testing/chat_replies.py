"""Replies of a scripted chat server: answers, and everything that goes wrong with answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

import orjson

from agentcore.llm.chat import FinishReason, estimate_tokens


class Ending(StrEnum):
    """How a reply ends."""

    WHOLE = "whole"
    """As it should."""
    HANG_UP = "hang_up"
    """The connection is closed before a single byte."""
    MID_BODY = "mid_body"
    """The connection is closed after half of the body."""
    NEVER = "never"
    """The body goes on, a space every 5 ms, until the client hangs up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReply:
    """One HTTP reply.

    Args:
        body: Its body.
        status: The HTTP status.
        headers: Headers beyond those of length and type.
        delay: How long the server waits first.
        ending: How it ends.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    delay: timedelta = timedelta()
    ending: Ending = Ending.WHOLE


def answer(
    text: str | None,
    *,
    finish_reason: str | None = FinishReason.STOP,
    usage: Mapping[str, int] | None = None,
    model: str = "scripted",
    message: Mapping[str, object] | None = None,
) -> ServerReply:
    """Return a completion.

    Args:
        text: What the model says.
        finish_reason: Why it ended.
        usage: The server's count, such as `{"prompt_tokens": 3, "completion_tokens": 2}`; None for none at all.
        model: The model that answered.
        message: Further fields of the message.

    Example:
        >>> answer("Hi").status
        200
    """
    said = {"role": "assistant", "content": text, **(message or {})}
    document: dict[str, object] = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": said, "finish_reason": finish_reason}],
    }
    if usage is not None:
        document["usage"] = dict(usage)
    return ServerReply(body=orjson.dumps(document))


def counted(text: str, *, prompt: str) -> ServerReply:
    """Return an answer with the usage that a server counting four bytes a token would state."""
    return answer(text, usage={"prompt_tokens": estimate_tokens(prompt), "completion_tokens": estimate_tokens(text)})


def cut_off(text: str) -> ServerReply:
    """Return an answer that ran into the token limit."""
    return answer(text, finish_reason=FinishReason.LENGTH)


def filtered() -> ServerReply:
    """Return an answer that a content filter withheld."""
    return answer(None, finish_reason=FinishReason.CONTENT_FILTER)


def tool_call(name: str = "look_up") -> ServerReply:
    """Return a tool call where an answer was asked for."""
    call = {"id": "call-1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return answer(None, finish_reason=FinishReason.TOOL_CALLS, message={"tool_calls": [call]})


def garbage() -> ServerReply:
    """Return a page of some other server."""
    return ServerReply(body=b"<!doctype html><title>Welcome</title>\x00\xff", headers={"Content-Type": "text/html"})


def no_choices() -> ServerReply:
    """Return a completion without choices."""
    return ServerReply(body=b'{"object": "chat.completion", "choices": []}')


def huge(size: int = 10_000_000) -> ServerReply:
    """Return an answer of *size* bytes."""
    return answer("x" * size)


def refused(status: int, *, code: str = "", message: str = "No.", param: str | None = None) -> ServerReply:
    """Return an error in the protocol's form."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code or None}
    return ServerReply(status=status, body=orjson.dumps({"error": error}))


def key_refused(status: int = 401) -> ServerReply:
    """Return the error of a wrong key."""
    return refused(status, code="invalid_api_key", message="Incorrect API key provided.")


def model_missing() -> ServerReply:
    """Return the error of an unknown model."""
    return refused(404, code="model_not_found", message="The model does not exist.")


def rate_limited(retry_after: str | None = None) -> ServerReply:
    """Return a 429; *retry_after* stands in its header, in seconds or as an HTTP date."""
    reply = refused(429, code="rate_limit_exceeded", message="Too many requests.")
    return reply if retry_after is None else replace(reply, headers={"Retry-After": retry_after})


def server_error(status: int = 500) -> ServerReply:
    """Return an error of the server's own."""
    return ServerReply(status=status, body=b"oops", headers={"Content-Type": "text/plain"})


def context_too_long() -> ServerReply:
    """Return the error of a prompt that does not fit."""
    message = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."
    return refused(400, code="context_length_exceeded", message=message, param="messages")


def slow(reply: ServerReply, delay: timedelta) -> ServerReply:
    """Return *reply*, given after *delay*."""
    return replace(reply, delay=delay)


def hangs_up() -> ServerReply:
    """Close the connection without a word."""
    return ServerReply(ending=Ending.HANG_UP)


def closes_mid_body() -> ServerReply:
    """Close the connection half-way through an answer."""
    return replace(answer("This answer will never arrive as a whole."), ending=Ending.MID_BODY)


def never_ends(status: int = 200) -> ServerReply:
    """Send a body for ever."""
    return ServerReply(status=status, body=b"{", ending=Ending.NEVER)
