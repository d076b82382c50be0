"""A loopback connection to a PostgreSQL that tests read, change and cut."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path


class Wire:
    """Passes on what client and server say to each other; lives as long as its context.

    Args:
        server: The server's socket.
    """

    def __init__(self, server: Path) -> None:
        self._server = server
        self._ends: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.asked: Callable[[bytes], bytes | None] = lambda said: said
        """Returns what the server hears of what a client said; None cuts the connection."""
        self.answered: Callable[[bytes], bytes | None] = lambda said: said
        """Returns what the client hears of an answer; None cuts the connection."""

    def url(self, database: str) -> str:
        """Return the URL of a database behind it."""
        return f"postgresql+psycopg://agentcore@127.0.0.1:{self.port}/{database}?sslmode=disable&gssencmode=disable"

    def serve(self) -> None:
        """Take connections until it is closed."""
        threads: list[threading.Thread] = []
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                there = socket.socket(socket.AF_UNIX)
                self._ends += (client, there)
                there.connect(str(self._server))
                ways = ((self._hear, client, there), (self._answer, there, client))
                threads += [threading.Thread(target=way, args=(one, other), daemon=True) for way, one, other in ways]
                for thread in threads[-2:]:
                    thread.start()
        for end in self._ends:
            _hang_up(end)
        for thread in threads:
            thread.join()
        for end in (self._listener, *self._ends):
            end.close()

    def close(self) -> None:
        """Take no more connections, and end those there are."""
        _hang_up(self._listener)

    def _hear(self, client: socket.socket, there: socket.socket) -> None:
        _pass_on(client, there, lambda said: self.asked(said))  # noqa: PLW0108 - tests change it meanwhile

    def _answer(self, there: socket.socket, client: socket.socket) -> None:
        _pass_on(there, client, lambda said: self.answered(said))  # noqa: PLW0108 - as above


def _pass_on(one: socket.socket, other: socket.socket, change: Callable[[bytes], bytes | None]) -> None:
    with suppress(OSError):
        while said := one.recv(1 << 16):
            passed = change(said)
            if passed is None:
                break
            other.sendall(passed)
    _hang_up(one)
    _hang_up(other)


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@contextmanager
def wire(server: Path) -> Iterator[Wire]:
    """Open a wire to a server's socket."""
    opened = Wire(server)
    with closing(opened):
        thread = threading.Thread(target=opened.serve, daemon=True)
        thread.start()
        yield opened
    thread.join()
