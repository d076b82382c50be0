"""Defines what a server admits."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
"""Addresses that nobody else's machine reaches."""

_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What a server admits, and how much of it.

    Args:
        hosts: Names that requests may be addressed to, with or without a port; a page of another name is an attack
            (DNS rebinding).
        origins: Pages of other places that may call it from a browser, as `https://app.example.org`; none by default.
        body: Bytes of a request at most.
        import_body: Bytes of a file to import at most.
        head_time: How long the head of a request may take, from its first byte or the opening of its connection.
        body_time: How long a client may take to send a request, from its first byte to its last.
        import_time: How long it may take to send a file to import.
        unread_time: How long a client may leave a full buffer of its answer unread.
        answer_time: How long an answer may take that is no stream.
        per_second: Requests of one token in a second, on average.
        burst: Requests of one token at once.
        connections: Connections that are open at once, of all clients; fewer where the process may open fewer files.
        streams: Streams of events that are open at once, of all clients, likewise.
        read_only: Whether nothing can be written over MCP.
        tools: The MCP tools that are offered; None for all.
    """

    hosts: frozenset[str] = LOOPBACK
    origins: frozenset[str] = frozenset()
    body: int = 8 * _MEGABYTE
    import_body: int = 512 * _MEGABYTE
    head_time: timedelta = timedelta(seconds=15)
    body_time: timedelta = timedelta(seconds=30)
    import_time: timedelta = timedelta(minutes=30)
    unread_time: timedelta = timedelta(seconds=60)
    answer_time: timedelta = timedelta(seconds=60)
    per_second: float = 2_000
    burst: float = 4_000
    connections: int = 12_000
    streams: int = 10_000
    read_only: bool = False
    tools: frozenset[str] | None = None
