"""Defines what one request to a server comes to."""

from collections.abc import Mapping
from dataclasses import dataclass

from agentcore.llm.chat import TryFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a server sent, of whatever status.

    Args:
        status: The HTTP status.
        headers: Its headers; names in any case.
        body: The whole body; of an error at most 64 KiB.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionFailure:
    """Why no whole reply came.

    Args:
        failure: `UNREACHABLE`, `CLOSED`, `TIMED_OUT` or `TOO_LARGE`.
        received: Bytes of the answer that came.
    """

    failure: TryFailure
    received: int = 0
