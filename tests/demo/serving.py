"""The scripted model behind real HTTP, on a thread of its own: the command line has an event loop of its own."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat
from threading import Event, Thread

from agentcore.testing import ChatServer, ServedRequest
from agentcore.testing.chat_replies import ServerReply
from tests.demo.model import answer

MODEL = "scripted"
Said = str | ServerReply
_PATIENCE = 10


@contextmanager
def demo_server(says: Callable[[ServedRequest], Said] = answer) -> Iterator[ChatServer]:
    """Serve the demo's model, or another, as long as the block lasts."""
    server, stop, listening = ChatServer(repeat(says)), asyncio.Event(), Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        async with server:
            loops.append(asyncio.get_running_loop())
            listening.set()
            await stop.wait()

    thread = Thread(target=asyncio.run, args=[serve()], name="demo-model")
    thread.start()
    assert listening.wait(_PATIENCE)
    try:
        yield server
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(_PATIENCE)
